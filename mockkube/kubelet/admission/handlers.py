"""Admit or reject a pod on a node: admission handlers in upstream's order, the first one that rejects decides.

upstream 1.36: pkg/kubelet/lifecycle/{predicate,handlers}.go, pkg/kubelet/eviction/eviction_manager.go
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.pod_requests import PodResourcesOptions
from mockkube.api.quantities.resources import Resources
from mockkube.features.capabilities import Capabilities
from mockkube.kubelet.admission.admitted_pod import AdmittedPod, HostPort, is_critical, is_static
from mockkube.kubelet.admission.declared_features import DeclaredFeatureRules
from mockkube.kubelet.admission.preemption import NoVictimsError, find_victims
from mockkube.kubelet.admission.sysctls import FORBIDDEN_REASON, find_forbidden_sysctl
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching import taints
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.node_affinity import compile_required_node_affinity
from mockkube.matching.node_selectors import LabelOperator
from mockkube.matching.taints import TaintRules
from mockkube.proposals.component_extensions import make_selector_operators, make_taint_rules

OS: Final = "linux"
OS_LABEL: Final = "kubernetes.io/os"
_PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure")
_MEMORY_TAINT: Final = {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}
_NO_VICTIMS_MESSAGE: Final = (
    "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to "
    "preempt: no set of running pods found to reclaim resources"
)
_NODE_AFFINITY: Final = "NodeAffinity"
_WILDCARD: Final = ("", "0.0.0.0")  # noqa: S104 - compared with, not bound to


@dataclass(frozen=True, slots=True)
class Rejection:
    """Reason and message of a rejected pod, for its status and its event."""

    reason: str
    message: str
    # Resource that is insufficient, if that is the reason.
    resource: str = ""
    # Amount of that resource that is missing.
    shortage: int = 0


@dataclass(frozen=True, slots=True)
class PodAdmitResult:
    """Result of admission: a rejection, or the pods to evict so that the pod fits."""

    rejection: Rejection | None = None
    victims: tuple[AdmittedPod, ...] = ()
    # First insufficient resource, the label of the preemption metric.
    resource: str = ""
    # Only the node's labels reject the pod; the informer may lag behind them.
    only_labels_reject: bool = False


ADMITTED: Final = PodAdmitResult()


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """Rules of pod admission at one version and set of feature gates."""

    taints: TaintRules
    selector_operators: Mapping[str, LabelOperator]
    requests: PodResourcesOptions
    # Whether the strict supplemental groups policy is checked against the node.
    checks_groups_policy: bool = True
    pod_level_resources: bool = True
    features: DeclaredFeatureRules = field(default_factory=DeclaredFeatureRules)

    @classmethod
    def from_capabilities(cls, caps: Capabilities, taints: TaintRules | None = None) -> "AdmissionRules":
        """Return the rules of a kubelet with these capabilities.

        Without `taints`, the rules start with an empty cache of expressions and log nothing.
        """
        return cls(
            taints=taints or make_taint_rules(caps, ExpressionCache().compile_expression),
            selector_operators=make_selector_operators(caps),
            requests=PodResourcesOptions.from_capabilities(caps),
            checks_groups_policy=caps.enabled("SupplementalGroupsPolicy"),
            pod_level_resources=caps.enabled("PodLevelResources"),
            features=DeclaredFeatureRules.from_capabilities(caps),
        )


def admit_pod(
    pod: ReadOnlyObject, node: ReadOnlyObject | None, admitted_pods: Collection[AdmittedPod], rules: AdmissionRules
) -> PodAdmitResult:
    """Return whether a node admits a pod beside the pods that it admitted already."""
    if node is None:
        return PodAdmitResult(Rejection("InvalidNodeInfo", "Kubelet cannot get node info."))
    # Order of upstream's admit handlers: eviction manager, sysctls, platform checks, predicates, feature checks.
    early = _check_node_pressure(pod, node, rules) or _check_sysctls(pod) or _check_platform(pod, node, rules)
    if early is not None:
        return PodAdmitResult(early)
    fit = _handle_admission_failure(
        pod, list(_find_failed_predicates(pod, node, admitted_pods, rules)), admitted_pods, rules
    )
    if fit.rejection is None and (late := _check_features(pod, rules)) is not None:
        return PodAdmitResult(late)
    return fit


def _handle_admission_failure(
    pod: ReadOnlyObject, failures: list[Rejection], admitted_pods: Collection[AdmittedPod], rules: AdmissionRules
) -> PodAdmitResult:
    """Decide by failed predicates: resource failures of a critical pod lead to preemption instead of rejection."""
    if not failures:
        return ADMITTED
    # Upstream removes resource failures of critical pods first: any other failure cannot be solved by preemption.
    others = [failure for failure in failures if not failure.resource] if is_critical(pod) else failures
    if others:
        return PodAdmitResult(
            others[0], only_labels_reject=all(failure.reason == _NODE_AFFINITY for failure in failures)
        )
    needs = {failure.resource: failure.shortage for failure in failures}
    try:
        chosen = find_victims(AdmittedPod.from_object(pod, rules.requests), admitted_pods, needs)
        return PodAdmitResult(victims=tuple(chosen), resource=next(iter(needs)))
    except NoVictimsError as none:
        return PodAdmitResult(Rejection("UnexpectedAdmissionError", f"{_NO_VICTIMS_MESSAGE}: {none}"))


def _check_node_pressure(pod: ReadOnlyObject, node: ReadOnlyObject, rules: AdmissionRules) -> Rejection | None:
    """Reject pods on a node with a pressure condition, as the eviction manager does."""
    conditions = {one["type"]: one["status"] for one in node.get("status", {}).get("conditions") or ()}
    pressures = [name for name in _PRESSURES if conditions.get(name) == "True"]
    if not pressures or is_critical(pod):
        return None
    # Under memory pressure alone, only BestEffort pods that do not tolerate the taint are rejected.
    if pressures == ["MemoryPressure"]:
        if (pod.get("status") or {}).get("qosClass") != "BestEffort":
            return None
        compiled = taints.compile_tolerations(pod["spec"].get("tolerations") or (), rules.taints)
        if taints.find_untolerated([_MEMORY_TAINT], compiled) is None:
            return None
    return Rejection("Evicted", f"The node had condition: [{' '.join(pressures)}]. ")


def _check_sysctls(pod: ReadOnlyObject) -> Rejection | None:
    """Reject a pod with a sysctl that the kubelet does not allow."""
    message = find_forbidden_sysctl(pod)
    return None if message is None else Rejection(FORBIDDEN_REASON, message)


def _check_platform(pod: ReadOnlyObject, node: ReadOnlyObject, rules: AdmissionRules) -> Rejection | None:
    """Reject a pod for another operating system, or one whose groups policy the node lacks."""
    if (pod["metadata"].get("labels") or {}).get(OS_LABEL, OS) != OS:
        message = f"Failed to admit pod as the `{OS_LABEL}` label doesn't match node label"
        return Rejection("PodOSSelectorNodeLabelDoesNotMatch", message)
    if (pod["spec"].get("os") or {}).get("name", OS) != OS:
        return Rejection("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    policy = (pod["spec"].get("securityContext") or {}).get("supplementalGroupsPolicy")
    supported = (node.get("status", {}).get("features") or {}).get("supplementalGroupsPolicy")
    if rules.checks_groups_policy and policy == "Strict" and not supported:
        message = "SupplementalGroupsPolicy=Strict is not supported in this node"
        return Rejection("SupplementalGroupsPolicyNotSupported", message)
    return None


def _check_features(pod: ReadOnlyObject, rules: AdmissionRules) -> Rejection | None:
    """Reject a pod that needs a feature that this kubelet does not have."""
    if not rules.pod_level_resources and pod["spec"].get("resources"):
        return Rejection("PodLevelResourcesNotSupported", "PodLevelResources feature gate is disabled")
    if missing := rules.features.find_missing(pod):
        message = f"Pod requires node features that are not available: {', '.join(missing)}"
        return Rejection("PodFeatureUnsupported", message)
    return None


def _find_failed_predicates(
    pod: ReadOnlyObject, node: ReadOnlyObject, admitted_pods: Collection[AdmittedPod], rules: AdmissionRules
) -> Iterator[Rejection]:
    """Return failed predicates in upstream's order: resources, affinity, name, ports, taints."""
    admitted = AdmittedPod.from_object(pod, rules.requests)
    allocatable = Resources.from_resource_list(node.get("status", {}).get("allocatable") or {})
    yield from _find_insufficient_resources(admitted.requests, allocatable, admitted_pods)
    if not _matches_node_affinity(pod, node, rules):
        yield _predicate_failure(_NODE_AFFINITY, "node(s) didn't match Pod's node affinity/selector")
    if pod["spec"].get("nodeName", node["metadata"]["name"]) != node["metadata"]["name"]:
        yield _predicate_failure("NodeName", "node(s) didn't match the requested node name")
    if any(_ports_conflict(port, taken) for port in admitted.ports for other in admitted_pods for taken in other.ports):
        yield _predicate_failure("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    # Upstream admits static pods whatever taints the node has: no scheduler chose the node for them.
    if not is_static(pod) and not _tolerates_taints(pod, node, rules):
        yield _predicate_failure("TaintToleration", "node(s) had taints that the pod didn't tolerate")


def _predicate_failure(predicate: str, why: str) -> Rejection:
    return Rejection(predicate, f"Predicate {predicate} failed: {why}")


def _find_insufficient_resources(
    requests: Resources, allocatable: Resources, admitted_pods: Collection[AdmittedPod]
) -> Iterator[Rejection]:
    """Return insufficient resources; extended resources unknown to the node are ignored."""
    if len(admitted_pods) + 1 > allocatable.pods:
        yield _insufficient_resource("pods", 1, len(admitted_pods), allocatable.pods)
    wanted = {
        "cpu": requests.cpu_milli,
        "memory": requests.memory,
        "ephemeral-storage": requests.ephemeral_storage,
        **{name: amount for name, amount in requests.scalars.items() if _is_checked(name, allocatable)},
    }
    used = Resources()
    for admitted in admitted_pods:
        used.add(admitted.requests)
    for name, amount in wanted.items():
        if amount > 0 and amount > allocatable.get_amount(name) - used.get_amount(name):
            yield _insufficient_resource(name, amount, used.get_amount(name), allocatable.get_amount(name))


def _is_checked(name: str, allocatable: Resources) -> bool:
    """Return whether a scalar resource is checked against the node."""
    # Upstream removes extended resources that the node does not list: they may belong to a cluster-level device.
    return name in allocatable.scalars or name.startswith("hugepages-")


def _insufficient_resource(name: str, requested: int, used: int, capacity: int) -> Rejection:
    amounts = f"requested: {requested}, used: {used}, capacity: {capacity}"
    message = f"Node didn't have enough resource: {name}, {amounts}"
    return Rejection(f"OutOf{name}", message, name, requested - (capacity - used))


def _matches_node_affinity(pod: ReadOnlyObject, node: ReadOnlyObject, rules: AdmissionRules) -> bool:
    metadata = node["metadata"]
    required = compile_required_node_affinity(pod["spec"], rules.selector_operators)
    return required.matches(metadata.get("labels") or {}, metadata["name"])


def _tolerates_taints(pod: ReadOnlyObject, node: ReadOnlyObject, rules: AdmissionRules) -> bool:
    present = (node.get("spec") or {}).get("taints") or ()
    if not present:
        return True
    compiled = taints.compile_tolerations(pod["spec"].get("tolerations") or (), rules.taints)
    # Only NoExecute counts here: NoSchedule concerns the scheduler, and the pod is bound already.
    return taints.find_untolerated(present, compiled, ("NoExecute",)) is None


def _ports_conflict(one: HostPort, other: HostPort) -> bool:
    """Return whether two host ports conflict: same protocol and number, and addresses that overlap."""
    if one[1:] != other[1:]:
        return False
    return one[0] == other[0] or one[0] in _WILDCARD or other[0] in _WILDCARD
