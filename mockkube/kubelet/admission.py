"""Admit or reject a pod on a node: admission handlers in upstream's order, the first one that rejects decides.

upstream 1.36: pkg/kubelet/lifecycle/{predicate,handlers}.go, pkg/kubelet/eviction/eviction_manager.go
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from mockkube.api.requests import PodResourcesOptions
from mockkube.api.resources import Resources
from mockkube.api.types import ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.kubelet.admitted_pod import Guest, Port, is_critical, is_static
from mockkube.kubelet.declared_features import FeatureRules
from mockkube.kubelet.preemption import NoVictims, victims
from mockkube.matching import taints
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.node_affinity import compile_required_node_affinity
from mockkube.matching.node_selectors import LabelOperator
from mockkube.matching.taints import TaintRules
from mockkube.proposals.lending import make_selector_operators, make_taint_rules

OS: Final = "linux"
OS_LABEL: Final = "kubernetes.io/os"
_PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure")
_MEMORY_TAINT: Final = {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}
_NO_VICTIMS: Final = (
    "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to "
    "preempt: no set of running pods found to reclaim resources"
)
_AFFINITY: Final = "NodeAffinity"
_WILDCARD: Final = ("", "0.0.0.0")  # noqa: S104 - compared with, not bound to


@dataclass(frozen=True, slots=True)
class Rejection:
    """Reason and message of a rejected pod, for its status and its event."""

    reason: str
    message: str
    # Resource that is insufficient, if that is the reason.
    resource: str = ""
    # Amount of that resource that is missing.
    lack: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of admission: a rejection, or the pods to evict so that the pod fits."""

    refusal: Rejection | None = None
    victims: tuple[Guest, ...] = ()
    # First insufficient resource, the label of the preemption metric.
    resource: str = ""
    # Only the node's labels reject the pod; the informer may lag behind them.
    stale: bool = False


ADMITTED: Final = Verdict()


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """Rules of pod admission at one version and set of feature gates."""

    taints: TaintRules
    selector_operators: Mapping[str, LabelOperator]
    requests: PodResourcesOptions
    # Whether the strict supplemental groups policy is checked against the node.
    groups_policy: bool = True
    pod_level_resources: bool = True
    features: FeatureRules = field(default_factory=FeatureRules)

    @classmethod
    def of(cls, caps: Capabilities, taints: TaintRules | None = None) -> "AdmissionRules":
        """Return the rules of a kubelet with these capabilities.

        Without `taints`, the rules start with an empty cache of expressions and log nothing.
        """
        return cls(
            taints=taints or make_taint_rules(caps, ExpressionCache().compile_expression),
            selector_operators=make_selector_operators(caps),
            requests=PodResourcesOptions.from_capabilities(caps),
            groups_policy=caps.enabled("SupplementalGroupsPolicy"),
            pod_level_resources=caps.enabled("PodLevelResources"),
            features=FeatureRules.of(caps),
        )


def admit(
    pod: ReadOnlyObject, node: ReadOnlyObject | None, guests: Collection[Guest], rules: AdmissionRules
) -> Verdict:
    """Return whether a node admits a pod beside the pods that it admitted already."""
    if node is None:
        return Verdict(Rejection("InvalidNodeInfo", "Kubelet cannot get node info."))
    # Order of upstream's admit handlers: eviction manager, platform checks, predicates, feature checks.
    early = _under_pressure(pod, node, rules) or _platform(pod, node, rules)
    if early is not None:
        return Verdict(early)
    fit = _fit(pod, list(_predicates(pod, node, guests, rules)), guests, rules)
    if fit.refusal is None and (late := _features(pod, rules)) is not None:
        return Verdict(late)
    return fit


def _fit(pod: ReadOnlyObject, failures: list[Rejection], guests: Collection[Guest], rules: AdmissionRules) -> Verdict:
    """Decide by failed predicates: resource failures of a critical pod lead to preemption instead of rejection."""
    if not failures:
        return ADMITTED
    # Upstream removes resource failures of critical pods first: any other failure cannot be solved by preemption.
    others = [failure for failure in failures if not failure.resource] if is_critical(pod) else failures
    if others:
        return Verdict(others[0], stale=all(failure.reason == _AFFINITY for failure in failures))
    needs = {failure.resource: failure.lack for failure in failures}
    try:
        chosen = victims(Guest.of(pod, rules.requests), guests, needs)
        return Verdict(victims=tuple(chosen), resource=next(iter(needs)))
    except NoVictims as none:
        return Verdict(Rejection("UnexpectedAdmissionError", f"{_NO_VICTIMS}: {none}"))


def _under_pressure(pod: ReadOnlyObject, node: ReadOnlyObject, rules: AdmissionRules) -> Rejection | None:
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


