"""What a component's command line would say."""

import pytest

from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.component_settings import resolve_settings
from mockkube.cluster.configuration.effective_flags import make_effective_flags

GATES = {"ContextualLogging": False, "AllAlpha": True}
CONFIGURATION = ClusterConfiguration(
    feature_gates=GATES,
    enable_admission_plugins=("A", "B"),
    runtime_config={"api/beta": "true", "api/alpha": "false"},
    controllers=("*", "-daemonset"),
    controller_manager={"node-monitor-period": "2s", "enable-garbage-collector": False},
)
EMULATING = {"emulated-version": "[]", "feature-gates": ":AllAlpha=true,:ContextualLogging=false"}


@pytest.mark.parametrize(
    ("component", "flags"),
    [
        pytest.param(
            "kube-apiserver.1",
            {
                "bind-address": "127.0.0.1",
                "disable-admission-plugins": "[]",
                "disable-http2-serving": "false",
                "enable-admission-plugins": "[A,B]",
                "runtime-config": "api/alpha=false,api/beta=true",
                **EMULATING,
            },
            id="API server",
        ),
        pytest.param("kube-scheduler", EMULATING, id="a binary that can emulate"),
        pytest.param(
            "kube-controller-manager",
            {
                "node-monitor-period": "2s",
                "enable-garbage-collector": "false",
                "controllers": "[*,-daemonset]",
                **EMULATING,
            },
            id="the controller manager, with what it was told",
        ),
        pytest.param(
            "kubelet.n1",
            {"feature-gates": "AllAlpha=true,ContextualLogging=false", "hostname-override": "n1"},
            id="a kubelet, which knows no prefixes",
        ),
    ],
)
def test_flags(component: str, flags: dict[str, str]) -> None:
    assert make_effective_flags(CONFIGURATION, resolve_settings(CONFIGURATION, component)) == flags
