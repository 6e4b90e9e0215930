"""Minimal trace of a race: the steps that led to the break, without those that have nothing to do with it."""

from collections.abc import Iterable, Sequence

from mockkube.explore.interleavings.causality import Causality
from mockkube.explore.interleavings.invariants import SAME_OUTCOME
from mockkube.explore.interleavings.schedule import CLOCK, OPERATOR, Break, PlayedSchedule, PlayedStep
from mockkube.lazy_dataclasses import dataclass

# Ends of the names of workers that only report.
_REPORTERS = ("/events", "/leases", "/monitor")


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One step of a minimal trace."""

    # Number of the step in the whole run.
    number: int
    step: PlayedStep
    # Objects that it read from caches and from the API server, in words.
    reads: tuple[str, ...]

    @property
    def component(self) -> str:
        """Component of the worker."""
        return self.step.worker.partition("/")[0]


@dataclass(frozen=True, slots=True)
class MinimalTrace:
    """A break, and the steps that led to it."""

    played: PlayedSchedule
    broken: Break
    lines: tuple[TraceLine, ...]


def find_minimal_trace(played: PlayedSchedule, broken: Break) -> MinimalTrace:
    """Return the steps that happened before the break, of all steps of its run."""
    steps = played.steps
    if broken.invariant == SAME_OUTCOME:
        # No step breaks it: what wrote something is shown, as each of these steps has a part in the outcome.
        ends = [number for number, step in enumerate(steps) if step.writes and not _is_reporter(step)]
    else:
        ends = [broken.step - 1]
    numbers = _list_causes(Causality(steps), steps, ends)
    lines = (TraceLine(number, steps[number], _list_reads(steps[number])) for number in numbers)
    return MinimalTrace(played, broken, tuple(lines))


def _list_causes(causality: Causality, steps: Sequence[PlayedStep], ends: Iterable[int]) -> list[int]:
    causes = {number for end in ends for number in (end, *causality.happened_before(end))}
    return sorted(number for number in causes if not _is_reporter(steps[number]) and steps[number].worker != CLOCK)


def _is_reporter(step: PlayedStep) -> bool:
    return step.worker.endswith(_REPORTERS)


def _list_reads(step: PlayedStep) -> tuple[str, ...]:
    """Return the single objects that a step read, unless it is a delivery."""
    if "/cache/" in step.worker or step.worker == OPERATOR:
        return ()
    cached = sorted(_name_cached(name) for name in step.accesses.read if "/cache/" in name)
    stored = sorted(name.removeprefix("store ") for name in step.accesses.read if name.startswith("store "))
    return tuple(dict.fromkeys(one for one in (*cached, *stored) if one and not one.endswith("*")))


def _name_cached(name: str) -> str:
    """Return `cached KIND KEY` for an object of a cache; nothing for an index."""
    kind, _, rest = name.partition("/cache/")[2].partition(" ")
    return "" if "=" in rest or rest == "*" else f"cached {kind} {rest}"
