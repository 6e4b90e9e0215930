"""Explore the interleavings of a plan: search, then replay what was found for its minimal trace."""

from mockkube.explore.interleavings.forked_player import ForkedPlayer
from mockkube.explore.interleavings.minimal_trace import MinimalTrace, find_minimal_trace
from mockkube.explore.interleavings.plan import InterleavingPlan
from mockkube.explore.interleavings.schedule import Schedule
from mockkube.explore.interleavings.search import Progress, SearchBounds, SearchResult, search
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock


@dataclass(frozen=True, slots=True)
class InterleavingExploration:
    """Result of exploring one plan."""

    plan: InterleavingPlan
    bounds: SearchBounds
    search: SearchResult
    # One for each broken invariant.
    traces: tuple[MinimalTrace, ...]

    @property
    def unexpected(self) -> tuple[str, ...]:
        """Invariants that broke although the plan does not say so."""
        return tuple(name for name in self.search.breaks if name not in self.plan.expected_breaks)

    @property
    def missing(self) -> tuple[str, ...]:
        """Invariants that did not break although the plan says so."""
        return tuple(name for name in self.plan.expected_breaks if name not in self.search.breaks)

    @property
    def is_impossible(self) -> bool:
        """True if the plan has a schedule in which a worker is not ready in its turn."""
        return self.plan.schedule is not None and bool(self.search.impossible)

    @property
    def is_as_expected(self) -> bool:
        """True if exactly the invariants broke that the plan names, and no run ended with an error."""
        return not (self.unexpected or self.missing or self.search.errors or self.is_impossible)


def explore_interleavings(
    plan: InterleavingPlan, bounds: SearchBounds, clock: Clock, progress: Progress, *, processes: int
) -> InterleavingExploration:
    """Search the schedules of a plan; with a schedule of its own, play only that."""
    with ForkedPlayer(plan, processes) as player:
        result = search(plan, player, bounds, clock, progress)
        found = list(result.breaks.values())
        schedules: list[Schedule] = [played.schedule for played, _ in found]
        # The same schedule leads to the same run: each is played once more, with the fields that it writes.
        replayed = player.play_all(schedules, result.outcome, with_details=True)
    traces = (find_minimal_trace(again.played, broken) for (_, broken), again in zip(found, replayed, strict=True))
    return InterleavingExploration(plan, bounds, result, tuple(traces))
