"""Environments in which clients find a cluster and no other."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mockkube.testing.activation import activate, make_environment

KUBECONFIG = Path("/state/kubeconfig")
URL = "https://127.0.0.1:1234"
IMPORTED_LATE = """
import os
from pathlib import Path
from mockkube.testing.activation import activate
os.environ["KUBECONFIG"] = "/elsewhere"
with activate(Path("/state/kubeconfig"), "https://127.0.0.1:1"):
    from kubernetes.config import kube_config
    assert kube_config.KUBE_CONFIG_DEFAULT_LOCATION == "/state/kubeconfig"
assert kube_config.KUBE_CONFIG_DEFAULT_LOCATION == "/elsewhere"
"""


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        pytest.param({"HOME": "/home"}, {"HOME": "/home", "NO_PROXY": "127.0.0.1"}, id="others stay"),
        pytest.param({"KUBECONFIG": "/other"}, {"NO_PROXY": "127.0.0.1"}, id="another kubeconfig"),
        pytest.param(
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443", "HELM_KUBECONTEXT": "prod"},
            {"NO_PROXY": "127.0.0.1"},
            id="clusters that clients prefer",
        ),
        pytest.param({"no_proxy": "example.dev"}, {"no_proxy": "example.dev,127.0.0.1"}, id="a proxy is not asked"),
        pytest.param({"NO_PROXY": "127.0.0.1"}, {"NO_PROXY": "127.0.0.1"}, id="a proxy is not asked already"),
    ],
)
def test_environments(base: dict[str, str], expected: dict[str, str]) -> None:
    own = {"KUBECONFIG": "/state/kubeconfig", "KUBECACHEDIR": "/state/cache"}
    assert make_environment(base, KUBECONFIG, URL) == {**expected, **own}


def test_the_environment_of_the_process_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/other")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    for client in ("kubernetes.client", "kubernetes_asyncio.client"):
        # One that another test has configured would be configured again, from a file that is not there.
        monkeypatch.delitem(sys.modules, client, raising=False)
    before = dict(os.environ)
    with activate(KUBECONFIG, URL):
        assert os.environ["KUBECONFIG"] == "/state/kubeconfig"
        assert "KUBERNETES_SERVICE_HOST" not in os.environ
        os.environ["OF_THE_TEST"] = "stays"
    assert dict(os.environ) == {**before, "OF_THE_TEST": "stays"}
    monkeypatch.delenv("OF_THE_TEST")


def test_an_official_client_that_is_imported_meanwhile_forgets_the_cluster() -> None:
    subprocess.run([sys.executable, "-c", IMPORTED_LATE], check=True)
