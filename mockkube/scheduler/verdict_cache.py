"""What filters and scores said of each node about pods of one signature: kept until the node changes.

Only answers that follow from the pod and that one node are kept; the rest is asked in each cycle.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from typing import Final, Generic, TypeVar

from cachetools import LRUCache

from mockkube.scheduler.configuration.profiles import Profile
from mockkube.scheduler.framework.interface import CycleState, Scope, ScorePlugin
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.runtime import Points
from mockkube.scheduler.framework.status import SUCCESS, Code, Status
from mockkube.scheduler.log_buffer import Lines
from mockkube.scheduler.signatures import signature
from mockkube.scheduler.snapshot import Picture, tally

TABLES_MAX: Final = 64
"""How many signatures are remembered; the least recently used one is forgotten."""
_EAGER_MAX: Final = 64
"""How many nodes that are not known are judged at once; more wait until they are looked at."""
_UNKNOWN: Final = 0
_FITS: Final = 1
_REFUSED: Final = 2
_ONLY_FITTING: Final = bytes(mark == _FITS for mark in range(256))

T = TypeVar("T")
Verdict = tuple[int, Status]
"""The place of the filter that refuses, and what it says."""


class Rows(Generic[T]):
    """One entry per node, in the picture's order; None where it is not known, or not any more."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._structure = -1
        self._generation = 0
        self.entries: list[T | None] = []

    def refresh(self) -> list[tuple[int, T]] | None:
        """Forget what is known of nodes that have changed; return their places and that, or None: all is forgotten."""
        picture = self._picture
        if self._structure != picture.structure:
            self.entries = [None] * len(picture.all)
            self._structure, self._generation = picture.structure, picture.generation
            return None
        forgotten = self.forget(picture.changed_since(self._generation))
        self._generation = picture.generation
        return forgotten

    def forget(self, names: Iterable[str]) -> list[tuple[int, T]]:
        """Forget what is known of some nodes; return their places and that."""
        forgotten = []
        for name in names:
            slot = self._picture.slot(name)
            if slot is not None and (known := self.entries[slot]) is not None:
                self.entries[slot] = None
                forgotten.append((slot, known))
        return forgotten


@dataclass(frozen=True, slots=True)
class Stretch:
    """Nodes that lie side by side: the places of those that fit, and who refuses how many of the others."""

    slots: Sequence[int]
    refusals: Mapping[tuple[int, Code], int]
    nodes: int


