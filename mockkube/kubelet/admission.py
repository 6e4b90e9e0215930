"""Whether a kubelet lets a pod in: the first handler that refuses decides.

upstream 1.36: pkg/kubelet/lifecycle/{predicate,handlers}.go, pkg/kubelet/eviction/eviction_manager.go
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mockkube.api.requests import RequestRules, pod_requests
from mockkube.api.resources import Resources
from mockkube.api.types import ReadOnlyObject
from mockkube.matching import taints
from mockkube.matching.node_affinity import required_node_affinity
from mockkube.matching.taints import Operator, TaintRules

OS: Final = "linux"
OS_LABEL: Final = "kubernetes.io/os"
MIRROR: Final = "kubernetes.io/config.mirror"
CONFIG_SOURCE: Final = "kubernetes.io/config.source"
CRITICAL_PRIORITY: Final = 2_000_000_000
_PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure")
_MEMORY_TAINT: Final = {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}
_WILDCARD: Final = ("", "0.0.0.0")  # noqa: S104 - compared with, not bound to


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a pod is not let in, as its status and event say it."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """What a kubelet of some version and gates makes of pods."""

    taints: TaintRules
    selector_operators: Mapping[str, Operator]
    requests: RequestRules
    groups_policy: bool = True
    """Whether a strict policy of supplemental groups is looked at."""
    pod_level_resources: bool = True


@dataclass(frozen=True, slots=True)
class Guest:
    """What an admitted pod takes of its node."""

    requests: Resources
    ports: frozenset[tuple[str, str, int]]

    @classmethod
    def of(cls, pod: ReadOnlyObject, rules: AdmissionRules) -> "Guest":
        """Reckon what a pod takes."""
        return cls(pod_requests(pod, rules.requests), frozenset(_host_ports(pod)))


def admit(
    pod: ReadOnlyObject, node: ReadOnlyObject | None, guests: Sequence[Guest], rules: AdmissionRules
) -> Rejection | None:
    """Return why the pod is refused on the node beside those who are there; None lets it in."""
    if node is None:
        return Rejection("InvalidNodeInfo", "Kubelet cannot get node info.")
    return (
        _under_pressure(pod, node, rules)
        or _platform(pod, node, rules)
        or next(_predicates(pod, node, guests, rules), None)
        or _features(pod, rules)
    )


def _under_pressure(pod: ReadOnlyObject, node: ReadOnlyObject, rules: AdmissionRules) -> Rejection | None:
    conditions = {one["type"]: one["status"] for one in node.get("status", {}).get("conditions") or ()}
    pressures = [name for name in _PRESSURES if conditions.get(name) == "True"]
    if not pressures or _is_critical(pod):
        return None
    if pressures == ["MemoryPressure"]:
        if (pod.get("status") or {}).get("qosClass") != "BestEffort":
            return None
        compiled = taints.compile_tolerations(pod["spec"].get("tolerations") or (), rules.taints)
        if taints.untolerated([_MEMORY_TAINT], compiled) is None:
            return None
    return Rejection("Evicted", f"The node had condition: [{' '.join(pressures)}]. ")


def _is_critical(pod: ReadOnlyObject) -> bool:
    return _is_static(pod) or pod["spec"].get("priority", 0) >= CRITICAL_PRIORITY


def _is_static(pod: ReadOnlyObject) -> bool:
    annotations = pod["metadata"].get("annotations") or {}
    return MIRROR in annotations or annotations.get(CONFIG_SOURCE, "api") != "api"


def _platform(pod: ReadOnlyObject, node: ReadOnlyObject, rules: AdmissionRules) -> Rejection | None:
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
    if not rules.pod_level_resources and pod["spec"].get("resources"):
        return Rejection("PodLevelResourcesNotSupported", "PodLevelResources feature gate is disabled")
    return None


def _predicates(
    pod: ReadOnlyObject, node: ReadOnlyObject, guests: Sequence[Guest], rules: AdmissionRules
) -> Iterator[Rejection]:
    guest = Guest.of(pod, rules)
    allocatable = Resources.read(node.get("status", {}).get("allocatable") or {})
    yield from _misfits(guest.requests, allocatable, guests)
    if not _selected(pod, node, rules):
        yield _failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
    if pod["spec"].get("nodeName", node["metadata"]["name"]) != node["metadata"]["name"]:
        yield _failed("NodeName", "node(s) didn't match the requested node name")
    if any(_clash(port, taken) for port in guest.ports for other in guests for taken in other.ports):
        yield _failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    if not _is_static(pod) and not _tolerates(pod, node, rules):
        yield _failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")


def _failed(predicate: str, why: str) -> Rejection:
    return Rejection(predicate, f"Predicate {predicate} failed: {why}")


def _misfits(requests: Resources, allocatable: Resources, guests: Sequence[Guest]) -> Iterator[Rejection]:
    """Say what there is too little of; an extended resource the node does not know is not looked at."""
    if len(guests) + 1 > allocatable.pods:
        yield _lack("pods", 1, len(guests), allocatable.pods)
    wanted = {
        "cpu": requests.cpu_milli,
        "memory": requests.memory,
        "ephemeral-storage": requests.ephemeral_storage,
        **{name: amount for name, amount in requests.scalars.items() if name in allocatable.scalars},
    }
    used = Resources()
    for guest in guests:
        used.add(guest.requests)
    for name, amount in wanted.items():
        if amount > 0 and amount > allocatable.amount(name) - used.amount(name):
            yield _lack(name, amount, used.amount(name), allocatable.amount(name))


def _lack(name: str, requested: int, used: int, capacity: int) -> Rejection:
    amounts = f"requested: {requested}, used: {used}, capacity: {capacity}"
    return Rejection(f"OutOf{name}", f"Node didn't have enough resource: {name}, {amounts}")


def _selected(pod: ReadOnlyObject, node: ReadOnlyObject, rules: AdmissionRules) -> bool:
    metadata = node["metadata"]
    required = required_node_affinity(pod["spec"], rules.selector_operators)
    return required.matches(metadata.get("labels") or {}, metadata["name"])


def _tolerates(pod: ReadOnlyObject, node: ReadOnlyObject, rules: AdmissionRules) -> bool:
    present = (node.get("spec") or {}).get("taints") or ()
    if not present:
        return True
    compiled = taints.compile_tolerations(pod["spec"].get("tolerations") or (), rules.taints)
    return taints.untolerated(present, compiled, ("NoExecute",)) is None


def _host_ports(pod: ReadOnlyObject) -> Iterable[tuple[str, str, int]]:
    """Return address, protocol and port of everything that listens on the node itself."""
    spec = pod["spec"]
    sidecars = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    for container in (*sidecars, *spec["containers"]):
        for port in container.get("ports") or ():
            if number := port.get("hostPort"):
                yield port.get("hostIP", ""), port.get("protocol", "TCP"), number


def _clash(one: tuple[str, str, int], other: tuple[str, str, int]) -> bool:
    if one[1:] != other[1:]:
        return False
    return one[0] == other[0] or one[0] in _WILDCARD or other[0] in _WILDCARD
