"""A share of `make chaos` in every run of the tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.faults import NO_MACHINE, find_compiler
from tests.chaos.postgresql_server import find_binaries
from tests.contract.store.etcd_cluster import skip_without_etcd

ROUNDS = int(os.environ.get("MOCKKUBE_CHAOS_ROUNDS", "12"))
SEED = 5

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(params=["sqlite", "log", "postgresql", "etcd"])
def engine(request: pytest.FixtureRequest) -> str:
    """Name of each engine that `make chaos` uses here."""
    if request.param == "etcd":
        skip_without_etcd()
    if request.param == "postgresql" and find_binaries() is None and not os.environ.get("MOCKKUBE_TEST_POSTGRES"):
        pytest.skip("there is no PostgreSQL that can be started, and MOCKKUBE_TEST_POSTGRES is not set")
    return str(request.param)


def test_a_cluster_whose_processes_are_killed_keeps_what_it_acknowledged(engine: str) -> None:
    run(engine, "processes", ROUNDS)


@pytest.mark.skipif(not find_compiler(), reason=NO_MACHINE)
def test_a_cluster_whose_machine_fails_keeps_what_it_acknowledged(engine: str) -> None:
    run(engine, "machine", ROUNDS // 2)


def run(engine: str, disturbances: str, rounds: int) -> None:
    script = str(Path(__file__).with_name("run.py"))
    command = [sys.executable, script, "--engine", engine, "--disturb", disturbances]
    command += ["--rounds", str(rounds), "--seed", str(SEED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
