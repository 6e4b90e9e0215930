"""Search over schedules: change one thing at a time, the default schedule first, equal runs once.

The default schedule is played first. For each pair of steps in it that race, a schedule is tried in which the later
step comes first; for each delivery of a watch, one in which this watch is late from there on; and so on with the races
and deliveries of those. The search is breadth first, so that a break is found with the fewest changes to the default
order. Runs in which only independent steps have another order are the same run, and are played once (dynamic
partial-order reduction).
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Final, Protocol

from mockkube.explore.interleavings.causality import Causality, Race
from mockkube.explore.interleavings.invariants import Outcome
from mockkube.explore.interleavings.plan import InterleavingPlan
from mockkube.explore.interleavings.schedule import (
    CLOCK,
    DEFAULT_SCHEDULE,
    OPERATOR,
    Break,
    Delay,
    PlayedSchedule,
    Schedule,
)
from mockkube.explore.interleavings.schedule_player import PlayedWindow
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock

DEPTH: Final = 2
SECONDS: Final = 60.0
# Schedules that are chosen before their results are known; the same for any number of processes, so that the search is.
_BATCH: Final = 16
_CACHE: Final = "/cache/"
_MONITORS: Final = "/every-kind/"


def _is_delivery(worker: str) -> bool:
    return _CACHE in worker or _MONITORS in worker


class Player(Protocol):
    """Plays schedules from the start of the window."""

    def play_all(
        self, schedules: Sequence[Schedule], usual: Outcome | None = None, *, with_details: bool = False
    ) -> list[PlayedWindow]:
        """Return the result of each schedule, in order."""
        ...


@dataclass(frozen=True, slots=True)
class SearchBounds:
    """Limits of a search."""

    # Most changes to the default order in one schedule.
    depth: int = DEPTH
    seconds: float = SECONDS
    # Whether equal runs are played once; without, every other order of two neighboring steps is tried.
    reduces: bool = True


@dataclass(slots=True)
class SearchResult:
    """Result of a search."""

    # The first schedule that breaks each invariant, which has the fewest changes.
    breaks: dict[str, tuple[PlayedSchedule, Break]] = field(default_factory=dict)
    errors: list[PlayedSchedule] = field(default_factory=list)
    default: PlayedSchedule | None = None
    outcome: Outcome = field(default_factory=dict)
    # Number of schedules that were played; of those, in how many a worker was not ready in its turn, and how many
    # differed only in the order of independent steps from an earlier one.
    played: int = 0
    impossible: int = 0
    equal: int = 0
    # Schedules that differ from the default one in one change.
    first_changes: int = 0
    # Number of schedules that were played with so many changes.
    by_changes: dict[int, int] = field(default_factory=dict)
    # Schedules that were found, but not played: for lack of time, or because every invariant is broken.
    left: int = 0
    seconds: float = 0.0

    @property
    def is_complete(self) -> bool:
        """True if all schedules up to the depth were played."""
        return not self.left


Progress = Callable[[SearchResult, int], None]


def _report_nothing(result: SearchResult, waiting: int) -> None:
    pass


def search(
    plan: InterleavingPlan, player: Player, bounds: SearchBounds, clock: Clock, progress: Progress = _report_nothing
) -> SearchResult:
    """Play schedules until all up to the depth are played, or time is up."""
    return _Search(plan, player, bounds, clock, progress).run()


class _Search:
    def __init__(
        self, plan: InterleavingPlan, player: Player, bounds: SearchBounds, clock: Clock, progress: Progress
    ) -> None:
        self._plan, self._player, self._bounds = plan, player, bounds
        self._clock, self._progress = clock, progress
        self._result = SearchResult()
        self._waiting: deque[Schedule] = deque()
        # Identities of the beginnings of schedules that were chosen, and of runs that were played.
        self._chosen: set[tuple[int, Delay | None]] = set()
        self._known_runs: set[int] = set()

    def run(self) -> SearchResult:
        result, began = self._result, self._clock.monotonic()
        [default] = self._player.play_all([DEFAULT_SCHEDULE])
        result.default, result.outcome = default.played, default.outcome
        self._take(default.played)
        if self._plan.schedule is not None:
            self._waiting = deque([self._plan.schedule])
        result.first_changes = len(self._waiting)
        # Once every invariant is broken there is nothing left to find.
        while self._waiting and not result.breaks.keys() >= set(self._plan.invariants):
            if self._clock.monotonic() - began >= self._bounds.seconds:
                break
            batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
            for one in self._player.play_all(batch, result.outcome):
                self._take(one.played)
            self._progress(result, len(self._waiting))
        result.left = len(self._waiting)
        result.seconds = self._clock.monotonic() - began
        return result

    def _take(self, played: PlayedSchedule) -> None:
        """Take in the result of a schedule, and choose further ones because of it."""
        result, schedule = self._result, played.schedule
        result.played += 1
        number = len(schedule.changes)
        result.by_changes[number] = result.by_changes.get(number, 0) + 1
        if not played.is_possible:
            result.impossible += 1
            return
        if played.error:
            result.errors.append(played)
        for one in played.breaks:
            result.breaks.setdefault(one.invariant, (played, one))
        if not self._bounds.reduces:
            self._choose_neighbors(played)
            return
        causality = Causality(played.steps)
        if causality.identity in self._known_runs:
            result.equal += 1
            return
        self._known_runs.add(causality.identity)
        # To begin like this run and go on in the default order is this run.
        if schedule.delay is None:
            self._chosen.update((identity, None) for identity in causality.identities[len(schedule.workers) :])
        # What follows a break is no further race, but its consequence.
        is_searched = self._plan.schedule is None
        if is_searched and not played.breaks and not played.error and len(schedule.changes) < self._bounds.depth:
            for race in causality.races:
                self._choose_reversal(played, causality, race)
            for number in range(len(schedule.workers), len(played.steps)):
                self._choose_delays(played, causality, number)

    def _choose_reversal(self, played: PlayedSchedule, causality: Causality, race: Race) -> None:
        """Choose the schedule in which the later step of a race comes first."""
        earlier, later = (played.steps[number].worker for number in (race.earlier, race.later))
        if CLOCK not in (earlier, later) and (self._may_reorder(earlier) or self._may_reorder(later)):
            first, last = (played.steps[number].describe() for number in (race.later, race.earlier))
            self._choose(played, causality, causality.reverse(race), None, f"{first} comes before {last}")

    def _choose_delays(self, played: PlayedSchedule, causality: Causality, number: int) -> None:
        """Choose the schedules in which a watch is late from a delivery on.

        Each of them reverses many races at once, as a slow connection does.
        """
        worker = played.steps[number].worker
        if _is_delivery(worker) and self._may_reorder(worker):
            for seconds in dict.fromkeys((0.0, self._plan.late_seconds)):
                delay = Delay(worker, seconds)
                change = f"{delay}, from {played.steps[number].subject or 'here'} on"
                self._choose(played, causality, range(number), delay, change)

    def _choose(
        self, played: PlayedSchedule, causality: Causality, numbers: Sequence[int], delay: Delay | None, change: str
    ) -> None:
        """Choose a schedule that begins with these steps, unless an equal one was chosen."""
        identity = causality.identify(numbers)
        if (identity, delay) in self._chosen:
            return
        self._chosen.add((identity, delay))
        workers = tuple(played.steps[number].worker for number in numbers)
        changes = (*played.schedule.changes, change)
        self._waiting.append(Schedule(workers, delay or played.schedule.delay, changes))

    def _may_reorder(self, worker: str) -> bool:
        return worker == OPERATOR or not self._plan.reordered or worker.startswith(self._plan.reordered)

    def _choose_neighbors(self, played: PlayedSchedule) -> None:
        """Choose every schedule that differs in one step from this one after its own beginning."""
        if played.breaks or played.error or len(played.schedule.changes) >= self._bounds.depth:
            return
        taken = [step.worker for step in played.steps]
        for number in range(len(played.schedule.workers), len(taken)):
            for worker in played.steps[number].ready:
                if worker not in (taken[number], CLOCK):
                    workers = (*taken[:number], worker)
                    change = f"{worker} comes before {taken[number]}"
                    self._waiting.append(Schedule(workers, None, (*played.schedule.changes, change)))
