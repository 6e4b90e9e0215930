"""Verdict cache: filter verdicts and scores of each node for pods of one signature, valid until the node changes.

It is an equivalence cache: only results that depend on the pod and that one node are cached; plugins of scope CLUSTER
run in each cycle. A verdict here is the index of the filter that rejects the node, with its status.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress, islice
from operator import itemgetter
from typing import Final, Generic, TypeVar, cast, overload

from cachetools import LRUCache

from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.cache import Cache, adjust_count
from mockkube.scheduler.framework.interface import CacheScope, CycleState, ScorePlugin
from mockkube.scheduler.framework.log_buffer import Lines
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.signatures import sign_pod
from mockkube.scheduler.framework.status import SUCCESS, Code, Status
from mockkube.scheduler.profile.framework import FILTER, SCORE, Framework
from mockkube.scheduler.profile.profiles import Profile

# Signatures in the cache; the least recently used one is dropped.
SIGNATURES_MAX: Final = 64
# Up to so many nodes without a verdict are evaluated on refresh; more are evaluated when a search reaches them.
_EAGER_MAX: Final = 64
_UNKNOWN: Final = 0
_FITS: Final = 1
_REJECTED: Final = 2
_ONLY_FITTING: Final = bytes(mark == _FITS for mark in range(256))

T = TypeVar("T")
Verdict = tuple[int, Status]
"""Index of the filter that rejects the node, and its status."""


class NodeTable(Generic[T]):
    """One cached value per node, in the cache's order; None where it is unknown or outdated."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._structure = -1
        self._generation = 0
        self.entries: list[T | None] = []

    def refresh(self) -> list[tuple[int, T]] | None:
        """Drop the values of changed nodes; return them with their indexes, or None if all were dropped."""
        cache = self._cache
        # Values are kept by index in the list of nodes, so none can be kept when the list changes.
        if self._structure != cache.structure_generation:
            self.entries = [None] * len(cache.all)
            self._structure, self._generation = cache.structure_generation, cache.generation
            return None
        dropped = self.drop(cache.load_changed_since(self._generation))
        self._generation = cache.generation
        return dropped

    def drop(self, names: Iterable[str]) -> list[tuple[int, T]]:
        """Drop the values of some nodes; return them with their indexes."""
        dropped = []
        for name in names:
            node_index = self._cache.index_of(name)
            if node_index is not None and (known := self.entries[node_index]) is not None:
                self.entries[node_index] = None
                dropped.append((node_index, known))
        return dropped


class NodeWindow(Sequence[int]):
    """Indexes of consecutive nodes, once around the list of all; quickly looked up and sliced."""

    __slots__ = ("_head", "_tail")

    def __init__(self, start: int, count: int, total: int) -> None:
        self._head = range(start, min(start + count, total))
        self._tail = range(count - len(self._head))

    def __len__(self) -> int:
        return len(self._head) + len(self._tail)

    @overload
    def __getitem__(self, at: int) -> int: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...

    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        if isinstance(at, slice):
            return list(self)[at]
        size = len(self._head)
        place = at if at >= 0 else at + len(self)
        return self._head[place] if 0 <= place < size else self._tail[place - size]

    def __iter__(self) -> Iterator[int]:
        return chain(self._head, self._tail)

    def __contains__(self, index: object) -> bool:
        return index in self._head or index in self._tail

    def select(self, entries: Sequence[T]) -> list[T]:
        """Return the entries at the indexes."""
        head, tail = self._head, self._tail
        selected = list(entries[head.start : head.stop])
        return selected + list(entries[: tail.stop]) if tail else selected


@dataclass(frozen=True, slots=True)
class FittingNodes:
    """Result of a search from one node on: indexes of feasible nodes, rejections by filter and code, nodes passed."""

    node_indexes: Sequence[int]
    rejection_counts: Mapping[tuple[int, Code], int]
    evaluated: int


