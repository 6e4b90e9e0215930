"""What went wrong in a step or an order, in numbers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Final


@dataclass(frozen=True, slots=True)
class Harm:
    """Counts; they add up along an order. In a step with a loop a workload counts once, however many pods it loses."""

    evicted: int = 0
    """Pods taken from their nodes for a taint."""
    rejected: int = 0
    """Pods that a kubelet refused."""
    removed: int = 0
    """Pods that a controller took away."""
    lost: int = 0
    """Fields that disappeared."""
    loops: int = 0
    """Steps in which pods were made over and over."""
    refused: int = 0
    """Objects that a controller still failed on at the end of a step, for a pod of theirs is refused."""
    stuck: int = 0
    """Pods that waited for a node at the end of a step."""
    missing: int = 0
    """Replicas that were not there at the end of a step."""

    def __add__(self, other: "Harm") -> "Harm":
        return Harm(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    @property
    def score(self) -> int:
        """One number to compare orders by."""
        return sum(getattr(self, name) * weight for name, weight in WEIGHTS.items())

    def counts(self) -> Mapping[str, int]:
        """Return the counts that are not zero."""
        return {name: count for name, count in asdict(self).items() if count}

    def __str__(self) -> str:
        return ", ".join(f"{count} {name}" for name, count in self.counts().items()) or "none"


NONE: Final = Harm()
WEIGHTS: Final[Mapping[str, int]] = {
    "evicted": 10,
    "rejected": 10,
    "removed": 10,
    "lost": 20,
    "loops": 50,
    "refused": 1,
    "stuck": 3,
    "missing": 3,
}
"""What one of each adds to the score: a pod that stops running is worse than one that has to wait."""
