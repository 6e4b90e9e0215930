"""A share of `make chaos-cluster` in every run of the slow tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.store.etcd_cluster import skip_without_etcd

PODS = int(os.environ.get("MOCKKUBE_CHAOS_PODS", "300"))
SEED = 5

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def test_a_replicated_control_plane_binds_and_runs_each_pod_once_while_its_processes_are_killed() -> None:
    skip_without_etcd()
    script = str(Path(__file__).with_name("replicated.py"))
    command = [sys.executable, script, "--pods", str(PODS), "--seed", str(SEED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