def _platform(pod: ReadOnlyObject, node: ReadOnlyObject, rules: AdmissionRules) -> Rejection | None:
    """Reject a pod for another operating system, or one whose groups policy the node lacks."""
    if (pod["metadata"].get("labels") or {}).get(OS_LABEL, OS) != OS:
        message = f"Failed to admit pod as the `{OS_LABEL}` label doesn't match node label"
        return Rejection("PodOSSelectorNodeLabelDoesNotMatch", message)
    if (pod["spec"].get("os") or {}).get("name", OS) != OS:
        return Rejection("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    policy = (pod["spec"].get("securityContext") or {}).get("supplementalGroupsPolicy")
    supported = (node.get("status", {}).get("features") or {}).get("supplementalGroupsPolicy")
    if rules.groups_policy and policy == "Strict" and not supported:
        message = "SupplementalGroupsPolicy=Strict is not supported in this node"
        return Rejection("SupplementalGroupsPolicyNotSupported", message)
    return None


def _features(pod: ReadOnlyObject, rules: AdmissionRules) -> Rejection | None:
    """Reject a pod that needs a feature that this kubelet does not have."""
    if not rules.pod_level_resources and pod["spec"].get("resources"):
        return Rejection("PodLevelResourcesNotSupported", "PodLevelResources feature gate is disabled")
    if missing := rules.features.missing(pod):
        message = f"Pod requires node features that are not available: {', '.join(missing)}"
        return Rejection("PodFeatureUnsupported", message)
    return None


def _predicates(
    pod: ReadOnlyObject, node: ReadOnlyObject, guests: Collection[Guest], rules: AdmissionRules
) -> Iterator[Rejection]:
    """Return failed predicates in upstream's order: resources, affinity, name, ports, taints."""
    guest = Guest.of(pod, rules.requests)
    allocatable = Resources.from_resource_list(node.get("status", {}).get("allocatable") or {})
    yield from _misfits(guest.requests, allocatable, guests)
    if not _selected(pod, node, rules):
        yield _failed(_AFFINITY, "node(s) didn't match Pod's node affinity/selector")
    if pod["spec"].get("nodeName", node["metadata"]["name"]) != node["metadata"]["name"]:
        yield _failed("NodeName", "node(s) didn't match the requested node name")
    if any(_clash(port, taken) for port in guest.ports for other in guests for taken in other.ports):
        yield _failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    # Upstream admits static pods whatever taints the node has: no scheduler chose the node for them.
    if not is_static(pod) and not _tolerates(pod, node, rules):
        yield _failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")


def _failed(predicate: str, why: str) -> Rejection:
    return Rejection(predicate, f"Predicate {predicate} failed: {why}")


def _misfits(requests: Resources, allocatable: Resources, guests: Collection[Guest]) -> Iterator[Rejection]:
    """Return insufficient resources; extended resources unknown to the node are ignored."""
    if len(guests) + 1 > allocatable.pods:
        yield _lack("pods", 1, len(guests), allocatable.pods)
    wanted = {
        "cpu": requests.cpu_milli,
        "memory": requests.memory,
        "ephemeral-storage": requests.ephemeral_storage,
        **{name: amount for name, amount in requests.scalars.items() if _counts(name, allocatable)},
    }
    used = Resources()
    for guest in guests:
        used.add(guest.requests)
    for name, amount in wanted.items():
        if amount > 0 and amount > allocatable.get_amount(name) - used.get_amount(name):
            yield _lack(name, amount, used.get_amount(name), allocatable.get_amount(name))


def _counts(name: str, allocatable: Resources) -> bool:
    """Return whether a scalar resource is checked against the node."""
    # Upstream removes extended resources that the node does not list: they may belong to a cluster-level device.
    return name in allocatable.scalars or name.startswith("hugepages-")


def _lack(name: str, requested: int, used: int, capacity: int) -> Rejection:
    amounts = f"requested: {requested}, used: {used}, capacity: {capacity}"
    message = f"Node didn't have enough resource: {name}, {amounts}"
    return Rejection(f"OutOf{name}", message, name, requested - (capacity - used))


def _selected(pod: ReadOnlyObject, node: ReadOnlyObject, rules: AdmissionRules) -> bool:
    metadata = node["metadata"]
    required = compile_required_node_affinity(pod["spec"], rules.selector_operators)
    return required.matches(metadata.get("labels") or {}, metadata["name"])


def _tolerates(pod: ReadOnlyObject, node: ReadOnlyObject, rules: AdmissionRules) -> bool:
    present = (node.get("spec") or {}).get("taints") or ()
    if not present:
        return True
    compiled = taints.compile_tolerations(pod["spec"].get("tolerations") or (), rules.taints)
    # Only NoExecute counts here: NoSchedule concerns the scheduler, and the pod is bound already.
    return taints.find_untolerated(present, compiled, ("NoExecute",)) is None


def _clash(one: Port, other: Port) -> bool:
    """Return whether two host ports conflict: same protocol and number, and addresses that overlap."""
    if one[1:] != other[1:]:
        return False
    return one[0] == other[0] or one[0] in _WILDCARD or other[0] in _WILDCARD
