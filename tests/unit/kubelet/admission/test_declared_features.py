"""Features that kubelets declare, and pods need."""

import pytest

from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import Version
from mockkube.kubelet.admission.declared_features import GATE, DeclaredFeatureRules

RULE = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}
RESTARTS_ALL = {"spec": {"containers": [{"name": "c", "restartPolicy": "Never", "restartPolicyRules": [RULE]}]}}
SHARES_NETWORK = {"spec": {"containers": [{"name": "c"}], "hostNetwork": True, "hostUsers": False}}


def rules(version, **gates):
    parsed = Version.parse(version)
    return DeclaredFeatureRules.from_capabilities(
        Capabilities(parsed, enabled_gates(parsed, gates, component="kubelet"))
    )


@pytest.mark.parametrize(
    ("version", "gates", "declared"),
    [
        pytest.param("1.34", {}, (), id="not yet"),
        pytest.param("1.35", {}, (), id="off"),
        pytest.param("1.35", {GATE: True}, ("GuaranteedQoSPodCPUResize",), id="on"),
        pytest.param("1.36", {},
                     ("ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling",
                      "InPlacePodVerticalScalingInitContainers", "RestartAllContainersOnContainerExits"), id="1.36"),
    ],
)  # fmt: skip
def test_a_kubelet_declares_the_gates_that_are_on(version, gates, declared):
    assert rules(version, **gates).declared == declared


@pytest.mark.parametrize(
    ("judged_by", "pod", "missing"),
    [
        pytest.param(rules("1.36"), RESTARTS_ALL, [], id="declared"),
        pytest.param(rules("1.36", RestartAllContainersOnContainerExits=False), RESTARTS_ALL,
                     ["RestartAllContainersOnContainerExits"], id="its gate is off"),
        pytest.param(rules("1.36", NodeDeclaredFeatures=False), SHARES_NETWORK, [], id="nobody asks"),
        pytest.param(rules("1.36"), SHARES_NETWORK, ["UserNamespacesHostNetworkSupport"], id="an alpha feature"),
        pytest.param(rules("1.35", NodeDeclaredFeatures=True), SHARES_NETWORK, [], id="not known yet"),
    ],
)  # fmt: skip
def test_a_pod_needs_what_is_not_declared(judged_by, pod, missing):
    assert judged_by.find_missing(pod) == missing