class FilterVerdicts:
    """Verdicts of the filters of scope NODE and LOAD, optionally with nominated pods added to their nodes."""

    def __init__(
        self,
        profile: Profile,
        pod: PodInfo,
        skipped: frozenset[str],
        cache: Cache,
        *,
        with_nominated: bool = False,
    ) -> None:
        self._with_nominated = with_nominated
        # Generation of the nominator up to which verdicts are valid.
        self._nominator_generation = 0
        # Node that the pod of the last cycle is nominated to: a pod ignores its own nomination, other pods do not.
        self._last_nominated_node = ""
        self._filter_indexes = {plugin.name: filter_index for filter_index, plugin in enumerate(profile.filters)}
        active = [(filter_index, one) for filter_index, one in enumerate(profile.filters) if one.name not in skipped]
        self._cached_filters = [
            (filter_index, one) for filter_index, one in active if one.scope_for(pod) is not CacheScope.CLUSTER
        ]
        # Labels with which filters are counted that let a node pass.
        self.passes = [(one.name, FILTER, profile.name, Code.SUCCESS) for _, one in active]
        # Filters that run in each cycle.
        self.uncached_filters = [
            (filter_index, one) for filter_index, one in active if one.scope_for(pod) is CacheScope.CLUSTER
        ]
        self.fits: Verdict = (len(profile.filters), SUCCESS)
        self._table: NodeTable[Verdict] = NodeTable(cache)
        # Number of nodes that are rejected or unknown.
        self._not_fitting = 0
        self._unknown: dict[int, None] = {}
        # Status of each rejected node; may hold outdated entries unless all nodes are rejected.
        self.node_to_status: dict[str, Status] = {}
        # Number of nodes by rejecting filter and code; used when no node fits.
        self.rejection_counts: dict[tuple[int, Code], int] = {}
        # Number of nodes by reasons, updated with each verdict: counting 5,000 nodes for each message took 0.35 ms.
        self.reason_counts: dict[tuple[str, ...], int] = {}
        # What was logged when the node was evaluated, by the index of the node.
        self.log_lines: dict[int, Lines] = {}
        # One byte per node: unknown, fits, or the number of its rejector. Searching bytes needs no Python loop.
        self._marks = bytearray()
        # Rejecting filters with their codes; the mark of the first is `_REJECTED`.
        self._rejectors: list[tuple[int, Code]] = []

    @property
    def entries(self) -> Sequence[Verdict | None]:
        """Verdicts by node index; feasible nodes have the object `fits` itself."""
        return self._table.entries

    def refresh(self, framework: Framework, state: CycleState, pod: PodInfo) -> None:
        """Drop verdicts that changed since the last cycle, and evaluate these nodes if they are few."""
        dropped = self._table.refresh()
        renominated = self._nodes_with_changed_nominations(framework, pod) if self._with_nominated else ()
        if dropped is None:
            self._not_fitting = len(self._table.entries)
            self._unknown = dict.fromkeys(range(self._not_fitting))
            self._marks = bytearray(self._not_fitting)
            self.node_to_status, self.rejection_counts, self.reason_counts, self.log_lines = {}, {}, {}, {}
            return
        for node_index, known in dropped + self._table.drop(renominated):
            self._unknown[node_index] = None
            self._marks[node_index] = _UNKNOWN
            self.log_lines.pop(node_index, None)
            if known is self.fits:
                self._not_fitting += 1
            else:
                self._count_rejection(known, -1)
        if len(self._unknown) <= _EAGER_MAX:
            for node_index in list(self._unknown):
                self.evaluate(framework, state, pod, node_index)

    def _nodes_with_changed_nominations(self, framework: Framework, pod: PodInfo) -> Sequence[str]:
        """Return the nodes whose nominated pods are not the same any more for this pod."""
        nominator = framework.nominator
        own = nominator.nominated_node_of(pod.uid)
        names = [*nominator.changed_since(self._nominator_generation), self._last_nominated_node, own]
        self._nominator_generation, self._last_nominated_node = nominator.generation, own
        return names

    def all_fit(self) -> bool:
        """Return whether all nodes are known to fit and no filter has to run."""
        return not self._not_fitting and not self.uncached_filters

    def none_fits(self) -> bool:
        """Return whether all nodes are known not to fit and no filter has to run."""
        return self.is_complete() and self._not_fitting == len(self._table.entries)

    def is_complete(self) -> bool:
        """Return whether the verdict of every node is known and no filter has to run."""
        return not self._unknown and not self.uncached_filters

    def find_next_fitting(self, start: int, count: int) -> FittingNodes:
        """Return the next feasible nodes from an index on, once around; all verdicts must be known."""
        rotated = self._marks[start:] + self._marks[:start]
        total = len(rotated)
        steps = list(islice(compress(range(total), rotated.translate(_ONLY_FITTING)), count))
        passed = rotated[: steps[-1] + 1] if len(steps) == count else rotated
        marked = ((rejector, passed.count(mark)) for mark, rejector in enumerate(self._rejectors, _REJECTED))
        rejections = {rejector: nodes for rejector, nodes in marked if nodes}
        return FittingNodes([(start + step) % total for step in steps], rejections, len(passed))

    def evaluate(self, framework: Framework, state: CycleState, pod: PodInfo, node_index: int) -> Verdict:
        """Evaluate a node without a verdict. Raises PluginError."""
        node, log = framework.cache.all[node_index], framework.log
        if log.fresh:
            # Lines of other plugins must not be cached with this verdict, so they are counted first.
            log.count_fresh()
        if self._with_nominated and framework.nominated_pods_to_respect(pod, node.name):
            verdict = self.evaluate_with_nominated(framework, state, pod, node_index)
        else:
            verdict = self._find_rejection(framework, state, pod, node)
        if log.fresh:
            self.log_lines[node_index] = log.take_fresh()
        if verdict is self.fits:
            self._not_fitting -= 1
            self._marks[node_index] = _FITS
        else:
            self.node_to_status[node.name] = verdict[1]
            self._count_rejection(verdict, 1)
            self._marks[node_index] = self._mark_for(verdict[0], verdict[1].code)
        self._table.entries[node_index] = verdict
        del self._unknown[node_index]
        return verdict

    def evaluate_with_nominated(
        self, framework: Framework, state: CycleState, pod: PodInfo, node_index: int
    ) -> Verdict:
        """Run all filters on a node with the pods nominated to it. Raises PluginError."""
        status = framework.run_filters_with_nominated_pods(state, pod, framework.cache.all[node_index])
        return self.fits if status.is_success else (self._filter_indexes[status.plugin], status)

    def _count_rejection(self, verdict: Verdict, sign: int) -> None:
        filter_index, status = verdict
        self.rejection_counts[filter_index, status.code] = (
            self.rejection_counts.get((filter_index, status.code), 0) + sign
        )
        adjust_count(self.reason_counts, status.reasons, sign)

    def _mark_for(self, filter_index: int, code: Code) -> int:
        rejector = (filter_index, code)
        if rejector not in self._rejectors:
            self._rejectors.append(rejector)
        return self._rejectors.index(rejector) + _REJECTED

    def _find_rejection(self, framework: Framework, state: CycleState, pod: PodInfo, node: NodeInfo) -> Verdict:
        for filter_index, plugin in self._cached_filters:
            status = framework.run_filter(state, plugin, pod, node)
            if status is not SUCCESS and not status.is_success:
                return filter_index, status
        return self.fits


