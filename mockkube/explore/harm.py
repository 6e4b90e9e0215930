"""Harm of a move or an order, as counts."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, fields
from typing import Final

from mockkube.explore.plans.invariants import INVARIANT_OF_COUNT
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Harm:
    """Counts that add up along an order.

    In a move with a hot loop a workload counts once, no matter how many pods it loses.
    """

    # Pods evicted for a taint that they tolerate.
    evicted: int = 0
    # Pods that a kubelet rejected and would admit after its change.
    rejected: int = 0
    # Pods that the DaemonSet controller deleted and would keep after its change.
    removed: int = 0
    # Fields that disappeared.
    lost: int = 0
    # Moves with a hot loop.
    loops: int = 0
    # Objects whose controller failed at the end of a move because the API server rejects their pods.
    refused: int = 0
    # Pods that are pending at the end of a move and would get a node if all components had changed.
    stuck: int = 0
    # Replicas that are missing at the end of a move and would exist if all components had changed.
    missing: int = 0

    def __add__(self, other: "Harm") -> "Harm":
        return Harm(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def restrict_to(self, demanded: Collection[str]) -> "Harm":
        """Return the counts that belong to the given invariants."""
        return Harm(**{name: count for name, count in asdict(self).items() if INVARIANT_OF_COUNT[name] in demanded})

    @property
    def score(self) -> int:
        """One number to compare orders by."""
        return sum(getattr(self, name) * weight for name, weight in WEIGHTS.items())

    def nonzero_counts(self) -> Mapping[str, int]:
        """Return the counts that are not zero."""
        return {name: count for name, count in asdict(self).items() if count}

    def __str__(self) -> str:
        return ", ".join(f"{count} {name}" for name, count in self.nonzero_counts().items()) or "none"


NO_HARM: Final = Harm()
# Weight of one count in the score: a pod that stops running is worse than one that has to wait.
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
