"""Who would have to go from a node for a pod: found out by supposing evictions, and remembered as long as it holds.

What filters say that judge each node by itself is remembered for all pods that are alike. The others are asked in each
cycle; only where a pod that may go means something to one of them, all is supposed anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Final

from cachetools import LRUCache

from mockkube.scheduler.framework.interface import CycleState, FilterPlugin, Handle, Nominated, Scope
from mockkube.scheduler.framework.node_info import NodeInfo, Nodes
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import Code, Status
from mockkube.scheduler.preemption.candidates import Candidate, by_importance
from mockkube.scheduler.preemption.pod_disruption_budgets import Budgets

_NO_VICTIMS: Final = Status.unresolvable("No preemption victims found for incoming pod")
_NEEDLESS: Final = "evictions"
"""Who says that all pods can stay: no filter, and nothing that failed."""
_REMEMBERED_MAX: Final = 16
"""Of how many kinds of pods it is remembered where they would have to evict whom."""

Outcome = Candidate | Status
"""Who would have to go from a node, or why nothing helps there."""


@dataclass(frozen=True, slots=True)
class Supposed:
    """What is known of nodes in one cycle, and what finds it out of another one."""

    known: dict[str, Outcome]
    suppose: Callable[[str], Outcome]


@dataclass(frozen=True, slots=True)
class _Case:
    """The pod that evictions are supposed for, which filters are asked about it, and who asks them."""

    handle: Handle
    state: CycleState
    pod: PodInfo
    filters: Sequence[FilterPlugin]


@dataclass(slots=True)
class _Memory:
    """What supposing evictions came to for pods that are alike, by node, as long as nothing of the node has changed."""

    generation: int = 0
    nominated: int = 0
    """The generation of the nominations."""
    own: str = ""
    """The node that the pod asked about last is nominated to itself: others would have to leave room for it."""
    budgets: int = 0
    breadth: int = 0
    """The generation of the budgets, and their breadth."""
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def refresh(self, nodes: Nodes, nominated: Nominated, pod: PodInfo) -> None:
        """Forget what is known of nodes that have changed, themselves or by who is nominated to them."""
        own = nominated.node_of(pod.uid)
        for name in chain(
            nodes.changed_since(self.generation), nominated.changed_since(self.nominated), (self.own, own)
        ):
            self.outcomes.pop(name, None)
        self.generation, self.nominated, self.own = nodes.generation, nominated.generation, own

    def respect(self, budgets: Budgets) -> None:
        """Forget what follows from budgets that have changed."""
        if self.breadth != budgets.breadth:
            self.outcomes.clear()
        elif self.budgets != budgets.generation:
            for name, outcome in list(self.outcomes.items()):
                if isinstance(outcome, Candidate) and any(one not in budgets for one in outcome.budgets):
                    del self.outcomes[name]
        self.budgets, self.breadth = budgets.generation, budgets.breadth


class SupposedEvictions:
    """Evictions on the nodes of a scheduler, for its sake or that of budgets left undone."""

    def __init__(self, nodes: Nodes, budgets: Budgets) -> None:
        self._nodes, self._budgets = nodes, budgets
        self._memories: LRUCache[object, _Memory] = LRUCache(_REMEMBERED_MAX)

    def begin(self, handle: Handle, state: CycleState, pod: PodInfo) -> Supposed:
        """Return what is known of nodes for a pod in this cycle."""
        case = _Case(handle, state, pod, handle.filters(state))
        alone = replace(case, filters=[one for one in case.filters if one.scope_of(pod) is not Scope.CLUSTER])
        known = self._remembered(case)
        if len(alone.filters) == len(case.filters):
            return Supposed(known, partial(self._try, case))
        mixture = _Mixture(case, alone, self._try)
        return Supposed({}, lambda name: mixture.outcome(self._node(name), known))

    def _remembered(self, case: _Case) -> dict[str, Outcome]:
        key = (case.handle.alike(case.state, case.pod), case.pod.priority)
        memory = self._memories.get(key)
        if memory is None:
            memory = self._memories[key] = _Memory()
        memory.refresh(self._nodes, case.handle.nominations(), case.pod)
        memory.respect(self._budgets)
        return memory.outcomes

    def _node(self, name: str) -> NodeInfo:
        node = self._nodes.get(name)
        assert node is not None, "a node that was asked about exists"
        return node

    def _try(self, case: _Case, name: str) -> Outcome:
        try:
            return self._least_victims(replace(case, state=case.state.clone()), self._node(name).clone())
        except ValueError as error:
            return Status.error(str(error))

    def _least_victims(self, case: _Case, node: NodeInfo) -> Outcome:
        """Take all pods of less priority away, then give back as many as can stay. Raises ValueError."""
        handle, state, pod = case.handle, case.state, case.pod
        gone = _less_important(pod, node)
        if not gone:
            return _NO_VICTIMS
        for other in gone:
            handle.take(state, pod, other, node)
        if not (status := handle.fits(state, pod, node, case.filters)).ok:
            return status
        moved = [one for one in case.filters if one.scope_of(pod) is not Scope.NODE]  # pods are nothing to the others
        split = self._budgets.split(by_importance(gone))
        victims: list[PodInfo] = []
        violations = 0
        for other in (*split.protected, *split.free):
            handle.put(state, pod, other, node)
            if handle.fits(state, pod, node, moved).ok:
                continue
            handle.take(state, pod, other, node)
            victims.append(other)
            violations += other in split.protected
        if not victims:
            return Status.error(f'expected at least one victim pod on node "{node.name}"').of(_NEEDLESS)
        return Candidate.of(node.name, victims, violations, split.budgets)


class _Mixture:
    """What all filters together come to, from what is known of those that judge each node by itself."""

    def __init__(self, case: _Case, alone: _Case, suppose: Callable[[_Case, str], Outcome]) -> None:
        self._case, self._alone, self._suppose = case, alone, suppose
        self._live = [one for one in case.filters if one not in alone.filters]
        self._places = {one.name: place for place, one in enumerate(case.filters)}

    def outcome(self, node: NodeInfo, known: dict[str, Outcome]) -> Outcome:
        """Return who would have to go from a node."""
        case, name = self._case, node.name
        if self._moved(node):
            return self._suppose(case, name)
        outcome = known.get(name)
        if outcome is None:
            outcome = known[name] = self._suppose(self._alone, name)
        if outcome is _NO_VICTIMS:
            return outcome
        status = case.handle.fits(case.state, case.pod, node, self._live)
        if status.ok:
            return outcome
        if isinstance(outcome, Candidate) or outcome.plugin == _NEEDLESS:
            return status
        if Code.ERROR in (status.code, outcome.code):
            return self._suppose(case, name)
        return min(status, outcome, key=lambda one: self._places[one.plugin])

    def _moved(self, node: NodeInfo) -> bool:
        """Whether a filter that looks at more than the node might say something else if one of the pods went."""
        state, pod = self._case.state, self._case.pod
        gone = _less_important(pod, node)
        return any(one.is_moved(state, pod, other) for one in self._live for other in gone)


def _less_important(pod: PodInfo, node: NodeInfo) -> list[PodInfo]:
    return [other for other in node.pods.values() if other.priority < pod.priority]
