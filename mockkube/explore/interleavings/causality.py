"""Causality of a run: which steps depend on each other, and which pairs could have happened the other way round.

Two steps depend on each other if one worker takes both, if one makes the other possible, or if one writes what the
other reads or writes. Runs that differ only in the order of independent steps are the same run (a Mazurkiewicz trace):
only one of them is played.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Final

from mockkube.explore.interleavings.accesses import NOBODY
from mockkube.explore.interleavings.schedule import PlayedStep
from mockkube.lazy_dataclasses import dataclass

_MASK: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Race:
    """Two steps whose order is not determined by what happened before: numbers in the run."""

    earlier: int
    later: int


class Causality:
    """Dependencies of the steps of one run, as bit sets of step numbers."""

    def __init__(self, steps: Sequence[PlayedStep]) -> None:
        self._steps = steps
        # Steps that each one depends on directly, and all that happened before it.
        self._dependencies: list[int] = []
        self._before: list[int] = []
        self._races: list[Race] = []
        for number in range(len(steps)):
            self._add(number)

    def _add(self, number: int) -> None:
        step, dependencies, before = self._steps[number], 0, 0
        enabler = find_enabler(self._steps, number)
        for earlier in range(number - 1, -1, -1):
            other, bit = self._steps[earlier], 1 << earlier
            is_own = other.worker == step.worker or earlier == enabler
            if not is_own and not step.accesses.conflicts_with(other.accesses):
                continue
            dependencies |= bit
            # A step in between that both depend on would have to move along: then the pair does not race.
            if not before & bit:
                if not is_own and self._can_precede(enabler, earlier):
                    self._races.append(Race(earlier, number))
                before |= bit | self._before[earlier]
        self._dependencies.append(dependencies)
        self._before.append(before)

    def _can_precede(self, enabler: int, earlier: int) -> bool:
        """Return whether a step can be taken before an earlier one: not if that led to its enabler."""
        return enabler == NOBODY or (enabler != earlier and not self._before[enabler] >> earlier & 1)

    @property
    def races(self) -> Sequence[Race]:
        """Pairs of dependent steps of different workers whose order can be reversed."""
        return self._races

    def reverse(self, race: Race) -> list[int]:
        """Return the steps of a run in which the later step of a race comes first, up to that step.

        Between the two, only what leads to the later step and does not depend on the earlier one is kept.
        """
        needed = self._before[race.later]
        between = range(race.earlier + 1, race.later)
        kept = [one for one in between if needed >> one & 1 and not self._before[one] >> race.earlier & 1]
        return [*range(race.earlier), *kept, race.later]

    @cached_property
    def identities(self) -> Sequence[int]:
        """Identity of each beginning of the run; the last one is that of the whole run."""
        return list(self._identify(range(len(self._steps))))

    @property
    def identity(self) -> int:
        """Number that equal runs share: independent steps may have another order in them."""
        return self.identities[-1] if self.identities else 0

    def identify(self, numbers: Iterable[int]) -> int:
        """Return a number that is equal for runs of these steps in an equivalent order."""
        return max(enumerate(self._identify(numbers)), default=(0, 0))[1]

    def _identify(self, numbers: Iterable[int]) -> Iterator[int]:
        """Yield the identity after each of these steps."""
        labels: dict[int, int] = {}
        counts: dict[str, int] = {}
        taken = total = 0
        for number in numbers:
            worker = self._steps[number].worker
            counts[worker] = counts.get(worker, 0) + 1
            # Steps on which it depends, and that come first in this order: labels of their own tell their past.
            depends_on = taken & (self._dependencies[number] | self._dependents[number])
            past = sum(labels[one] for one in _list_bits(depends_on)) & _MASK
            label = labels[number] = _hash(f"{worker} {counts[worker]} {past}")
            taken |= 1 << number
            total = (total + label) & _MASK
            yield total

    @cached_property
    def _dependents(self) -> Sequence[int]:
        dependents = [0] * len(self._steps)
        for number, dependencies in enumerate(self._dependencies):
            for one in _list_bits(dependencies):
                dependents[one] |= 1 << number
        return dependents


def _hash(text: str) -> int:
    """Return a number of 64 bits. Python's own hash is too linear: sums of such numbers collide."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


def find_enabler(steps: Sequence[PlayedStep], number: int) -> int:
    """Return the step that made another one possible; NOBODY if it was possible from the start.

    That is known from its queue or its event; else it is the step after which its worker was ready.
    """
    step = steps[number]
    if step.accesses.enabler != NOBODY:
        return step.accesses.enabler
    first = number
    while first and step.worker in steps[first - 1].ready and steps[first - 1].worker != step.worker:
        first -= 1
    return first - 1


def _list_bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
