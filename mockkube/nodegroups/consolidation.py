"""Decide which nodes consolidation removes, and which cheaper node replaces them.

karpenter 1.15: pkg/controllers/disruption
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_active, is_terminating
from mockkube.matching.taints import TaintRules, compile_tolerations, find_untolerated
from mockkube.nodegroups.disruption_policy import EMPTY, UNDERUTILIZED, parse_seconds
from mockkube.nodegroups.drainability import (
    SAFE_TO_EVICT,
    find_controller,
    find_selecting,
    is_daemon_pod,
    is_of_node,
)
from mockkube.nodegroups.node_group import TYPE_LABEL, NodeGroup, NodeTemplate, zone_of
from mockkube.nodegroups.placement import Placement
from mockkube.nodegroups.scale_down import DISRUPTED
from mockkube.nodegroups.scale_up import GroupState, Trial, place_pods, sort_by_priority

DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
DISRUPTED_TAINT: Final = {"key": DISRUPTED, "effect": "NoSchedule"}
FOREVER: Final = datetime.max.replace(tzinfo=UTC)
# Most nodes that are removed together, as upstream.
_NODES_MAX: Final = 100
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"


@dataclass(frozen=True, slots=True)
class DisruptionCandidate:
    """Node that may be disrupted: its price, the pods that have to move, and the cost of their disruption."""

    node: ReadOnlyObject
    group: NodeGroup
    price: float
    pods: tuple[ReadOnlyObject, ...]

    @property
    def name(self) -> str:
        """Name of the node."""
        name: str = self.node["metadata"]["name"]
        return name

    @property
    def disruption_cost(self) -> float:
        """Cost of the node's own disruption and of those of its pods."""
        return 1.0 + sum(max(0.0, find_eviction_cost(pod)) for pod in self.pods)

    @property
    def is_empty(self) -> bool:
        """True if no pod of the node costs anything to move."""
        return self.disruption_cost <= 1.0

    @property
    def is_underutilized(self) -> bool:
        """True if the node is used, and the policy of its group lets such nodes go."""
        return not self.is_empty and self.group.disruption is not None and self.group.disruption.removes_underutilized

    @property
    def order(self) -> tuple[float, str]:
        """Key of the order in which nodes are considered: the highest price per cost of disruption first."""
        return -self.price / self.disruption_cost, self.name


@dataclass(frozen=True, slots=True)
class ConsolidationCommand:
    """Nodes to remove for a reason, and the node that replaces them, if any."""

    reason: str
    candidates: tuple[DisruptionCandidate, ...]
    replacement: NodeTemplate | None = None

    @property
    def names(self) -> frozenset[str]:
        """Names of the nodes to remove."""
        return frozenset(one.name for one in self.candidates)

    @property
    def savings(self) -> float:
        """Price per hour that is saved."""
        price = self.replacement.price if self.replacement is not None else None
        return sum(one.price for one in self.candidates) - (price or 0.0)

    def is_like(self, other: "ConsolidationCommand | None") -> bool:
        """Return whether another command removes the same nodes for the same replacement."""
        if other is None or self.names != other.names:
            return False
        mine, others = self.replacement, other.replacement
        return (mine and mine.order) == (others and others.order)


def find_eviction_cost(pod: ReadOnlyObject) -> float:
    """Return the cost of moving a pod, from -10 to 10: 1, more or less by its deletion cost and priority."""
    text = (pod["metadata"].get("annotations") or {}).get(_DELETION_COST, "0")
    try:
        deletion_cost = float(text)
    except ValueError:
        deletion_cost = 0.0
    priority: int = pod["spec"].get("priority", 0)
    cost = 1.0 + deletion_cost / 2**27 + priority / 2**25
    return min(max(cost, -10.0), 10.0)


# Pods


def tolerates_disruption(pod: ReadOnlyObject) -> bool:
    """Return whether a pod tolerates the taint of disrupted nodes: it is never evicted."""
    tolerations = compile_tolerations(pod["spec"].get("tolerations") or (), TaintRules())
    return find_untolerated([DISRUPTED_TAINT], tolerations) is None


def has_to_move(pod: ReadOnlyObject) -> bool:
    """Return whether a pod of a disrupted node needs room elsewhere."""
    if is_of_node(pod):
        return False
    controller = find_controller(pod)
    # A terminating pod of a StatefulSet is created again when it is gone.
    is_recreated = controller is not None and controller.get("kind") == "StatefulSet"
    return is_active(pod) or (is_recreated and is_terminating(pod))