class Filtered:
    """The verdicts of the filters that judge each node by itself; `crowded`: with the pods that are nominated to it."""

    def __init__(
        self, profile: Profile, pod: PodInfo, skipped: frozenset[str], picture: Picture, *, crowded: bool = False
    ) -> None:
        self._crowded = crowded
        self._nominated = 0
        """The generation of the nominations that are known."""
        self._own = ""
        """The node that the pod asked about last is nominated to itself: for others it is more crowded."""
        self._places = {plugin.name: place for place, plugin in enumerate(profile.filters)}
        asked = [(place, one) for place, one in enumerate(profile.filters) if one.name not in skipped]
        self._kept = [(place, one) for place, one in asked if one.scope_of(pod) is not Scope.CLUSTER]
        self.live = [(place, one) for place, one in asked if one.scope_of(pod) is Scope.CLUSTER]
        """The filters that are asked in each cycle."""
        self.fits: Verdict = (len(profile.filters), SUCCESS)
        self._rows: Rows[Verdict] = Rows(picture)
        self._unfit = 0
        """How many nodes do not fit, or are not known."""
        self._unknown: dict[int, None] = {}
        self.refused: dict[str, Status] = {}
        """What is said of each node that does not fit; of use when none does."""
        self.refusals: dict[tuple[int, Code], int] = {}
        """How many nodes each filter refuses, and how; of use when none fits."""
        self.reasons: dict[tuple[str, ...], int] = {}
        """How many nodes do not fit for which reasons; of use when none fits."""
        self.lines: dict[int, Lines] = {}
        """By place: what was logged when the node was judged."""
        self._marks = bytearray()
        """By place: whether the node fits, else who refuses it; `_UNKNOWN` where that is not known."""
        self._refusers: list[tuple[int, Code]] = []
        """Which filter refuses, and how, where the mark is `_REFUSED` and more."""

    @property
    def entries(self) -> Sequence[Verdict | None]:
        """What is known, by place; the nodes that fit, as far as it goes, have `fits` itself."""
        return self._rows.entries

    def refresh(self, points: Points, state: CycleState, pod: PodInfo) -> None:
        """Take note of what has changed since the last cycle."""
        forgotten = self._rows.refresh()
        crowded_anew = self._crowded_anew(points, pod) if self._crowded else ()
        if forgotten is None:
            self._unfit = len(self._rows.entries)
            self._unknown = dict.fromkeys(range(self._unfit))
            self._marks = bytearray(self._unfit)
            self.refused, self.refusals, self.reasons, self.lines = {}, {}, {}, {}
            return
        for slot, known in forgotten + self._rows.forget(crowded_anew):
            self._unknown[slot] = None
            self._marks[slot] = _UNKNOWN
            self.lines.pop(slot, None)
            if known is self.fits:
                self._unfit += 1
            else:
                self._count(known, -1)
        if len(self._unknown) <= _EAGER_MAX:
            for slot in list(self._unknown):
                self.judge(points, state, pod, slot)

    def _crowded_anew(self, points: Points, pod: PodInfo) -> Sequence[str]:
        """Return the nodes for which it is not the same pods any more that this one leaves room for."""
        nominations = points.nominations
        own = nominations.node_of(pod.uid)
        names = [*nominations.changed_since(self._nominated), self._own, own]
        self._nominated, self._own = nominations.generation, own
        return names

    def all_fit(self) -> bool:
        """Whether every node is known to fit, and nothing has to be asked in each cycle."""
        return not self._unfit and not self.live

    def none_fits(self) -> bool:
        """Whether every node is known not to fit, and nothing has to be asked in each cycle."""
        return self.is_complete() and self._unfit == len(self._rows.entries)

    def is_complete(self) -> bool:
        """Whether it is known of every node whether it fits, and nothing has to be asked in each cycle."""
        return not self._unknown and not self.live

    def next_fitting(self, start: int, count: int) -> Stretch:
        """Return the stretch of nodes, from a place on and once around, in which so many fit; all are known."""
        turned = self._marks[start:] + self._marks[:start]
        total = len(turned)
        steps = list(islice(compress(range(total), turned.translate(_ONLY_FITTING)), count))
        looked_at = turned[: steps[-1] + 1] if len(steps) == count else turned
        marked = ((refuser, looked_at.count(mark)) for mark, refuser in enumerate(self._refusers, _REFUSED))
        refusals = {refuser: nodes for refuser, nodes in marked if nodes}
        return Stretch([(start + step) % total for step in steps], refusals, len(looked_at))

    def judge(self, points: Points, state: CycleState, pod: PodInfo, slot: int) -> Verdict:
        """Find out what becomes of the pod on a node of which it is not known. Raises PluginFailed."""
        node, log = points.picture.all[slot], points.log
        if log.fresh:
            log.settle()
        if self._crowded and points.yielded_to(pod, node.name):
            verdict = self.judge_crowded(points, state, pod, slot)
        else:
            verdict = self._first_refusal(points, state, pod, node)
        if log.fresh:
            self.lines[slot] = log.take()
        if verdict is self.fits:
            self._unfit -= 1
            self._marks[slot] = _FITS
        else:
            self.refused[node.name] = verdict[1]
            self._count(verdict, 1)
            self._marks[slot] = self._mark_of(verdict[0], verdict[1].code)
        self._rows.entries[slot] = verdict
        del self._unknown[slot]
        return verdict

    def judge_crowded(self, points: Points, state: CycleState, pod: PodInfo, slot: int) -> Verdict:
        """Find out what becomes of the pod, all filters asked, where it leaves room for others. Raises PluginFailed."""
        status = points.filter_with_nominated(state, pod, points.picture.all[slot])
        return self.fits if status.ok else (self._places[status.plugin], status)

    def _count(self, refusal: Verdict, sign: int) -> None:
        place, status = refusal
        self.refusals[place, status.code] = self.refusals.get((place, status.code), 0) + sign
        tally(self.reasons, status.reasons, sign)

    def _mark_of(self, place: int, code: Code) -> int:
        refuser = (place, code)
        if refuser not in self._refusers:
            self._refusers.append(refuser)
        return self._refusers.index(refuser) + _REFUSED

    def _first_refusal(self, points: Points, state: CycleState, pod: PodInfo, node: NodeInfo) -> Verdict:
        for place, plugin in self._kept:
            status = points.ask(state, plugin, pod, node)
            if not status.ok:
                return place, status
        return self.fits


