"""What a kubelet lets in: the first handler that refuses decides."""

from collections.abc import Sequence
from typing import Any

import pytest

from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.kubelet.admission.admitted_pod import AdmittedPod
from mockkube.kubelet.admission.handlers import ADMITTED, AdmissionRules, Rejection, admit_pod

NUMERIC = "TaintTolerationComparisonOperators"


def rules(*gates: str) -> AdmissionRules:
    caps = Capabilities(Version(1, 36), frozenset(gates))
    return AdmissionRules.from_capabilities(caps)


def refused(
    asked: Any, where: Any, guests: Sequence[AdmittedPod] = (), judged_by: AdmissionRules | None = None
) -> Rejection:
    refusal = admit_pod(asked, where, guests, judged_by or rules()).rejection
    assert refusal is not None
    return refusal


def guest(obj: Any) -> AdmittedPod:
    return AdmittedPod.from_object(obj, rules().requests)


def node(taints: list[dict[str, str]] | None = None, **more: Any) -> dict[str, Any]:
    allocatable = {"cpu": "2", "memory": "4Gi", "pods": "3"} | more.pop("allocatable", {})
    status = {"allocatable": allocatable, "conditions": more.pop("conditions", [])}
    metadata = {"name": "n1", "labels": {"zone": "a"}}
    return {"metadata": metadata, "spec": {"taints": taints or []}, "status": status}


def pod(cpu: str = "", **spec: Any) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "c", "image": "i", "ports": spec.pop("ports", [])}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    metadata = {"name": "p", "namespace": "ns", "uid": "u", "labels": spec.pop("labels", {})}
    status = {"qosClass": spec.pop("qos", "Burstable")}
    return {"metadata": metadata, "spec": {"containers": [container], "nodeName": "n1", **spec}, "status": status}


FENCE = {"key": "level", "value": "900", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("asked", "where", "reason", "message"),
    [
        pytest.param(
            pod("3"), node(), "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000", id="too-much-cpu",
        ),
        pytest.param(
            pod(nodeSelector={"zone": "b"}), node(), "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector", id="other-zone",
        ),
        pytest.param(
            pod(nodeName="n2"), node(), "NodeName",
            "Predicate NodeName failed: node(s) didn't match the requested node name", id="other-node",
        ),
        pytest.param(
            pod(), node([FENCE]), "TaintToleration",
            "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate", id="fenced",
        ),
        pytest.param(
            pod(labels={"kubernetes.io/os": "windows"}), node(), "PodOSSelectorNodeLabelDoesNotMatch",
            "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label", id="other-os-label",
        ),
        pytest.param(
            pod(os={"name": "windows"}), node(), "PodOSNotSupported",
            "Failed to admit pod as the OS field doesn't match node OS", id="other-os",
        ),
        pytest.param(
            pod(), node(conditions=[{"type": "DiskPressure", "status": "True"}]), "Evicted",
            "The node had condition: [DiskPressure]. ", id="disk-pressure",
        ),
        pytest.param(pod(), None, "InvalidNodeInfo", "Kubelet cannot get node info.", id="no-node"),
    ],
)  # fmt: skip
def test_a_pod_is_refused_with_reason_and_message(
    asked: dict[str, Any], where: dict[str, Any] | None, reason: str, message: str
) -> None:
    refusal = refused(asked, where)
    assert (refusal.reason, refusal.message) == (reason, message)


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        pytest.param(pod("2"), node(), id="fits-exactly"),
        pytest.param(pod(), node([{**FENCE, "effect": "NoSchedule"}]), id="no-schedule-does-not-count"),
        pytest.param(pod(priority=2_000_000_000), node(conditions=[{"type": "PIDPressure", "status": "True"}]),
                     id="critical-pods-pass-pressure"),
        pytest.param(pod(), node(conditions=[{"type": "MemoryPressure", "status": "True"}]),
                     id="burstable-pods-pass-memory-pressure"),
    ],
)  # fmt: skip
def test_a_pod_is_let_in(asked: dict[str, Any], where: dict[str, Any]) -> None:
    assert admit_pod(asked, where, [], rules()) == ADMITTED


def test_best_effort_pods_are_refused_under_memory_pressure() -> None:
    refusal = refused(pod(qos="BestEffort"), node(conditions=[{"type": "MemoryPressure", "status": "True"}]))
    assert refusal.reason == "Evicted"


def test_guests_use_the_node() -> None:
    refusal = refused(pod("1"), node(), [guest(pod("1500m"))])
    assert refusal.message.endswith("cpu, requested: 1000, used: 1500, capacity: 2000")


def test_a_full_node_takes_no_further_pod() -> None:
    refusal = refused(pod(), node(), [guest(pod())] * 3)
    assert refusal.message == "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"


def test_ports_of_the_host_are_taken_once() -> None:
    web = pod(ports=[{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}])
    other = pod(ports=[{"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1", "protocol": "TCP"}])
    refusal = refused(web, node(), [guest(other)])
    assert refusal.reason == "NodePorts"


def test_an_extended_resource_the_node_does_not_know_is_passed_over() -> None:
    asked = pod()
    asked["spec"]["containers"][0]["resources"] = {"requests": {"x.io/gpu": "1"}}
    assert admit_pod(asked, node(), [], rules()) == ADMITTED
    assert admit_pod(asked, node(allocatable={"x.io/gpu": "0"}), [], rules()).rejection


def test_the_kubelets_own_gate_decides_about_gt() -> None:
    tolerant = pod(tolerations=[{"key": "level", "operator": "Gt", "value": "800", "effect": "NoExecute"}])
    assert admit_pod(tolerant, node([FENCE]), [], rules(NUMERIC)) == ADMITTED
    refusal = refused(tolerant, node([FENCE]))
    assert refusal.reason == "TaintToleration"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({}, "", id="safe"),
        pytest.param({"name": "kernel.msgmax"}, 'forbidden sysctl: "kernel.msgmax" not allowlisted', id="unsafe"),
        pytest.param({"name": "kernel/shm_rmid_forced"}, "", id="slashes"),
        pytest.param(
            {"hostIPC": True},
            'forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host IPC enabled',
            id="the host's memory",
        ),
        pytest.param(
            {"name": "net.ipv4.tcp_syncookies", "hostNetwork": True},
            'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled',
            id="the host's network",
        ),
    ],
)
def test_only_safe_sysctls_are_let_in(spec: dict[str, Any], message: str) -> None:
    name = spec.pop("name", "kernel.shm_rmid_forced")
    asked = pod(securityContext={"sysctls": [{"name": name, "value": "1"}]}, **spec)
    rejection = admit_pod(asked, node(), [], rules()).rejection
    assert (rejection.message if rejection else "") == message
    assert rejection is None or rejection.reason == "SysctlForbidden"
