"""What went wrong in a step or an order, in numbers."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Final

from mockkube.scenario.explore.invariants import OF_COUNTS


@dataclass(frozen=True, slots=True)
class Harm:
    """Counts; they add up along an order. In a step with a loop a workload counts once, however many pods it loses."""

    evicted: int = 0
    """Pods evicted for a taint that they tolerate."""
    rejected: int = 0
    """Pods that a kubelet rejected and would admit if it had changed."""
    removed: int = 0
    """Pods that the DaemonSet controller removed and would keep if it had changed."""
    lost: int = 0
    """Fields that disappeared."""
    loops: int = 0
    """Steps in which pods were made over and over."""
    refused: int = 0
    """Objects whose controller failed at the end of a step because the API server refuses their pods."""
    stuck: int = 0
    """Pods that waited at the end of a step for a node that they would get if all had changed."""
    missing: int = 0
    """Replicas that were not there at the end of a step and would be if all had changed."""

    def __add__(self, other: "Harm") -> "Harm":
        return Harm(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def only(self, demanded: Collection[str]) -> "Harm":
        """Return the counts that belong to the invariants that are asked for."""
        return Harm(**{name: count for name, count in asdict(self).items() if OF_COUNTS[name] in demanded})

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
