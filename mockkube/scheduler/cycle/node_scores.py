"""Score feasible nodes: normalize and weigh plugin scores, and select the host.

upstream 1.36: pkg/scheduler/schedule_one.go, pkg/scheduler/framework/runtime/framework.go
"""

from collections.abc import Mapping, Sequence
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.random import Random
from mockkube.scheduler.cycle.verdict_cache import VerdictCache, select
from mockkube.scheduler.framework.interface import SCORE_MAX, CycleState, ScorePlugin
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.profile.framework import SCORE, Framework, PluginError

# Searching a list so often takes as long as counting in some hundred values.
_SEARCHES_MAX: Final = 16

NodePluginScores = Mapping[str, Mapping[str, int]]
"""Weighted scores of each node, by plugin."""


@dataclass(frozen=True, slots=True)
class NodeScores:
    """Scores nodes with the plugins of one profile."""

    framework: Framework
    verdict_cache: VerdictCache
    random: Random

    def select_host(self, state: CycleState, pod: PodInfo, node_indexes: Sequence[int]) -> int:
        """Return the index of a node with the highest score, a random one of several. Raises PluginError."""
        nodes = self._nodes_at(node_indexes)
        self.framework.run_pre_scores(state, pod, nodes)
        start = self.framework.now()
        totals = self._total_scores(state, pod, node_indexes, nodes)
        best = max(totals)
        ties = totals.count(best)
        self.framework.observe_extension_point(SCORE, Code.SUCCESS, start)
        chosen = self.random.generator.randrange(ties) if ties > 1 else 0
        return node_indexes[find_nth(totals, best, chosen, ties)]

    def score_nodes(self, state: CycleState, pod: PodInfo, node_indexes: Sequence[int]) -> NodePluginScores:
        """Return the scores of all plugins for all nodes, without the cache. Raises PluginError."""
        nodes = self._nodes_at(node_indexes)
        self.framework.run_pre_scores(state, pod, nodes)
        profile = self.framework.profile
        table: dict[str, dict[str, int]] = {node.name: {} for node in nodes}
        for plugin in profile.scores:
            if plugin.name in state.skip_score:
                continue
            scores = plugin.score_all(state, pod, nodes)
            plugin.normalize(state, pod, nodes, scores)
            for node, score in zip(nodes, scores, strict=True):
                table[node.name][plugin.name] = score * profile.weights[plugin.name]
        return table

    def _nodes_at(self, node_indexes: Sequence[int]) -> list[NodeInfo]:
        return select(self.framework.cache.all, node_indexes)

    def _total_scores(
        self, state: CycleState, pod: PodInfo, node_indexes: Sequence[int], nodes: Sequence[NodeInfo]
    ) -> list[int]:
        cached_scores = self.verdict_cache.scores(state, pod)
        cached_scores.refresh()
        totals = cached_scores.weighted_sums(self.framework, state, pod, node_indexes)
        for index, plugin in enumerate(cached_scores.normalized_plugins):
            raws = cached_scores.raw_scores(index, node_indexes)
            # Equal raw scores stay equal when normalized, so they cannot change which node is best.
            if any(raws) and min(raws) != max(raws):
                totals = self._add_normalized(state, pod, nodes, totals, plugin, raws)
        for plugin in cached_scores.uncached_plugins:
            raws = self._score_uncached(state, pod, nodes, plugin)
            totals = self._add_normalized(state, pod, nodes, totals, plugin, raws)
        self.framework.count_all(cached_scores.evaluations, len(nodes))
        return totals

    def _score_uncached(
        self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], plugin: ScorePlugin
    ) -> list[int]:
        start = self.framework.now() if state.record_plugin_metrics else 0.0
        scores = plugin.score_all(state, pod, nodes)
        if state.record_plugin_metrics:
            # The metric is per node, but `score_all` scores all nodes in one call.
            each = (self.framework.now() - start) / len(nodes)
            self.framework.observe_plugin(SCORE, plugin.name, Code.SUCCESS, each)
        return scores

    def _add_normalized(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: Sequence[NodeInfo],
        totals: list[int],
        plugin: ScorePlugin,
        raws: list[int],
    ) -> list[int]:
        plugin.normalize(state, pod, nodes, raws)
        if not 0 <= min(raws) <= max(raws) <= SCORE_MAX:
            wrong = next(raw for raw in raws if not 0 <= raw <= SCORE_MAX)
            # upstream's text, grammar included
            text = f"it should in the range of [0, {SCORE_MAX}] after normalizing"
            raise PluginError(
                "applying score defaultWeights on Score plugins: "
                f'plugin "{plugin.name}" returns an invalid score {wrong}, {text}'
            )
        weight = self.framework.profile.weights[plugin.name]
        return [total + weight * raw for total, raw in zip(totals, raws, strict=True)]


def find_nth(totals: list[int], best: int, number: int, ties: int) -> int:
    """Return the index of the nth of several equal values, counted from 0."""
    if ties == len(totals):
        return number
    start, stop = 0, len(totals)
    while number > _SEARCHES_MAX:
        middle = (start + stop) // 2
        before = totals[start:middle].count(best)
        if number < before:
            stop = middle
        else:
            start, number = middle, number - before
    index = totals.index(best, start)
    for _ in range(number):
        index = totals.index(best, index + 1)
    return index
