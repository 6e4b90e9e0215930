"""Two minutes and three virtual hours of `make soak`: tasks, handles, threads, the store; memory takes longer."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_comes_and_goes_leaves_nothing() -> None:
    script = str(Path(__file__).with_name("run.py"))
    command = [sys.executable, script, "--minutes", "2", "--round-seconds", "20", "--virtual-hours", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