def find_protected_until(pod: ReadOnlyObject, now: datetime) -> datetime | None:
    """Return until when annotations keep a pod's node from being disrupted, or FOREVER; None if they do not.

    `karpenter.sh/do-not-disrupt` is "true", or a duration after the start of the pod.
    """
    annotations = pod["metadata"].get("annotations") or {}
    text = annotations.get(DO_NOT_DISRUPT)
    # Karpenter does not know the annotation of the cluster-autoscaler, whose users mean it alike.
    if text == "true" or annotations.get(SAFE_TO_EVICT) == "false":
        return FOREVER
    try:
        seconds = parse_seconds(text or "")
    except ValueError:
        return None
    started = (pod.get("status") or {}).get("startTime")
    if seconds <= 0:
        return None
    until = FOREVER if started is None else parse_time(started) + timedelta(seconds=seconds)
    return until if until > now else None


def find_node_blocker(node: ReadOnlyObject) -> str:
    """Return why a node may not be disrupted, whatever is on it; empty if it may."""
    if (node["metadata"].get("annotations") or {}).get(DO_NOT_DISRUPT) == "true":
        return f'Disruption is blocked through the "{DO_NOT_DISRUPT}" annotation'
    return ""


def find_pod_blocker(pod: ReadOnlyObject, budgets: Sequence[ReadOnlyObject], now: datetime) -> str:
    """Return why the node of a pod may not be disrupted because of it; empty if it may."""
    if not is_active(pod):
        return ""
    metadata = pod["metadata"]
    name = f"{metadata.get('namespace', '')}/{metadata['name']}"
    if find_protected_until(pod, now) is not None:
        annotations = metadata.get("annotations") or {}
        annotation = SAFE_TO_EVICT if annotations.get(SAFE_TO_EVICT) == "false" else DO_NOT_DISRUPT
        return f'Pod has "{annotation}" annotation (Pod={name})'
    if is_of_node(pod) and not is_daemon_pod(pod):
        return ""
    if tolerates_disruption(pod):
        return ""
    matching = find_selecting(budgets, pod)
    names = " ".join(f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}" for one in matching)
    if len(matching) > 1:
        return f"Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[{names}])"
    if any((budget.get("status") or {}).get("disruptionsAllowed", 0) < 1 for budget in matching):
        return f"Pdb prevents pod evictions (PodDisruptionBudget=[{names}])"
    return ""


# Commands