class CachedScores:
    """Raw scores of plugins of scope NODE and LOAD: weighted sums, and those that have to be normalized."""

    def __init__(self, profile: Profile, skipped: frozenset[str], cache: Cache) -> None:
        active = [one for one in profile.scores if one.name not in skipped]
        # Labels with which the scores are counted.
        self.evaluations = [(one.name, SCORE, profile.name, Code.SUCCESS) for one in active]
        cached = [one for one in active if one.score_scope is not CacheScope.CLUSTER]
        self.uncached_plugins = [one for one in active if one.score_scope is CacheScope.CLUSTER]
        self.normalized_plugins = [one for one in cached if _normalizes(one)]
        # Scores that are not normalized do not depend on the other nodes, so their weighted sum can be cached as one
        # number.
        self._weighted_plugins = [(one, profile.weights[one.name]) for one in cached if not _normalizes(one)]
        self._weighted_sums: NodeTable[int] = NodeTable(cache)
        self._raw_scores: list[list[int]] = []
        # Indexes of the nodes without a sum.
        self._missing: set[int] = set()
        # What was logged when the node was scored, by the index of the node.
        self._lines: dict[int, Lines] = {}

    def refresh(self) -> None:
        """Drop the scores of nodes that changed since the last cycle."""
        before = self._weighted_sums.entries
        for node_index, _ in self._weighted_sums.refresh() or ():
            self._lines.pop(node_index, None)
            self._missing.add(node_index)
        if self._weighted_sums.entries is not before:
            total = len(self._weighted_sums.entries)
            self._lines, self._missing = {}, set(range(total))
            self._raw_scores = [[0] * total for _ in self.normalized_plugins]

    def weighted_sums(
        self, framework: Framework, state: CycleState, pod: PodInfo, node_indexes: Sequence[int]
    ) -> list[int]:
        """Return the weighted sums of scores that need no normalizing, for some nodes."""
        for node_index in self._find_missing(node_indexes):
            self._weighted_sums.entries[node_index] = self._score_node(framework, state, pod, node_index)
            self._missing.discard(node_index)
        if self._lines:
            framework.log.count_cached(self._lines, node_indexes)
        return cast("list[int]", select(self._weighted_sums.entries, node_indexes))

    def _find_missing(self, node_indexes: Sequence[int]) -> list[int]:
        missing = self._missing
        # A cycle changes one node, and most others are looked up without a loop over them.
        if node_indexes.__class__ is NodeWindow and len(missing) < len(node_indexes):
            return sorted(node_index for node_index in missing if node_index in node_indexes)
        return [node_index for node_index in node_indexes if node_index in missing] if missing else []

    def raw_scores(self, index: int, node_indexes: Sequence[int]) -> list[int]:
        """Return the raw scores of a plugin that normalizes; valid after `weighted_sums` for the same nodes."""
        return select(self._raw_scores[index], node_indexes)

    def _score_node(self, framework: Framework, state: CycleState, pod: PodInfo, node_index: int) -> int:
        node, log = framework.cache.all[node_index], framework.log
        if log.fresh:
            log.count_fresh()
        for raws, plugin in zip(self._raw_scores, self.normalized_plugins, strict=True):
            raws[node_index] = plugin.score(state, pod, node)
        total = 0
        for plugin, weight in self._weighted_plugins:
            total += weight * plugin.score(state, pod, node)
        if log.fresh:
            self._lines[node_index] = log.take_fresh()
        return total


