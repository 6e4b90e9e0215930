"""Finding nodes a pod fits on: as many as are worth ranking, from where the last search ended.

upstream 1.36: pkg/scheduler/schedule_one.go
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from mockkube.scheduler.framework.interface import CycleState
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.runtime import FILTER, Points
from mockkube.scheduler.framework.status import SUCCESS, Code, Status
from mockkube.scheduler.verdict_cache import Filtered, Tables

FEASIBLE_MIN: Final = 100
"""So many nodes are looked for at least; below it the whole cluster is."""
_PERCENTAGE_MIN: Final = 5
_REFUSALS: Final = (Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING)


def wanted(percentage: int, nodes: int) -> int:
    """Return how many feasible nodes are enough; a percentage of 0 goes by the size of the cluster."""
    if nodes < FEASIBLE_MIN:
        return nodes
    percentage = percentage or max(50 - nodes // 125, _PERCENTAGE_MIN)
    return max(nodes * percentage // 100, FEASIBLE_MIN)


@dataclass(slots=True)
class Rotation:
    """Where the next search begins, so that all nodes get their turn."""

    start: int = 0

    def advance(self, nodes_seen: int, nodes: int) -> None:
        """Go on behind the nodes that were looked at."""
        self.start = (self.start + nodes_seen) % nodes


@dataclass(slots=True)
class Found:
    """The places of the nodes that fit; if there are none, what was said of those that were looked at."""

    slots: Sequence[int] = ()
    refused: dict[str, Status] = field(default_factory=dict)
    answers: set[tuple[str, Code]] = field(default_factory=set)
    """Which filters refused nodes, and how."""
    seen: int = 0
    """How many nodes were looked at."""
    reasons: Mapping[tuple[str, ...], int] | None = None
    """How many nodes are refused for which reasons, where that has been counted."""


class Search:
    """The search of one profile."""

    def __init__(self, points: Points, tables: Tables, percentage: int, rotation: Rotation) -> None:
        self._points, self._tables, self._percentage, self._rotation = points, tables, percentage, rotation
        self._filters = [plugin.name for plugin in points.profile.filters]
        self._logged = {
            (plugin.name, code): line for plugin in points.profile.filters for code, line in plugin.logged.items()
        }

    def one(self, state: CycleState, pod: PodInfo, name: str) -> Found:
        """Look at one node alone. Raises PluginFailed."""
        slot = self._points.picture.slot(name)
        return Found() if slot is None else self._walk(state, pod, [slot], 1)

    def some(self, state: CycleState, pod: PodInfo, names: Iterable[str] | None) -> Found:
        """Look for nodes, among all or those named. Raises PluginFailed."""
        picture = self._points.picture
        total = len(picture.all)
        if names is None:
            count = self._count(total)
            found = self._quick(state, pod, count, total)
            if found is None:
                found = self._walk(state, pod, self._rounds(range(total)), count)
        else:
            slots = sorted(slot for name in names if (slot := picture.slot(name)) is not None)
            found = self._walk(state, pod, self._rounds(slots), self._count(len(slots)))
        self._rotation.advance(found.seen, total)
        return found

    def _count(self, nodes: int) -> int:
        return wanted(self._percentage, nodes) if self._points.profile.scores else 1

    def _rounds(self, slots: Sequence[int]) -> Iterator[int]:
        start = self._rotation.start % len(slots) if slots else 0
        return chain(slots[start:], slots[:start])

    def _quick(self, state: CycleState, pod: PodInfo, count: int, total: int) -> Found | None:
        """Return the next nodes without looking at each, when it is known of all whether they fit."""
        start = self._points.now()
        table = self._table(state, pod)
        if not table.is_complete():
            return None
        first = self._rotation.start % total
        if table.none_fits():
            found = Found((), dict(table.refused), self._answers(table.refusals), total, dict(table.reasons))
            self._tally(state, table.refusals, total)
            self._log(table, None)
        elif table.all_fit():
            whole = range(first, min(first + count, total))
            found = Found(whole if len(whole) == count else [*whole, *range(count - len(whole))], seen=count)
            self._tally(state, {}, count)
            self._log(table, found.slots)
        else:
            stretch = table.next_fitting(first, count)
            found = Found(stretch.slots, seen=stretch.nodes)
            self._tally(state, stretch.refusals, stretch.nodes)
            self._log(table, [(first + step) % total for step in range(stretch.nodes)] if table.lines else ())
        self._points.measure(FILTER, Code.SUCCESS, start)
        return found

    def _walk(self, state: CycleState, pod: PodInfo, slots: Iterable[int], count: int) -> Found:
        start = self._points.now()
        table, points = self._table(state, pod), self._points
        nodes, entries, fits = points.picture.all, table.entries, table.fits
        live = [(place, plugin, points.judge(state, plugin, pod)) for place, plugin in table.live]
        nominations, crowded = points.nominations, bool(live and points.nominations)
        found: list[int] = []
        refused: dict[str, Status] = {}
        refusals: dict[tuple[int, Code], int] = {}
        for slot in slots:  # hot: per node, per pod
            if crowded and nodes[slot].name in nominations and points.yielded_to(pod, nodes[slot].name):
                verdict = table.judge_crowded(points, state, pod, slot)
            else:
                verdict = entries[slot] or table.judge(points, state, pod, slot)
                for place, plugin, judge in live:
                    if place > verdict[0]:
                        break
                    status = judge(nodes[slot])
                    if status is not SUCCESS and not (status := points.checked(plugin, status)).ok:
                        verdict = place, status
                        break
            if verdict is fits:
                found.append(slot)
                if len(found) >= count:
                    break
            else:
                place, status = verdict
                refused[nodes[slot].name] = status
                refusals[place, status.code] = refusals.get((place, status.code), 0) + 1
        seen = len(found) + len(refused)
        self._tally(state, refusals, seen)
        if table.lines:
            places = (points.picture.slot(name) for name in refused)
            self._log(table, [*found, *(place for place in places if place is not None)])
        points.measure(FILTER, Code.SUCCESS, start)
        return Found(found, refused, self._answers(refusals), seen)

    def _log(self, table: Filtered, slots: Sequence[int] | None) -> None:
        """Count what the filters log about the nodes at these places; None: about all nodes."""
        if table.lines:
            self._points.log.count_kept(table.lines, slots)

    def _answers(self, refusals: Mapping[tuple[int, Code], int]) -> set[tuple[str, Code]]:
        return {(self._filters[place], code) for (place, code), nodes in refusals.items() if nodes}

    def _table(self, state: CycleState, pod: PodInfo) -> Filtered:
        table = self._tables.filtered(state, pod)
        if self._points.nominations and not table.live:
            table = self._tables.filtered(state, pod, crowded=True)
        table.refresh(self._points, state, pod)
        return table

    def _tally(self, state: CycleState, refusals: Mapping[tuple[int, Code], int], seen: int) -> None:
        """Count what each filter answered: those behind one that refuses are not asked."""
        for place, name in enumerate(self._filters):
            if name in state.skip_filter or not seen:
                continue
            for code in _REFUSALS:
                if count := refusals.get((place, code), 0):
                    self._points.count(FILTER, name, code, count)
                    if (line := self._logged.get((name, code))) is not None:
                        self._points.log.count(line, count)
                    seen -= count
            if seen:
                self._points.count(FILTER, name, Code.SUCCESS, seen)
