"""Find nodes that are not needed: little used, and with pods that fit elsewhere.

autoscaler 1.35: cluster-autoscaler/core/scaledown
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.pod_requests import PodResourcesOptions, calculate_pod_requests
from mockkube.api.quantities.resources import Resources
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_finished
from mockkube.nodegroups.drainability import NodePods, sort_pods
from mockkube.nodegroups.node_group import NodeGroup
from mockkube.nodegroups.placement import Placement

DISABLED: Final = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
TO_BE_DELETED: Final = "ToBeDeletedByClusterAutoscaler"
DISRUPTED: Final = "karpenter.sh/disrupted"
_RULES: Final = PodResourcesOptions()


@dataclass(frozen=True, slots=True)
class Candidate:
    """Node that could be removed, with the pods that would move, and the highest utilization of its resources."""

    node: ReadOnlyObject
    group: NodeGroup
    utilization: float
    movable: tuple[ReadOnlyObject, ...]

    @property
    def name(self) -> str:
        """Name of the node."""
        name: str = self.node["metadata"]["name"]
        return name


def calculate_utilization(node: ReadOnlyObject, pods: Sequence[ReadOnlyObject]) -> float:
    """Return the share of a node's cpu or memory that its pods request, whichever is higher."""
    total = Resources()
    for pod in pods:
        if not is_finished(pod):
            total.add(calculate_pod_requests(pod, _RULES))
    allocatable = Resources.from_resource_list((node.get("status") or {}).get("allocatable") or {})
    amounts = [(total.get_amount(name), allocatable.get_amount(name)) for name in ("cpu", "memory")]
    return max(used / available if available else 0.0 for used, available in amounts)


def find_candidates(
    groups: Mapping[str, NodeGroup],
    nodes: Sequence[ReadOnlyObject],
    pods_of: Callable[[str], Sequence[ReadOnlyObject]],
    budgets: Sequence[ReadOnlyObject],
) -> list[Candidate]:
    """Return the nodes of groups (by name of the node) that are little used and whose pods may move."""
    found = []
    for node in nodes:
        name = node["metadata"]["name"]
        group = groups.get(name)
        if group is None or group.scale_down.disabled or not is_removable(node):
            continue
        pods = pods_of(name)
        utilization = calculate_utilization(node, pods)
        if utilization >= group.scale_down.utilization_threshold:
            continue
        sorted_pods: NodePods = sort_pods(pods, budgets)
        if not sorted_pods.blocker:
            found.append(Candidate(node, group, utilization, sorted_pods.movable))
    # Empty nodes first, then those with the least use; the same order in every run.
    return sorted(found, key=lambda one: (bool(one.movable), one.utilization, one.name))


def is_removable(node: ReadOnlyObject) -> bool:
    """Return whether a node may be removed: it does not say otherwise, and is not being removed already."""
    metadata = node["metadata"]
    if (metadata.get("annotations") or {}).get(DISABLED) == "true" or metadata.get("deletionTimestamp"):
        return False
    return not is_being_removed(node)


def is_being_removed(node: ReadOnlyObject) -> bool:
    """Return whether a node has the taint of one that is being removed."""
    return any(taint["key"] in (TO_BE_DELETED, DISRUPTED) for taint in (node.get("spec") or {}).get("taints") or ())


def find_unneeded(placement: Placement, candidates: Sequence[Candidate], sizes: Mapping[str, int]) -> list[Candidate]:
    """Return the candidates whose pods all fit on other nodes, together, without shrinking a group too far."""
    sizes, unneeded, destinations = dict(sizes), [], set[str]()
    for candidate in candidates:
        group = candidate.group
        # A node that takes the pods of another one is needed.
        if sizes[group.name] <= group.min_size or candidate.name in destinations:
            continue
        placement.remove_node(candidate.name)
        for pod in candidate.movable:
            placement.remove_pod(pod)
        moved: dict[str, ReadOnlyObject] = {}
        chosen = []
        for pod in candidate.movable:
            if not (node := placement.place(pod)):
                break
            moved[pod["metadata"]["uid"]] = pod
            chosen.append(node)
        if len(moved) == len(candidate.movable):
            sizes[group.name] -= 1
            unneeded.append(candidate)
            destinations.update(chosen)
            continue
        placement.forget(moved.values())
        placement.add_node(candidate.node)
        for pod in candidate.movable:
            placement.restore_pod(pod)
    return unneeded
