"""Dry run of preemption: which victims a node would need, evaluated on clones and cached while it holds.

The result of filters of scope NODE and LOAD is cached for all pods of one signature. Filters of scope CLUSTER run in
each cycle; the whole dry run is repeated only where a possible victim affects one of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import chain
from typing import Final

from cachetools import LRUCache

from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.interface import CacheScope, CycleState, FilterPlugin, Handle, PodNominator
from mockkube.scheduler.framework.node_info import NodeInfo, NodeInfoLister
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import Code, Status
from mockkube.scheduler.preemption.candidates import Candidate, sort_by_importance
from mockkube.scheduler.preemption.pod_disruption_budgets import PodDisruptionBudgets

_NO_VICTIMS: Final = Status.unresolvable("No preemption victims found for incoming pod")
# Pseudo plugin of the error that no victim is needed; no filter has this name.
_NO_VICTIM_NEEDED: Final = "evictions"
# Kinds of pods whose results are cached.
_CACHED_KINDS_MAX: Final = 16

Outcome = Candidate | Status
"""Victims that a node would need, or the reason why preemption does not help there."""


@dataclass(frozen=True, slots=True)
class DryRunResults:
    """Cached results in one cycle, and a function that evaluates another node."""

    cached: dict[str, Outcome]
    evaluate: Callable[[str], Outcome]


@dataclass(frozen=True, slots=True)
class _DryRunCase:
    """Preemptor of a dry run, with the filters to run and the handle that runs them."""

    handle: Handle
    state: CycleState
    pod: PodInfo
    filters: Sequence[FilterPlugin]


@dataclass(slots=True)
class _OutcomeCache:
    """Results for pods of one kind, by node, valid until the node changes."""

    generation: int = 0
    nominator_generation: int = 0
    """Generation of the nominator up to which results are valid."""
    last_nominated_node: str = ""
    """Node that the pod of the last cycle is nominated to; other pods must respect that nomination."""
    budget_generation: int = 0
    selection_generation: int = 0
    """Generations of the disruption budgets up to which results are valid."""
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def refresh(self, nodes: NodeInfoLister, nominator: PodNominator, pod: PodInfo) -> None:
        """Drop the results of nodes that changed, or whose nominated pods changed."""
        own = nominator.nominated_node_of(pod.uid)
        for name in chain(
            nodes.changed_since(self.generation),
            nominator.changed_since(self.nominator_generation),
            (self.last_nominated_node, own),
        ):
            self.outcomes.pop(name, None)
        self.generation, self.nominator_generation, self.last_nominated_node = (
            nodes.generation,
            nominator.generation,
            own,
        )

    def drop_outdated_budgets(self, budgets: PodDisruptionBudgets) -> None:
        """Drop the results that depend on changed disruption budgets."""
        # A budget that selects more pods than before may protect victims on any node.
        if self.selection_generation != budgets.selection_generation:
            self.outcomes.clear()
        elif self.budget_generation != budgets.generation:
            for name, outcome in list(self.outcomes.items()):
                if isinstance(outcome, Candidate) and any(one not in budgets for one in outcome.budgets):
                    del self.outcomes[name]
        self.budget_generation, self.selection_generation = budgets.generation, budgets.selection_generation


class DryRun:
    """Dry runs on all nodes of a scheduler, with cached results."""

    def __init__(self, nodes: NodeInfoLister, budgets: PodDisruptionBudgets) -> None:
        self._nodes, self._budgets = nodes, budgets
        self._caches: LRUCache[object, _OutcomeCache] = LRUCache(_CACHED_KINDS_MAX)

    def start(self, handle: Handle, state: CycleState, pod: PodInfo) -> DryRunResults:
        """Return the cached results for a pod in this cycle, and a function for the others."""
        case = _DryRunCase(handle, state, pod, handle.filters(state))
        cacheable = replace(case, filters=[one for one in case.filters if one.scope_for(pod) is not CacheScope.CLUSTER])
        known = self._cached_outcomes(case)
        if len(cacheable.filters) == len(case.filters):
            return DryRunResults(known, partial(self._dry_run_node, case))
        mixture = _CombinedDryRun(case, cacheable, self._dry_run_node)
        return DryRunResults({}, lambda name: mixture.evaluate_node(self._node(name), known))

    def _cached_outcomes(self, case: _DryRunCase) -> dict[str, Outcome]:
        key = (case.handle.equivalence_key(case.state, case.pod), case.pod.priority)
        cache = self._caches.get(key)
        if cache is None:
            cache = self._caches[key] = _OutcomeCache()
        cache.refresh(self._nodes, case.handle.nominator(), case.pod)
        cache.drop_outdated_budgets(self._budgets)
        return cache.outcomes

    def _node(self, name: str) -> NodeInfo:
        node = self._nodes.get(name)
        assert node is not None, "only existing nodes are evaluated"
        return node

    def _dry_run_node(self, case: _DryRunCase, name: str) -> Outcome:
        try:
            return self._select_victims_on_node(replace(case, state=case.state.clone()), self._node(name).clone())
        except ValueError as error:
            return Status.error(str(error))

    def _select_victims_on_node(self, case: _DryRunCase, node: NodeInfo) -> Outcome:
        """Remove all pods of lower priority, then add back as many as possible. Raises ValueError."""
        handle, state, pod = case.handle, case.state, case.pod
        removed = _lower_priority_pods(pod, node)
        if not removed:
            return _NO_VICTIMS
        for other in removed:
            handle.run_remove_pod(state, pod, other, node)
        if not (status := handle.run_filters_with_nominated_pods(state, pod, node, case.filters)).is_success:
            return status
        # Filters of scope NODE do not depend on other pods.
        affected_filters = [one for one in case.filters if one.scope_for(pod) is not CacheScope.NODE]
        # upstream: pods that a budget protects are added back first, each group by importance.
        split = self._budgets.split_by_violation(sort_by_importance(removed))
        victims: list[PodInfo] = []
        violations = 0
        for other in (*split.violating, *split.non_violating):
            handle.run_add_pod(state, pod, other, node)
            if handle.run_filters_with_nominated_pods(state, pod, node, affected_filters).is_success:
                continue
            handle.run_remove_pod(state, pod, other, node)
            victims.append(other)
            violations += other in split.violating
        # Not reachable in a consistent cache: the pod would have fit without evictions.
        if not victims:
            return Status.error(f'expected at least one victim pod on node "{node.name}"').with_plugin(
                _NO_VICTIM_NEEDED
            )
        return Candidate.from_victims(node.name, victims, violations, split.budgets)


class _CombinedDryRun:
    """Combines cached results of filters of scope NODE and LOAD with filters of scope CLUSTER."""

    def __init__(self, case: _DryRunCase, alone: _DryRunCase, evaluate: Callable[[_DryRunCase, str], Outcome]) -> None:
        self._case, self._cacheable_case, self._evaluate = case, alone, evaluate
        self._uncached_filters = [one for one in case.filters if one not in alone.filters]
        self._filter_indexes = {one.name: place for place, one in enumerate(case.filters)}

    def evaluate_node(self, node: NodeInfo, known: dict[str, Outcome]) -> Outcome:
        """Return the victims that a node would need."""
        case, name = self._case, node.name
        if self._is_affected(node):
            return self._evaluate(case, name)
        outcome = known.get(name)
        if outcome is None:
            outcome = known[name] = self._evaluate(self._cacheable_case, name)
        if outcome is _NO_VICTIMS:
            return outcome
        # No victim affects the uncached filters, so their verdict on the node as it stands is also the one after
        # evictions.
        status = case.handle.run_filters_with_nominated_pods(case.state, case.pod, node, self._uncached_filters)
        if status.is_success:
            return outcome
        if isinstance(outcome, Candidate) or outcome.plugin == _NO_VICTIM_NEEDED:
            return status
        if Code.ERROR in (status.code, outcome.code):
            return self._evaluate(case, name)
        # Both reject: the filter that comes first in the profile gives the reason, as in a complete run.
        return min(status, outcome, key=lambda one: self._filter_indexes[one.plugin])

    def _is_affected(self, node: NodeInfo) -> bool:
        """Return whether the removal of a possible victim may change the verdict of an uncached filter."""
        state, pod = self._case.state, self._case.pod
        filters = [one for one in self._uncached_filters if one.has_affecting_pods(state, pod, node)]
        if not filters:  # on most nodes
            return False
        removed = _lower_priority_pods(pod, node)
        return any(one.is_affected_by(state, pod, other) for one in filters for other in removed)


def _lower_priority_pods(pod: PodInfo, node: NodeInfo) -> list[PodInfo]:
    return [other for other in node.pods.values() if other.priority < pod.priority]
