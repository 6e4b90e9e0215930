"""Queue of perturbations that are still to be tried; several that do not touch may share one run."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mockkube.perturb.perturbation import Perturbation
from mockkube.perturb.planning.errors import READ_ERROR

# Findings of one cause after which other perturbations of the kind are tried first.
_ALIKE_MAX: Final = 2
# Failed reads of one step that may share a run: each delays the controller a little, and repairs nothing.
_READ_ERRORS_MAX: Final = 8
_NUMBER: Final = re.compile(r"\d+")


class PerturbationQueue:
    """Perturbations in the order in which they are tried: those whose like has not been found yet come first."""

    def __init__(self, planned: Iterable[Perturbation]) -> None:
        self._pending = list(planned)
        # Those that have to be tried by themselves.
        self._alone: dict[str, None] = {}
        self._findings: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._pending)

    def __iter__(self) -> Iterator[Perturbation]:
        return iter(self._pending)

    def take(self) -> Perturbation:
        """Remove and return the next perturbation."""
        fresh = (index for index, one in enumerate(self._pending) if not self.is_familiar(one))
        return self._pending.pop(next(fresh, 0))

    def take_together(self) -> Sequence[Perturbation]:
        """Remove and return the next perturbation, and others whose steps are after or before its own.

        A run is judged at the end of each step, so every one of them begins in the state of an undisturbed run.
        """
        taken = [self.take()]
        if taken[0].id in self._alone:
            return taken
        for one in tuple(self._pending):
            if one.id not in self._alone and not self.is_familiar(one) and _fits(one, taken):
                taken.append(one)
                self._pending.remove(one)
        return taken

    def put_back(self, perturbations: Iterable[Perturbation], *, alone: bool) -> None:
        """Try these next; `alone`: each in a run of its own."""
        returned = list(perturbations)
        self._pending[:0] = returned
        if alone:
            self._alone.update(dict.fromkeys(one.id for one in returned))

    def note_finding(self, perturbation: Perturbation) -> None:
        """Count a finding."""
        self._findings[_get_group(perturbation)] += 1

    def is_familiar(self, perturbation: Perturbation) -> bool:
        """Return whether perturbations alike have shown enough findings."""
        return self._findings[_get_group(perturbation)] >= _ALIKE_MAX


def _fits(perturbation: Perturbation, others: Sequence[Perturbation]) -> bool:
    overlapping = [one for one in others if set(one.steps) & set(perturbation.steps)]
    only_reads = all(one.kind == READ_ERROR for one in (perturbation, *overlapping))
    return not overlapping or (only_reads and len(overlapping) < _READ_ERRORS_MAX)


def _get_group(perturbation: Perturbation) -> str:
    """Return what perturbations have in common that probably show the same."""
    return _NUMBER.sub("", perturbation.id)
