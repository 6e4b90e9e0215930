"""A share of `make chaos-cluster` in every run of the slow tests, and what its watch calls wrong."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.replicated import TAKEOVER_SECONDS_MAX, Record
from tests.contract.store.etcd_cluster import skip_without_etcd

PODS = int(os.environ.get("MOCKKUBE_CHAOS_PODS", "300"))
SEED = 5


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_replicated_control_plane_binds_and_runs_each_pod_once_while_its_processes_are_killed() -> None:
    skip_without_etcd()
    script = str(Path(__file__).with_name("replicated.py"))
    command = [sys.executable, script, "--pods", str(PODS), "--seed", str(SEED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]


def pod(node: str = "n1", phase: str = "Running", restarts: int = 0) -> dict[str, Any]:
    status = {"phase": phase, "containerStatuses": [{"restartCount": restarts}]}
    return {"metadata": {"uid": "u", "name": "p"}, "spec": {"nodeName": node} if node else {}, "status": status}


@pytest.mark.parametrize(
    ("event", "changed", "wrong"),
    [
        pytest.param("MODIFIED", pod(), [], id="as before"),
        pytest.param("MODIFIED", pod("n2"), ["pod p was on n1, and is on n2"], id="bound twice"),
        pytest.param("MODIFIED", pod(""), ["pod p was on n1, and is on no node"], id="unbound"),
        pytest.param("MODIFIED", pod(phase="Pending"), ["pod p was Running, and is Pending"], id="phase goes back"),
        pytest.param("MODIFIED", pod(restarts=1), ["a container of pod p was restarted"], id="started twice"),
        pytest.param("DELETED", pod(), ["pod p was deleted"], id="lost"),
    ],
)
def test_the_watch_finds_what_must_not_happen_to_a_pod(event: str, changed: dict[str, Any], wrong: list[str]) -> None:
    record = Record()
    for before in (pod("", "Pending"), pod(phase="Pending"), pod()):
        record.note_pod("MODIFIED", before)
    record.note_pod(event, changed)
    assert record.wrong == wrong


def lease(holder: str) -> dict[str, Any]:
    return {"metadata": {"name": "kube-scheduler"}, "spec": {"holderIdentity": holder}}


@pytest.mark.parametrize(
    ("seconds_ago", "findings"),
    [
        pytest.param(TAKEOVER_SECONDS_MAX - 1, 0, id="in time"),
        pytest.param(TAKEOVER_SECONDS_MAX + 1, 1, id="too late"),
    ],
)
def test_the_watch_finds_standbys_that_take_over_too_late(seconds_ago: float, findings: int) -> None:
    record = Record()
    record.note_lease(lease("a"))
    record.killed_at["kube-scheduler"] = time.monotonic() - seconds_ago
    record.note_lease(lease("a"))
    assert (record.takeovers, record.wrong) == ({}, [])
    record.note_lease(lease("b"))
    assert len(record.takeovers["kube-scheduler"]) == 1
    assert len(record.wrong) == findings
