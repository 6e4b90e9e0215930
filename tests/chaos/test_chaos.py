"""A share of `make chaos` in every run of the tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROUNDS = int(os.environ.get("MOCKKUBE_CHAOS_ROUNDS", "25"))
SEED = 5

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


# The engines of a cluster's own; tests/contract/store kills those that are behind another program.
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_cluster_that_is_killed_keeps_what_it_acknowledged(engine: str) -> None:
    if engine == "postgresql" and not os.environ.get("MOCKKUBE_TEST_POSTGRES"):
        pytest.skip("MOCKKUBE_TEST_POSTGRES is not set to the URL of a PostgreSQL database that may be emptied")
    script = str(Path(__file__).with_name("run.py"))
    command = [sys.executable, script, "--engine", engine, "--rounds", str(ROUNDS), "--seed", str(SEED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
