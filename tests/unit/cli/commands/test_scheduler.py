"""`mockkube scheduler` as a user types it: what it refuses before it asks any server."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from mockkube.cluster.state.kubeconfig import KubeconfigEntries, render_kubeconfig

Mockkube = Callable[..., Any]
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    path = tmp_path / "kubeconfig"
    path.write_text(render_kubeconfig(KubeconfigEntries("lab", "http://127.0.0.1:1")))
    return str(path)


def test_a_kubeconfig_must_be_given(mockkube: Mockkube) -> None:
    answer = mockkube("scheduler")
    assert answer.code == 2
    assert "--kubeconfig" in answer.err


def test_a_kubeconfig_that_is_not_there_is_named(mockkube: Mockkube, tmp_path: Path) -> None:
    answer = mockkube("scheduler", "--kubeconfig", str(tmp_path / "none"))
    assert answer.code == 2
    assert str(tmp_path / "none") in answer.err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            {**HEAD, "podInitialBackoffSeconds": 0}, "podInitialBackoffSeconds: Invalid value: 0", id="a bad value"
        ),
        pytest.param({**HEAD, "profile": []}, 'unknown field "profile"', id="an unknown field"),
        pytest.param({"kind": "Pod"}, "expected KubeSchedulerConfiguration", id="another kind"),
        pytest.param(
            {**HEAD, "leaderElection": {"leaseDuration": "5s"}},
            "leader-elect-lease-duration must be greater than leader-elect-renew-deadline",
            id="timing of the leader election",
        ),
        pytest.param(
            {**HEAD, "leaderElection": {"resourceLock": "endpoints"}},
            'resourceLock value must be "leases"',
            id="lock of the leader election",
        ),
    ],
)
def test_a_configuration_that_cannot_be_used_is_refused(
    mockkube: Mockkube, kubeconfig: str, tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(yaml.safe_dump(given))
    answer = mockkube("scheduler", "--kubeconfig", kubeconfig, "--config", str(path))
    assert answer.code == 2
    assert message in answer.err


def test_a_gate_the_scheduler_does_not_have_is_refused(mockkube: Mockkube, kubeconfig: str) -> None:
    answer = mockkube("scheduler", "--kubeconfig", kubeconfig, "--feature-gates", "Nonsense=true")
    assert answer.code == 2
    assert "Nonsense" in answer.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--leader-elect-lease-duration", "5s"],
            "leader-elect-lease-duration must be greater than leader-elect-renew-deadline",
            id="timing",
        ),
        pytest.param(["--leader-elect-renew-deadline", "soon"], "must be a duration like 15s", id="duration"),
        pytest.param(["--leader-elect=maybe"], "'maybe' is neither true nor false", id="switch"),
    ],
)
def test_a_leader_election_that_cannot_work_is_refused(
    mockkube: Mockkube, kubeconfig: str, arguments: list[str], message: str
) -> None:
    answer = mockkube("scheduler", "--kubeconfig", kubeconfig, *arguments)
    assert answer.code == 2
    assert message in answer.err