class Scored:
    """The raw scores of the plugins that rank each node by itself: weighted sums, and those to be normalised."""

    def __init__(self, profile: Profile, skipped: frozenset[str], picture: Picture) -> None:
        asked = [one for one in profile.scores if one.name not in skipped]
        kept = [one for one in asked if one.score_scope is not Scope.CLUSTER]
        self.live = [one for one in asked if one.score_scope is Scope.CLUSTER]
        self.relative = [one for one in kept if _normalizes(one)]
        self._absolute = [(one, profile.weights[one.name]) for one in kept if not _normalizes(one)]
        self._sums: Rows[int] = Rows(picture)
        self._raws: list[list[int]] = []
        self._lines: dict[int, Lines] = {}
        """By place: what was logged when the node was scored."""

    def refresh(self) -> None:
        """Take note of what has changed since the last cycle."""
        before = self._sums.entries
        for slot, _ in self._sums.refresh() or ():
            self._lines.pop(slot, None)
        if self._sums.entries is not before:
            self._lines = {}
            self._raws = [[0] * len(self._sums.entries) for _ in self.relative]

    def sums(self, points: Points, state: CycleState, pod: PodInfo, slots: Sequence[int]) -> list[int]:
        """Return the weighted sums of what needs no normalising, for the nodes at these places."""
        entries = self._sums.entries
        sums = [self._score(points, state, pod, slot) if (known := entries[slot]) is None else known for slot in slots]
        if self._lines:
            points.log.count_kept(self._lines, slots)
        return sums

    def raw(self, index: int, slots: Sequence[int]) -> list[int]:
        """Return the raw scores of a plugin whose scores are normalised; `sums` was asked before."""
        return _picked(self._raws[index], slots)

    def _score(self, points: Points, state: CycleState, pod: PodInfo, slot: int) -> int:
        node, log = points.picture.all[slot], points.log
        if log.fresh:
            log.settle()
        for raws, plugin in zip(self._raws, self.relative, strict=True):
            raws[slot] = plugin.score(state, pod, node)
        total = self._sums.entries[slot] = sum(
            weight * plugin.score(state, pod, node) for plugin, weight in self._absolute
        )
        if log.fresh:
            self._lines[slot] = log.take()
        return total


class Tables:
    """The tables of one profile, by signature; bounded."""

    def __init__(self, profile: Profile, picture: Picture) -> None:
        self._profile, self._picture = profile, picture
        self._filtered: LRUCache[object, Filtered] = LRUCache(TABLES_MAX)
        self._scored: LRUCache[object, Scored] = LRUCache(TABLES_MAX)

    def filtered(self, state: CycleState, pod: PodInfo, *, crowded: bool = False) -> Filtered:
        """Return the verdicts about pods like this one; `crowded`: of those as important, where others are awaited."""
        skipped = frozenset(state.skip_filter)
        key = (signature(pod), skipped, pod.priority if crowded else None)
        table = self._filtered.get(key)
        if table is None:
            table = self._filtered[key] = Filtered(self._profile, pod, skipped, self._picture, crowded=crowded)
        return table

    def scored(self, state: CycleState, pod: PodInfo) -> Scored:
        """Return the scores about pods like this one."""
        skipped = frozenset(state.skip_score)
        key = (signature(pod), skipped)
        table = self._scored.get(key)
        if table is None:
            table = self._scored[key] = Scored(self._profile, skipped, self._picture)
        return table


def _normalizes(plugin: ScorePlugin) -> bool:
    return type(plugin).normalize is not ScorePlugin.normalize


def _picked(entries: list[T], slots: Sequence[int]) -> list[T]:
    return entries[slots.start : slots.stop] if isinstance(slots, range) else [entries[slot] for slot in slots]
