"""Find the nodes that pass the filters of a pod, as many as are worth scoring.

upstream 1.36: pkg/scheduler/schedule_one.go
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from mockkube.scheduler.framework.interface import CycleState
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.runtime import FILTER, Framework
from mockkube.scheduler.framework.status import SUCCESS, Code, Status
from mockkube.scheduler.verdict_cache import FilterVerdicts, VerdictCache

# Clusters with fewer nodes are searched completely, as upstream's minFeasibleNodesToFind says.
FEASIBLE_NODES_MIN: Final = 100
_PERCENTAGE_MIN: Final = 5
_REJECTION_CODES: Final = (Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING)


def wanted(percentage: int, nodes: int) -> int:
    """Return how many feasible nodes are enough; a percentage of 0 depends on the size of the cluster."""
    if nodes < FEASIBLE_NODES_MIN:
        return nodes
    percentage = percentage or max(50 - nodes // 125, _PERCENTAGE_MIN)
    return max(nodes * percentage // 100, FEASIBLE_NODES_MIN)


@dataclass(slots=True)
class NextStartNode:
    """Index of the node at which the next search starts, so that all nodes have the same chance."""

    start: int = 0

    def advance(self, nodes_seen: int, nodes: int) -> None:
        """Continue behind the nodes that were evaluated."""
        self.start = (self.start + nodes_seen) % nodes


@dataclass(slots=True)
class Found:
    """Nodes that pass all filters; if there are none, the statuses of the evaluated nodes."""

    slots: Sequence[int] = ()
    refused: dict[str, Status] = field(default_factory=dict)
    answers: set[tuple[str, Code]] = field(default_factory=set)
    """Filters that rejected nodes, with their codes."""
    seen: int = 0
    """Number of nodes that were evaluated."""
    reasons: Mapping[tuple[str, ...], int] | None = None
    """Number of rejected nodes per tuple of reasons, where it is known without counting."""


class Search:
    """Search of one profile."""

    def __init__(self, points: Framework, tables: VerdictCache, percentage: int, rotation: NextStartNode) -> None:
        self._framework, self._verdict_cache, self._percentage_of_nodes_to_score, self._next_start = (
            points,
            tables,
            percentage,
            rotation,
        )
        self._filters = [plugin.name for plugin in points.profile.filters]
        self._log_lines = {
            (plugin.name, code): line for plugin in points.profile.filters for code, line in plugin.log_lines.items()
        }

    def one(self, state: CycleState, pod: PodInfo, name: str) -> Found:
        """Run the filters on one node. Raises PluginError."""
        slot = self._framework.picture.slot(name)
        return Found() if slot is None else self._evaluate(state, pod, [slot], 1)

    def some(self, state: CycleState, pod: PodInfo, names: Iterable[str] | None) -> Found:
        """Search for feasible nodes, among all or those named. Raises PluginError."""
        snapshot = self._framework.picture
        total = len(snapshot.all)
        if names is None:
            count = self._num_to_find(total)
            result = self._find_cached(state, pod, count, total)
            if result is None:
                result = self._evaluate(state, pod, self._from_start_node(range(total)), count)
        else:
            slots = sorted(slot for name in names if (slot := snapshot.slot(name)) is not None)
            result = self._evaluate(state, pod, self._from_start_node(slots), self._num_to_find(len(slots)))
        self._next_start.advance(result.seen, total)
        return result

    def _num_to_find(self, nodes: int) -> int:
        # Without Score plugins the first feasible node is as good as any other.
        return wanted(self._percentage_of_nodes_to_score, nodes) if self._framework.profile.scores else 1

    def _from_start_node(self, slots: Sequence[int]) -> Iterator[int]:
        start = self._next_start.start % len(slots) if slots else 0
        return chain(slots[start:], slots[:start])

    def _find_cached(self, state: CycleState, pod: PodInfo, count: int, total: int) -> Found | None:
        """Find the next feasible nodes from cached verdicts alone; None if some verdict is not cached."""
        start = self._framework.now()
        verdicts = self._current_verdicts(state, pod)
        if not verdicts.is_complete():
            return None
        first = self._next_start.start % total
        # Three cases, because most searches end in the first or the second, which need no loop over nodes.
        if verdicts.none_fits():
            result = Found(
                (), dict(verdicts.refused), self._named_rejections(verdicts.refusals), total, dict(verdicts.reasons)
            )
            self._count_evaluations(state, verdicts.refusals, total)
            self._log(verdicts, None)
        elif verdicts.all_fit():
            nearest = range(first, min(first + count, total))
            result = Found(nearest if len(nearest) == count else [*nearest, *range(count - len(nearest))], seen=count)
            self._count_evaluations(state, {}, count)
            self._log(verdicts, result.slots)
        else:
            stretch = verdicts.find_next_fitting(first, count)
            result = Found(stretch.slots, seen=stretch.nodes)
            self._count_evaluations(state, stretch.refusals, stretch.nodes)
            self._log(verdicts, [(first + step) % total for step in range(stretch.nodes)] if verdicts.lines else ())
        self._framework.measure(FILTER, Code.SUCCESS, start)
        return result

    def _evaluate(self, state: CycleState, pod: PodInfo, slots: Iterable[int], count: int) -> Found:
        start = self._framework.now()
        verdicts, framework = self._current_verdicts(state, pod), self._framework
        nodes, entries, fits = framework.picture.all, verdicts.entries, verdicts.fits
        uncached = [(place, plugin, framework.judge(state, plugin, pod)) for place, plugin in verdicts.live]
        nominator, check_nominated = framework.nominations, bool(uncached and framework.nominations)
        feasible: list[int] = []
        node_to_status: dict[str, Status] = {}
        rejections: dict[tuple[int, Code], int] = {}
        for slot in slots:  # hot: per node, per pod
            # Nominated pods may make a node unfit that fits by its cached verdict, so these nodes are evaluated with
            # them.
            if (
                check_nominated
                and nodes[slot].name in nominator
                and framework.nominated_pods_to_respect(pod, nodes[slot].name)
            ):
                verdict = verdicts.evaluate_with_nominated(framework, state, pod, slot)
            else:
                verdict = entries[slot] or verdicts.judge(framework, state, pod, slot)
                # Uncached filters run only while the cached verdict would not reject the node at an earlier filter.
                for place, plugin, judge in uncached:
                    if place > verdict[0]:
                        break
                    status = judge(nodes[slot])
                    if status is not SUCCESS and not (status := framework.checked(plugin, status)).ok:
                        verdict = place, status
                        break
            if verdict is fits:
                feasible.append(slot)
                if len(feasible) >= count:
                    break
            else:
                place, status = verdict
                node_to_status[nodes[slot].name] = status
                rejections[place, status.code] = rejections.get((place, status.code), 0) + 1
        seen = len(feasible) + len(node_to_status)
        self._count_evaluations(state, rejections, seen)
        if verdicts.lines:
            places = (framework.picture.slot(name) for name in node_to_status)
            self._log(verdicts, [*feasible, *(place for place in places if place is not None)])
        framework.measure(FILTER, Code.SUCCESS, start)
        return Found(feasible, node_to_status, self._named_rejections(rejections), seen)

    def _log(self, table: FilterVerdicts, slots: Sequence[int] | None) -> None:
        """Count the log lines of the nodes at these indexes; None means all nodes."""
        if table.lines:
            self._framework.log.count_cached(table.lines, slots)

    def _named_rejections(self, refusals: Mapping[tuple[int, Code], int]) -> set[tuple[str, Code]]:
        return {(self._filters[place], code) for (place, code), nodes in refusals.items() if nodes}

    def _current_verdicts(self, state: CycleState, pod: PodInfo) -> FilterVerdicts:
        verdicts = self._verdict_cache.filtered(state, pod)
        # With nominated pods and only cached filters, a second table per priority holds verdicts that include those
        # pods.
        if self._framework.nominations and not verdicts.live:
            verdicts = self._verdict_cache.filtered(state, pod, crowded=True)
        verdicts.refresh(self._framework, state, pod)
        return verdicts

    def _count_evaluations(self, state: CycleState, refusals: Mapping[tuple[int, Code], int], seen: int) -> None:
        """Count the results of each filter; filters behind one that rejected a node did not run for it."""
        for place, name in enumerate(self._filters):
            if name in state.skip_filter or not seen:
                continue
            for code in _REJECTION_CODES:
                if count := refusals.get((place, code), 0):
                    self._framework.count(FILTER, name, code, count)
                    if (line := self._log_lines.get((name, code))) is not None:
                        self._framework.log.count(line, count)
                    seen -= count
            if seen:
                self._framework.count(FILTER, name, Code.SUCCESS, seen)
