"""Find the nodes that pass the filters of a pod, as many as are worth scoring.

upstream 1.36: pkg/scheduler/schedule_one.go
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.cycle.verdict_cache import FilterVerdicts, NodeWindow, VerdictCache
from mockkube.scheduler.framework.interface import CycleState
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SUCCESS, Code, Status
from mockkube.scheduler.profile.framework import FILTER, Framework

# Clusters with fewer nodes are searched completely, as upstream's minFeasibleNodesToFind says.
FEASIBLE_NODES_MIN: Final = 100
_PERCENTAGE_MIN: Final = 5
_REJECTION_CODES: Final = (Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING)


def num_feasible_nodes_to_find(percentage: int, nodes: int) -> int:
    """Return how many feasible nodes are enough; a percentage of 0 depends on the size of the cluster."""
    if nodes < FEASIBLE_NODES_MIN:
        return nodes
    percentage = percentage or max(50 - nodes // 125, _PERCENTAGE_MIN)
    return max(nodes * percentage // 100, FEASIBLE_NODES_MIN)


@dataclass(slots=True)
class NextStartNode:
    """Index of the node at which the next search starts, so that all nodes have the same chance."""

    index: int = 0

    def advance(self, nodes_seen: int, nodes: int) -> None:
        """Continue behind the nodes that were evaluated."""
        self.index = (self.index + nodes_seen) % nodes


@dataclass(slots=True)
class FilteredNodes:
    """Nodes that pass all filters; if there are none, the statuses of the evaluated nodes."""

    node_indexes: Sequence[int] = ()
    node_to_status: dict[str, Status] = field(default_factory=dict)
    rejections: set[tuple[str, Code]] = field(default_factory=set)
    """Filters that rejected nodes, with their codes."""
    evaluated: int = 0
    """Number of nodes that were evaluated."""
    reason_counts: Mapping[tuple[str, ...], int] | None = None
    """Number of rejected nodes per tuple of reasons, where it is known without counting."""


class FeasibleNodes:
    """Search of one profile."""

    def __init__(
        self,
        framework: Framework,
        verdict_cache: VerdictCache,
        percentage_of_nodes_to_score: int,
        next_start: NextStartNode,
    ) -> None:
        self._framework, self._verdict_cache, self._percentage_of_nodes_to_score, self._next_start = (
            framework,
            verdict_cache,
            percentage_of_nodes_to_score,
            next_start,
        )
        self._filters = [plugin.name for plugin in framework.profile.filters]
        self._log_lines = {
            (plugin.name, code): line for plugin in framework.profile.filters for code, line in plugin.log_lines.items()
        }

    def check_node(self, state: CycleState, pod: PodInfo, name: str) -> FilteredNodes:
        """Run the filters on one node. Raises PluginError."""
        node_index = self._framework.cache.index_of(name)
        return FilteredNodes() if node_index is None else self._evaluate(state, pod, [node_index], 1)

    def find(self, state: CycleState, pod: PodInfo, names: Iterable[str] | None) -> FilteredNodes:
        """Search for feasible nodes, among all or those named. Raises PluginError."""
        cache = self._framework.cache
        total = len(cache.all)
        if names is None:
            count = self._num_to_find(total)
            result = self._find_cached(state, pod, count, total)
            if result is None:
                result = self._evaluate(state, pod, self._from_start_node(range(total)), count)
        else:
            node_indexes = sorted(node_index for name in names if (node_index := cache.index_of(name)) is not None)
            result = self._evaluate(
                state, pod, self._from_start_node(node_indexes), self._num_to_find(len(node_indexes))
            )
        self._next_start.advance(result.evaluated, total)
        return result

    def _num_to_find(self, nodes: int) -> int:
        # Without Score plugins the first feasible node is as good as any other.
        return (
            num_feasible_nodes_to_find(self._percentage_of_nodes_to_score, nodes)
            if self._framework.profile.scores
            else 1
        )

    def _from_start_node(self, node_indexes: Sequence[int]) -> Iterator[int]:
        start = self._next_start.index % len(node_indexes) if node_indexes else 0
        return chain(node_indexes[start:], node_indexes[:start])

    def _find_cached(self, state: CycleState, pod: PodInfo, count: int, total: int) -> FilteredNodes | None:
        """Find the next feasible nodes from cached verdicts alone; None if some verdict is not cached."""
        start = self._framework.now()
        verdicts = self._current_verdicts(state, pod)
        if not verdicts.is_complete():
            return None
        first = self._next_start.index % total
        # Three cases, because most searches end in the first or the second, which need no loop over nodes.
        if verdicts.none_fits():
            result = FilteredNodes(
                (),
                dict(verdicts.node_to_status),
                self._named_rejections(verdicts.rejection_counts),
                total,
                dict(verdicts.reason_counts),
            )
            self._count_evaluations(state, verdicts.rejection_counts, total)
            self._count_log_lines(verdicts, None)
        elif verdicts.all_fit():
            result = FilteredNodes(NodeWindow(first, count, total), evaluated=count)
            self._framework.count_all(verdicts.passes, count)
            self._count_log_lines(verdicts, result.node_indexes)
        else:
            stretch = verdicts.find_next_fitting(first, count)
            result = FilteredNodes(stretch.node_indexes, evaluated=stretch.evaluated)
            self._count_evaluations(state, stretch.rejection_counts, stretch.evaluated)
            self._count_log_lines(
                verdicts, [(first + step) % total for step in range(stretch.evaluated)] if verdicts.log_lines else ()
            )
        self._framework.observe_extension_point(FILTER, Code.SUCCESS, start)
        return result

    def _evaluate(self, state: CycleState, pod: PodInfo, node_indexes: Iterable[int], count: int) -> FilteredNodes:
        start = self._framework.now()
        verdicts, framework = self._current_verdicts(state, pod), self._framework
        nodes, entries, fits = framework.cache.all, verdicts.entries, verdicts.fits
        uncached = [
            (filter_index, plugin, framework.prepare_filter(state, plugin, pod))
            for filter_index, plugin in verdicts.uncached_filters
        ]
        nominator, check_nominated = framework.nominator, bool(uncached and framework.nominator)
        feasible: list[int] = []
        node_to_status: dict[str, Status] = {}
        rejections: dict[tuple[int, Code], int] = {}
        for node_index in node_indexes:  # hot: per node, per pod
            # Nominated pods may make a node unfit that fits by its cached verdict, so these nodes are evaluated with
            # them.
            if (
                check_nominated
                and nodes[node_index].name in nominator
                and framework.nominated_pods_to_respect(pod, nodes[node_index].name)
            ):
                verdict = verdicts.evaluate_with_nominated(framework, state, pod, node_index)
            else:
                verdict = entries[node_index] or verdicts.evaluate(framework, state, pod, node_index)
                # Uncached filters run only while the cached verdict would not reject the node at an earlier filter.
                for filter_index, plugin, run_filter in uncached:
                    if filter_index > verdict[0]:
                        break
                    status = run_filter(nodes[node_index])
                    if status is not SUCCESS and not (status := framework.check_status(plugin, status)).is_success:
                        verdict = filter_index, status
                        break
            if verdict is fits:
                feasible.append(node_index)
                if len(feasible) >= count:
                    break
            else:
                filter_index, status = verdict
                node_to_status[nodes[node_index].name] = status
                rejections[filter_index, status.code] = rejections.get((filter_index, status.code), 0) + 1
        evaluated_count = len(feasible) + len(node_to_status)
        self._count_evaluations(state, rejections, evaluated_count)
        if verdicts.log_lines:
            rejected_indexes = (framework.cache.index_of(name) for name in node_to_status)
            self._count_log_lines(
                verdicts, [*feasible, *(node_index for node_index in rejected_indexes if node_index is not None)]
            )
        framework.observe_extension_point(FILTER, Code.SUCCESS, start)
        return FilteredNodes(feasible, node_to_status, self._named_rejections(rejections), evaluated_count)

    def _count_log_lines(self, verdicts: FilterVerdicts, node_indexes: Sequence[int] | None) -> None:
        """Count the log lines of the nodes at these indexes; None means all nodes."""
        if verdicts.log_lines:
            self._framework.log.count_cached(verdicts.log_lines, node_indexes)

    def _named_rejections(self, rejections: Mapping[tuple[int, Code], int]) -> set[tuple[str, Code]]:
        return {(self._filters[filter_index], code) for (filter_index, code), nodes in rejections.items() if nodes}

    def _current_verdicts(self, state: CycleState, pod: PodInfo) -> FilterVerdicts:
        verdicts = self._verdict_cache.filter_verdicts(state, pod)
        # With nominated pods and only cached filters, a second table per priority holds verdicts that include those
        # pods.
        if self._framework.nominator and not verdicts.uncached_filters:
            verdicts = self._verdict_cache.filter_verdicts(state, pod, with_nominated=True)
        verdicts.refresh(self._framework, state, pod)
        return verdicts

    def _count_evaluations(self, state: CycleState, rejections: Mapping[tuple[int, Code], int], evaluated: int) -> None:
        """Count the results of each filter; filters behind one that rejected a node did not run for it."""
        for filter_index, name in enumerate(self._filters):
            if name in state.skip_filter or not evaluated:
                continue
            for code in _REJECTION_CODES:
                if count := rejections.get((filter_index, code), 0):
                    self._framework.count_evaluations(FILTER, name, code, count)
                    if (line := self._log_lines.get((name, code))) is not None:
                        self._framework.log.count(line, count)
                    evaluated -= count
            if evaluated:
                self._framework.count_evaluations(FILTER, name, Code.SUCCESS, evaluated)
