"""Decide which nodes to add for pods that fit nowhere.

autoscaler 1.35: cluster-autoscaler/core/scaleup, estimator, expander
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heapreplace
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.pod_requests import PodResourcesOptions, calculate_pod_requests
from mockkube.api.quantities.resources import Resources
from mockkube.lazy_dataclasses import dataclass
from mockkube.nodegroups.drainability import find_controller
from mockkube.nodegroups.node_group import NodeGroup, NodeTemplate, zone_of
from mockkube.nodegroups.placement import Placement

_MAX_SIZE: Final = "max node group size reached"
_LIMIT: Final = "max cluster {} limit reached"
_RULES: Final = PodResourcesOptions()
_PER_POD: Final = ("containers", "initContainers", "volumes")
_API_ACCESS_VOLUME: Final = "kube-api-access-"


@dataclass(frozen=True, slots=True)
class GroupState:
    """A group with its nodes, the coming ones included."""

    group: NodeGroup
    nodes: Sequence[ReadOnlyObject]

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.nodes)


@dataclass(frozen=True, slots=True)
class ScaleUpOption:
    """Nodes of one template, and the pods that they would take."""

    template: NodeTemplate
    count: int
    pods: tuple[ReadOnlyObject, ...]
    # Share of the new nodes' cpu and memory that stays unused.
    waste: float

    @property
    def price_per_pod(self) -> float | None:
        """Price of the new nodes per hour and pod; None if it is not known."""
        price = self.template.instance_type.price_per_hour
        return None if price is None else price * self.count / len(self.pods)


@dataclass(frozen=True, slots=True)
class ScaleUpPlan:
    """Templates of the nodes to add, pods that they are for, and reasons why others get none by pod uid."""

    added: tuple[NodeTemplate, ...] = ()
    pods: tuple[ReadOnlyObject, ...] = ()
    rejected: tuple[tuple[ReadOnlyObject, Mapping[str, int]], ...] = ()


def plan_scale_up(
    placement: Placement,
    groups: Sequence[GroupState],
    pods: Sequence[ReadOnlyObject],
    daemon_sets: Sequence[ReadOnlyObject],
) -> ScaleUpPlan:
    """Return the nodes to add for pods; those that fit on present or coming nodes need none."""
    _, waiting = place_pods(placement.place, sort_by_priority(pods))
    if not waiting:
        return ScaleUpPlan()
    reasons: dict[str, dict[str, int]] = {pod["metadata"]["uid"]: {} for pod in waiting}
    options = []
    for state in groups:
        texts: dict[str, dict[str, None]] = {}
        for template in state.group.templates():
            option = _try_template(placement, state, template, waiting, daemon_sets, texts)
            if option is not None:
                options.append(option)
        # Upstream counts groups, each reason once.
        for uid, found in texts.items():
            for text in found:
                reasons[uid][text] = reasons[uid].get(text, 0) + 1
    best = choose_option(options)
    if best is None:
        return ScaleUpPlan(rejected=tuple((pod, reasons[pod["metadata"]["uid"]]) for pod in waiting))
    return ScaleUpPlan(_spread_over_zones(best, options, groups), best.pods)


def sort_by_priority(pods: Iterable[ReadOnlyObject]) -> list[ReadOnlyObject]:
    """Return pods in the order in which the scheduler takes them."""

    def order(pod: ReadOnlyObject) -> tuple[int, str, str, str]:
        metadata = pod["metadata"]
        created = metadata.get("creationTimestamp", "")
        return -pod["spec"].get("priority", 0), created, metadata.get("namespace", ""), metadata["name"]

    return sorted(pods, key=order)


def place_pods(
    place: Callable[[ReadOnlyObject], str], pods: Iterable[ReadOnlyObject]
) -> tuple[list[ReadOnlyObject], list[ReadOnlyObject]]:
    """Place pods one after the other; return those that fit, and those that do not.

    Of the pods of one controller that are alike, none is tried after the first that does not fit.
    """
    placed: list[ReadOnlyObject] = []
    left: list[ReadOnlyObject] = []
    refused: dict[str, ReadOnlyObject] = {}
    for pod in pods:
        controller = find_controller(pod)
        uid = "" if controller is None else controller.get("uid", "")
        if uid in refused and _are_alike(pod, refused[uid]):
            left.append(pod)
        elif place(pod):
            placed.append(pod)
        else:
            left.append(pod)
            # A pod that has to be near others may fit once these are placed; the others only leave less room.
            if uid and not (pod["spec"].get("affinity") or {}).get("podAffinity"):
                refused[uid] = pod
    return placed, left


def _are_alike(pod: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    """Return whether the placement of two pods depends on the same; their token volumes have names of their own."""
    if pod["metadata"].get("labels") != other["metadata"].get("labels"):
        return False
    mine, others = pod["spec"], other["spec"]
    if mine.keys() != others.keys() or any(mine[name] != others[name] for name in mine if name not in _PER_POD):
        return False
    return _list_parts(mine) == _list_parts(others)


def _list_parts(spec: ReadOnlyObject) -> list[object]:
    """Return what placement depends on in the parts of a pod that mention its token volume."""
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    volumes = [volume for volume in spec.get("volumes") or () if not volume["name"].startswith(_API_ACCESS_VOLUME)]
    parts = [(one.get("image"), one.get("resources"), one.get("ports"), one.get("restartPolicy")) for one in containers]
    return [*parts, *volumes]


def choose_option(options: Sequence[ScaleUpOption]) -> ScaleUpOption | None:
    """Return the cheapest option per pod, or the one with the least waste if a price is not known."""
    if not options:
        return None
    if any(one.price_per_pod is None for one in options):
        return min(options, key=lambda one: (round(one.waste, 9), one.template.order))
    return min(options, key=lambda one: (round(one.price_per_pod or 0.0, 9), one.waste, one.template.order))


def _try_template(
    placement: Placement,
    state: GroupState,
    template: NodeTemplate,
    pods: Sequence[ReadOnlyObject],
    daemon_sets: Sequence[ReadOnlyObject],
    reasons: dict[str, dict[str, None]],
) -> ScaleUpOption | None:
    """Add nodes of a template one by one as long as they take pods; None if they take none."""
    trial = Trial(placement, state, template, daemon_sets)
    taken, left = [], list(pods)
    try:
        while left:
            if full := trial.find_bound():
                for pod in left:
                    reasons.setdefault(pod["metadata"]["uid"], {})[full] = None
                break
            fitting = trial.fill_node(left)
            if not fitting:
                # The node is empty: a pod that does not fit now never does.
                for pod in left:
                    found = reasons.setdefault(pod["metadata"]["uid"], {})
                    found.update(dict.fromkeys(placement.check(pod, trial.last_node).reasons))
                trial.drop_last()
                break
            taken += fitting
            uids = {pod["metadata"]["uid"] for pod in fitting}
            left = [pod for pod in left if pod["metadata"]["uid"] not in uids]
    finally:
        trial.undo()
    return ScaleUpOption(template, trial.count, tuple(taken), trial.waste(taken)) if taken else None


class Trial:
    """Nodes of one template that are added to a placement for a while."""

    def __init__(
        self,
        placement: Placement,
        state: GroupState,
        template: NodeTemplate,
        daemon_sets: Sequence[ReadOnlyObject],
    ) -> None:
        self._placement, self._state, self._template = placement, state, template
        self._daemon_sets = daemon_sets
        self._nodes: list[Object] = []
        self._placed: list[ReadOnlyObject] = []
        self._dropped = 0

    @property
    def count(self) -> int:
        """Number of nodes that took pods."""
        return len(self._nodes) - self._dropped

    @property
    def last_node(self) -> str:
        """Name of the node that was added last."""
        name: str = self._nodes[-1]["metadata"]["name"]
        return name

    def find_bound(self) -> str:
        """Return why no further node may be added; empty if one may."""
        group, nodes = self._state.group, [*self._state.nodes, *self._nodes]
        if len(nodes) >= group.max_size:
            return _MAX_SIZE
        resource = group.find_exceeded_limit(nodes, self._template.instance_type)
        return _LIMIT.format(resource) if resource else ""

    def fill_node(self, pods: Sequence[ReadOnlyObject]) -> list[ReadOnlyObject]:
        """Add a node with its daemon pods; return the pods that fit on it, which are placed there."""
        kind, zone = self._template.instance_type.name, self._template.zone
        name = f"template-{self._template.group.name}-{kind}-{zone}-{len(self._nodes)}"
        node = self._template.make_ready_node(name)
        self._nodes.append(node)
        self._placement.add_node(node)
        for daemon_set in self._daemon_sets:
            pod = make_daemon_pod(daemon_set, name)
            if self._placement.place(pod, [name]):
                self._placed.append(pod)
        fitting, _ = place_pods(lambda pod: self._placement.place(pod, [name]), pods)
        self._placed += fitting
        return fitting

    def drop_last(self) -> None:
        """Do not count the last node, which took no pod."""
        self._dropped += 1

    def waste(self, pods: Sequence[ReadOnlyObject]) -> float:
        """Return the share of cpu and memory of the nodes that the pods leave."""
        total = Resources()
        for pod in pods:
            total.add(calculate_pod_requests(pod, _RULES))
        capacity = Resources.from_resource_list(self._template.instance_type.resources)
        unused = []
        for resource in ("cpu", "memory"):
            # Resources count cpu in thousandths, on both sides.
            amount = capacity.get_amount(resource) * self.count
            unused.append(1 - min(total.get_amount(resource) / amount, 1) if amount else 0.0)
        return sum(unused) / len(unused)

    def undo(self) -> None:
        """Remove the nodes and their pods."""
        self._placement.forget(self._placed)
        for node in self._nodes:
            self._placement.remove_node(node["metadata"]["name"])


def _spread_over_zones(
    best: ScaleUpOption, options: Sequence[ScaleUpOption], groups: Sequence[GroupState]
) -> tuple[NodeTemplate, ...]:
    """Spread the nodes over the zones of the group in which the same pods fit, the emptiest first."""
    group, kind = best.template.group, best.template.instance_type
    nodes = next(state.nodes for state in groups if state.group is group)
    pods = [pod["metadata"]["uid"] for pod in best.pods]
    alike = [
        one.template
        for one in options
        if one.template.group is group
        and one.template.instance_type is kind
        and [pod["metadata"]["uid"] for pod in one.pods] == pods
    ]
    return balance_zones(alike, nodes, best.count)


def balance_zones(
    templates: Sequence[NodeTemplate], nodes: Sequence[ReadOnlyObject], count: int
) -> tuple[NodeTemplate, ...]:
    """Return so many templates that the zones have as equal numbers of nodes as possible."""
    sizes = Counter(map(zone_of, nodes))
    by_zone = {template.zone: template for template in reversed(templates)}
    queue = [(sizes[zone], zone) for zone in by_zone]
    heapify(queue)
    added = []
    for _ in range(count):
        size, zone = queue[0]
        heapreplace(queue, (size + 1, zone))
        added.append(by_zone[zone])
    return tuple(added)


def make_daemon_pod(daemon_set: ReadOnlyObject, node: str) -> Object:
    """Return the pod of a DaemonSet on a node, as far as its placement depends on it."""
    metadata, template = daemon_set["metadata"], daemon_set["spec"]["template"]
    labels = (template.get("metadata") or {}).get("labels") or {}
    name = f"{metadata['name']}-{node}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": metadata["namespace"], "uid": name, "labels": labels},
        "spec": template["spec"],
    }


def describe_rejection(reasons: Mapping[str, int]) -> str:
    """Return upstream's text of an event NotTriggerScaleUp."""
    counted = ", ".join(f"{count} {text}" for text, count in sorted(reasons.items()))
    return f"pod didn't trigger scale-up: {counted}"