class VerdictCache:
    """Cached verdicts and scores of one profile, by pod signature; bounded."""

    def __init__(self, profile: Profile, cache: Cache) -> None:
        self._profile, self._cache = profile, cache
        self._filter_verdicts: LRUCache[object, FilterVerdicts] = LRUCache(SIGNATURES_MAX)
        self._scores: LRUCache[object, CachedScores] = LRUCache(SIGNATURES_MAX)

    def filter_verdicts(self, state: CycleState, pod: PodInfo, *, with_nominated: bool = False) -> FilterVerdicts:
        """Return the verdicts for pods like this one, optionally with nominated pods added to their nodes."""
        skipped = frozenset(state.skip_filter)
        # PreFilter may skip a filter for one pod and not for another of the same signature. With nominated pods the
        # priority decides which of them count.
        key = (sign_pod(pod), skipped, pod.priority if with_nominated else None)
        try:  # not `get`, which looks twice
            return self._filter_verdicts[key]
        except KeyError:
            made = FilterVerdicts(self._profile, pod, skipped, self._cache, with_nominated=with_nominated)
            self._filter_verdicts[key] = made
            return made

    def scores(self, state: CycleState, pod: PodInfo) -> CachedScores:
        """Return the scores for pods like this one."""
        skipped = frozenset(state.skip_score)
        key = (sign_pod(pod), skipped)
        try:
            return self._scores[key]
        except KeyError:
            made = self._scores[key] = CachedScores(self._profile, skipped, self._cache)
            return made


def _normalizes(plugin: ScorePlugin) -> bool:
    return type(plugin).normalize is not ScorePlugin.normalize


def select(entries: Sequence[T], node_indexes: Sequence[int]) -> list[T]:  # hot: several times per pod
    """Return the entries at some indexes."""
    # Not `isinstance`, which is slow for a class with an abstract base.
    if node_indexes.__class__ is NodeWindow:
        return node_indexes.select(entries)
    return list(itemgetter(*node_indexes)(entries)) if len(node_indexes) > 1 else [entries[one] for one in node_indexes]
