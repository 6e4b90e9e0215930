"""`mockkube controllers` and `mockkube kubelets` as a user types them: what they refuse before they ask any server."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mockkube.cluster.state.kubeconfig import KubeconfigEntries, render_kubeconfig

Mockkube = Callable[..., Any]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    path = tmp_path / "kubeconfig"
    path.write_text(render_kubeconfig(KubeconfigEntries("lab", "http://127.0.0.1:1")))
    return str(path)


@pytest.mark.parametrize("command", ["controllers", "kubelets"])
def test_a_kubeconfig_must_be_given(mockkube: Mockkube, command: str) -> None:
    answer = mockkube(command)
    assert answer.code == 2
    assert "--kubeconfig" in answer.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--controllers", "nonsense"], "there is no controller 'nonsense'", id="controller"),
        pytest.param(["--controller-manager", "nonsense=1"], "unknown flag 'nonsense'", id="flag"),
        pytest.param(
            ["--controller-manager", "node-monitor-period=soon"], "give a duration like 40s", id="value of a flag"
        ),
        pytest.param(
            ["--leader-elect-lease-duration", "5s"],
            "leader-elect-lease-duration must be greater than leader-elect-renew-deadline",
            id="timing",
        ),
        pytest.param(["--leader-elect-retry-period", "often"], "give a duration like 40s", id="duration"),
        pytest.param(["--leader-elect-resource-lock", "endpoints"], "give leases", id="lock"),
        pytest.param(["--leader-elect=maybe"], "'maybe' is neither true nor false", id="switch"),
        pytest.param(["--feature-gates", "Nonsense=true"], "Nonsense", id="gate"),
        pytest.param(["--metrics-bind-address", "here"], "'here' is no address", id="address"),
    ],
)
def test_controllers_refuse_what_they_cannot_use(
    mockkube: Mockkube, kubeconfig: str, arguments: list[str], message: str
) -> None:
    answer = mockkube("controllers", "--kubeconfig", kubeconfig, *arguments)
    assert answer.code == 2
    assert message in answer.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--node", "No_Name"], "--node: 'No_Name'", id="name"),
        pytest.param(["--node", "n", "--nodes", "3"], "only one of the two", id="both"),
        pytest.param(["--nodes", "-1"], "-1", id="count"),
        pytest.param(["--version", "1.1"], "--version", id="version"),
    ],
)
def test_kubelets_refuse_what_they_cannot_use(
    mockkube: Mockkube, kubeconfig: str, arguments: list[str], message: str
) -> None:
    answer = mockkube("kubelets", "--kubeconfig", kubeconfig, *arguments)
    assert answer.code == 2
    assert message in answer.err
