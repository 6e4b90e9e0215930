"""Disruption policy of a node group: which nodes consolidation may remove, after how long, and how many at a time.

karpenter 1.15: pkg/apis/v1/nodepool.go
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import Final, Self

from mockkube_cel.golang.gotime import parse_duration

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.controllers.cronjob.schedule import Schedule, parse_schedule
from mockkube.lazy_dataclasses import dataclass

NEVER: Final = "Never"
WHEN_EMPTY: Final = "WhenEmpty"
WHEN_UNDERUTILIZED: Final = "WhenEmptyOrUnderutilized"
EMPTY: Final = "Empty"
UNDERUTILIZED: Final = "Underutilized"
_DEFAULT_NODES: Final = "10%"


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """Nodes of a group that may be disrupted at a time: always, or for a while after each time of a schedule."""

    nodes: str = _DEFAULT_NODES
    reasons: Sequence[str] = ()
    schedule: Schedule | None = None
    duration: timedelta = timedelta()

    def is_active(self, now: datetime) -> bool:
        """Return whether the budget applies now."""
        if self.schedule is None:
            return True
        at = self.schedule.next(now - self.duration)
        return at is not None and at <= now

    def find_changes(self, now: datetime) -> list[datetime]:
        """Return times at which the budget may begin or cease to apply."""
        if self.schedule is None:
            return []
        times = (self.schedule.next(now), self.schedule.next(now - self.duration))
        return [at for one in times if one is not None for at in (one, one + self.duration) if at > now]

    def count_allowed(self, nodes: int) -> int:
        """Return how many of so many nodes may be disrupted; percentages are rounded up."""
        if self.nodes.endswith("%"):
            return ceil(nodes * int(self.nodes[:-1]) / 100)
        return int(self.nodes)


@dataclass(frozen=True, slots=True)
class DisruptionPolicy:
    """Consolidation of a group; `consolidate_after` is None if its nodes are never removed."""

    removes_underutilized: bool = True
    consolidate_after: float | None = 0.0
    budgets: Sequence[DisruptionBudget] = (DisruptionBudget(),)

    @classmethod
    def from_spec(cls, spec: ReadOnlyObject) -> Self:
        """Return the policy that a NodeGroup describes, which was validated."""
        after = spec.get("consolidateAfter", "0s")
        return cls(
            spec.get("consolidationPolicy", WHEN_UNDERUTILIZED) == WHEN_UNDERUTILIZED,
            None if after == NEVER else parse_seconds(after),
            tuple(map(_read_budget, spec.get("budgets") or ({},))),
        )

    def count_allowed(self, nodes: int, reason: str, now: datetime) -> int:
        """Return how many of so many nodes may be disrupted for a reason: the least of all budgets that apply."""
        return min((one.count_allowed(nodes) for one in self._applying(reason) if one.is_active(now)), default=nodes)

    def find_changes(self, now: datetime) -> list[datetime]:
        """Return times at which other budgets may apply."""
        return [at for budget in self.budgets for at in budget.find_changes(now)]

    def _applying(self, reason: str) -> Iterable[DisruptionBudget]:
        return (one for one in self.budgets if not one.reasons or reason in one.reasons)


def parse_seconds(text: str) -> float:
    """Return the seconds of a Go duration; raise ValueError."""
    duration = parse_duration(text)
    if duration is None:
        raise ValueError(f"{text!r} is no duration like 30s")
    return duration.nanos / 10**9


def _read_budget(budget: ReadOnlyObject) -> DisruptionBudget:
    schedule = budget.get("schedule")
    return DisruptionBudget(
        budget.get("nodes", _DEFAULT_NODES),
        tuple(budget.get("reasons") or ()),
        None if schedule is None else parse_schedule(schedule),
        timedelta(seconds=parse_seconds(budget.get("duration", "0s"))),
    )