class ConsolidationPlanner:
    """Search for a command: nodes that can be removed within budgets because their pods fit elsewhere.

    `allowed` has the number of nodes of each group that may be disrupted, by reason.
    """

    def __init__(
        self,
        states: Sequence[GroupState],
        daemon_sets: Sequence[ReadOnlyObject],
        allowed: Mapping[str, Mapping[str, int]],
    ) -> None:
        self._states, self._daemon_sets, self._allowed = states, daemon_sets, allowed
        # Why a node cannot be consolidated, and whether budgets kept any from being considered.
        self.reasons: dict[str, str] = {}
        self.is_limited = False

    def find_empty(self, candidates: Iterable[DisruptionCandidate]) -> ConsolidationCommand | None:
        """Return the command that removes empty nodes, without shrinking a group too far."""
        sizes = {state.group.name: state.size for state in self._states}
        removed = []
        for candidate in self.limit([one for one in candidates if one.is_empty], EMPTY):
            if sizes[candidate.group.name] > candidate.group.min_size:
                sizes[candidate.group.name] -= 1
                removed.append(candidate)
        return ConsolidationCommand(EMPTY, tuple(removed)) if removed else None

    def find_underutilized(
        self, placement: Placement, candidates: Iterable[DisruptionCandidate]
    ) -> ConsolidationCommand | None:
        """Return the command that removes the most nodes at once, else the first single one that can go."""
        used = sorted((one for one in candidates if one.is_underutilized), key=lambda one: one.order)
        allowed = self.limit(used, UNDERUTILIZED)[:_NODES_MAX]
        best = None
        # The longest prefix that can go together, as upstream by bisection.
        low, high = 2, len(allowed)
        while low <= high:
            middle = (low + high) // 2
            command = self.check(placement, allowed[:middle])
            if command is None:
                high = middle - 1
            else:
                best, low = command, middle + 1
        if best is not None:
            return best
        singles = (one for one in _interleave(used) if self._allowed[UNDERUTILIZED][one.group.name] > 0)
        return next((found for one in singles if (found := self.check(placement, [one])) is not None), None)

    def check(self, placement: Placement, candidates: Sequence[DisruptionCandidate]) -> ConsolidationCommand | None:
        """Return the command that removes nodes, if their pods fit elsewhere or on one cheaper node."""
        pods = sort_by_priority(pod for one in candidates for pod in one.pods)
        for candidate in candidates:
            placement.remove_node(candidate.name)
        for pod in pods:
            placement.remove_pod(pod)
        placed: list[ReadOnlyObject] = []
        try:
            placed, left = place_pods(placement.place, pods)
            if not left:
                return self._check_sizes(ConsolidationCommand(UNDERUTILIZED, tuple(candidates)))
            return self._replace(placement, candidates, left)
        finally:
            placement.forget(placed)
            for candidate in candidates:
                placement.add_node(candidate.node)
            for pod in pods:
                placement.restore_pod(pod)

    def _replace(
        self, placement: Placement, candidates: Sequence[DisruptionCandidate], pods: Sequence[ReadOnlyObject]
    ) -> ConsolidationCommand | None:
        """Return the command with the cheapest node that takes all pods and costs less than the removed nodes."""
        removed = {one.name for one in candidates}
        zone = zone_of(candidates[0].node)
        states = {
            state.group.name: GroupState(
                state.group, [node for node in state.nodes if node["metadata"]["name"] not in removed]
            )
            for state in self._states
        }
        templates = [one for state in states.values() for one in state.group.templates()]
        price = sum(one.price for one in candidates)
        cheaper = sorted(
            (one for one in templates if one.price is not None and one.price < price),
            key=lambda one: (one.price, one.zone != zone, one.order),
        )
        for template in cheaper:
            trial = Trial(placement, states[template.group.name], template, self._daemon_sets)
            try:
                fits = not trial.find_bound() and len(trial.fill_node(pods)) == len(pods)
            finally:
                trial.undo()
            if not fits:
                continue
            # Of several nodes, one like the replacement could stay instead.
            if len(candidates) > 1 and any(_is_like(one.node, template) for one in candidates):
                return None
            return self._check_sizes(ConsolidationCommand(UNDERUTILIZED, tuple(candidates), template))
        self._explain(candidates, "Can't replace with a cheaper node")
        return None

    def _check_sizes(self, command: ConsolidationCommand) -> ConsolidationCommand | None:
        """Return the command if it shrinks no group below its least size."""
        removed = Counter(one.group.name for one in command.candidates)
        if command.replacement is not None:
            removed[command.replacement.group.name] -= 1
        for state in self._states:
            if removed[state.group.name] > 0 and state.size - removed[state.group.name] < state.group.min_size:
                self._explain(command.candidates, f"Node group {state.group.name} has its smallest size")
                return None
        return command

    def _explain(self, candidates: Sequence[DisruptionCandidate], reason: str) -> None:
        """Remember why one node cannot go; of several, single ones are checked afterwards."""
        if len(candidates) == 1:
            self.reasons[candidates[0].name] = reason

    def limit(self, candidates: Sequence[DisruptionCandidate], reason: str) -> list[DisruptionCandidate]:
        """Return the candidates that may be disrupted together for a reason."""
        left = dict(self._allowed[reason])
        kept = []
        for candidate in sorted(candidates, key=lambda one: one.order):
            if left[candidate.group.name] > 0:
                left[candidate.group.name] -= 1
                kept.append(candidate)
            else:
                self.is_limited = True
        return kept


def _interleave(candidates: Sequence[DisruptionCandidate]) -> list[DisruptionCandidate]:
    """Return candidates of the groups in turn, so that no group waits for all others."""
    by_group: dict[str, list[DisruptionCandidate]] = {}
    for candidate in candidates:
        by_group.setdefault(candidate.group.name, []).append(candidate)
    rounds = zip_longest(*(by_group[name] for name in sorted(by_group)))
    return [one for candidates_of_round in rounds for one in candidates_of_round if one is not None]


def _is_like(node: ReadOnlyObject, template: NodeTemplate) -> bool:
    return bool((node["metadata"].get("labels") or {}).get(TYPE_LABEL) == template.instance_type.name)
