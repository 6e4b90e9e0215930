"""A share of `make fuzz` in every run of the tests: as many random requests as fit into a minute."""

import subprocess
import sys
from pathlib import Path

import pytest

REQUESTS = 20_000
SEED = 7


@pytest.mark.timeout(900)
def test_no_random_request_brings_out_a_bug_or_a_hang() -> None:
    command = [
        sys.executable,
        str(Path(__file__).with_name("run.py")),
        "--requests",
        str(REQUESTS),
        "--seed",
        str(SEED),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
