"""Minimal trace of a race: the steps whose results led to the break, and what each of them had not seen yet."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mockkube.explore.interleavings.accesses import NOBODY
from mockkube.explore.interleavings.causality import find_enabler
from mockkube.explore.interleavings.invariants import SAME_OUTCOME
from mockkube.explore.interleavings.schedule import CLOCK, Break, PlayedSchedule, PlayedStep
from mockkube.lazy_dataclasses import dataclass

# Ends of the names of workers that only report.
_REPORTERS: Final = ("/events", "/leases", "/monitor")
_CACHE: Final = "/cache/"
_MONITORS: Final = "/every-kind/"


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One step of a minimal trace."""

    # Number of the step in the whole run.
    number: int
    step: PlayedStep
    # Objects that it read from caches and from the API server, in words.
    reads: tuple[str, ...]
    # Caches of its component that had events waiting.
    late: tuple[str, ...]

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
    """Return the steps that led to a break, of all steps of its run.

    A step led to another if it made that one possible, was the last to write what that one read, or is the part of a
    divided step before it.
    """
    steps = played.steps
    # The outcome is broken by no single step: all that wrote something have a part in it.
    if broken.invariant == SAME_OUTCOME:
        ends: Iterable[int] = [n for n, step in enumerate(steps) if step.writes and not _is_reporter(step)]
    else:
        ends = [min(broken.step, len(steps)) - 1]
    lines = (_make_line(number, steps[number]) for number in sorted(_find_causes(steps, ends)))
    return MinimalTrace(played, broken, tuple(lines))


def _find_causes(steps: Sequence[PlayedStep], ends: Iterable[int]) -> set[int]:
    causes: set[int] = set()
    waiting = list(ends)
    while waiting:
        number = waiting.pop()
        if number not in causes:
            causes.add(number)
            waiting += _list_direct_causes(steps, number)
    return {number for number in causes if steps[number].worker != CLOCK and not _is_reporter(steps[number])}


def _list_direct_causes(steps: Sequence[PlayedStep], number: int) -> Iterator[int]:
    if (enabler := find_enabler(steps, number)) != NOBODY:
        yield enabler
    if steps[number].continues:
        yield next(one for one in range(number - 1, -1, -1) if steps[one].worker == steps[number].worker)
    accesses = steps[number].accesses
    # The memory of a component is shared by all that it does: it would connect everything.
    wanted = {name for name in accesses.read if not name.startswith("memory ")}
    # A write to a stored object is a change of what it was.
    wanted |= {name for name in accesses.written if name.startswith("store ")}
    for earlier in range(number - 1, -1, -1):
        found = wanted & (steps[earlier].accesses.written | steps[earlier].accesses.touched)
        if found and not _is_reporter(steps[earlier]):
            yield earlier
            wanted -= found


def _is_reporter(step: PlayedStep) -> bool:
    return step.worker.endswith(_REPORTERS)


def _make_line(number: int, step: PlayedStep) -> TraceLine:
    return TraceLine(number, step, tuple(_list_reads(step)), tuple(_list_late_caches(step)))


def _list_reads(step: PlayedStep) -> Iterator[str]:
    """Yield the single objects that a step read, unless it is a delivery."""
    if _CACHE in step.worker:
        return
    for name in sorted(step.accesses.read):
        _, is_cached, cached = name.partition(_CACHE)
        kind, _, key = cached.partition(" ")
        # Names of indexes and of whole collections say little.
        if is_cached and "=" not in key and key != "*":
            yield f"cached {kind} {key}"
        elif name.startswith("store ") and "/" in name.rpartition(" ")[2]:
            yield name.removeprefix("store ")


def _list_late_caches(step: PlayedStep) -> Iterator[str]:
    """Yield the caches that had not seen everything when the step wrote something."""
    component = step.worker.partition("/")[0]
    if step.writes and _CACHE not in step.worker:
        watches = (f"{component}{_CACHE}", f"{component}{_MONITORS}")
        yield from (name for name in step.ready if name.startswith(watches))
