"""Recommendations and changes of the recent past, which stabilize and limit the scaling of one workload.

upstream 1.36: pkg/controller/podautoscaler/horizontal.go
"""

from collections.abc import Sequence
from dataclasses import field
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass

SCALE_UP_FACTOR: Final = 2
SCALE_UP_MIN: Final = 4

READY: Final = ("ReadyForNewScale", "recommended size matches current size")
_LOWER: Final = "recent recommendations were lower than current one, applying the lowest recent recommendation"
_HIGHER: Final = "recent recommendations were higher than current one, applying the highest recent recommendation"
_WITHIN: Final = ("DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_FEW: Final = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_TOO_MANY: Final = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_UP_LIMIT: Final = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
_DOWN_LIMIT: Final = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")


@dataclass(frozen=True, slots=True)
class Moment:
    """Number of replicas that was recommended, or by which a workload was scaled, at a time."""

    replicas: int
    at: datetime


@dataclass(frozen=True, slots=True)
class ReplicaBounds:
    """Current replicas of a workload, and the fewest and most that it may have."""

    current: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class BoundedReplicas:
    """Number of replicas after bounds and windows, with reason and message of a condition."""

    replicas: int
    reason: str
    message: str


@dataclass(slots=True)
class ScalingHistory:
    """Recent recommendations, and recent changes up and down."""

    recommendations: list[Moment] = field(default_factory=list)
    ups: list[Moment] = field(default_factory=list)
    downs: list[Moment] = field(default_factory=list)

    def start(self, replicas: int, now: datetime) -> None:
        """Record the replicas that the workload has when the controller first sees it."""
        self.recommendations.append(Moment(replicas, now))

    def stabilize(self, desired: int, now: datetime, window: timedelta) -> BoundedReplicas:
        """Record a recommendation; return the highest one of the window."""
        cutoff = now - window
        recent = [one for one in self.recommendations if one.at >= cutoff]
        highest = max((one.replicas for one in recent), default=desired)
        _record(self.recommendations, Moment(desired, now), cutoff)
        if highest > desired:
            return BoundedReplicas(highest, "ScaleDownStabilized", _HIGHER)
        return BoundedReplicas(desired, *READY)

    def stabilize_by_behavior(
        self, desired: int, current: int, now: datetime, up: timedelta, down: timedelta
    ) -> BoundedReplicas:
        """Record a recommendation; return the nearest number to the current one that the windows allow."""
        up_cutoff, down_cutoff = now - up, now - down
        lowest = min([desired, *(one.replicas for one in self.recommendations if one.at > up_cutoff)])
        highest = max([desired, *(one.replicas for one in self.recommendations if one.at > down_cutoff)])
        stabilized = min(max(current, lowest), highest)
        _record(self.recommendations, Moment(desired, now), min(up_cutoff, down_cutoff))
        if stabilized == desired:
            return BoundedReplicas(desired, *READY)
        if desired >= current:
            return BoundedReplicas(stabilized, "ScaleUpStabilized", _LOWER)
        return BoundedReplicas(stabilized, "ScaleDownStabilized", _HIGHER)

    def record_change(self, before: int, after: int, behavior: ReadOnlyObject, now: datetime) -> None:
        """Record that the workload was scaled, for the policies of its behavior."""
        rules = behavior["scaleUp" if after > before else "scaleDown"]
        longest = max((policy["periodSeconds"] for policy in rules["policies"]), default=0)
        changes = self.ups if after > before else self.downs
        _record(changes, Moment(abs(after - before), now), now - timedelta(seconds=longest))

    def limit_by_behavior(
        self, desired: int, bounds: ReplicaBounds, behavior: ReadOnlyObject, now: datetime
    ) -> BoundedReplicas:
        """Return the desired replicas within the bounds and the rates of the behavior."""
        current = bounds.current
        if desired > current:
            limit = max(self._up_limit(current, behavior["scaleUp"], now), current)
            most, reason = (limit, _UP_LIMIT) if bounds.most > limit else (bounds.most, _TOO_MANY)
            return BoundedReplicas(most, *reason) if desired > most else BoundedReplicas(desired, *_WITHIN)
        if desired < current:
            limit = min(self._down_limit(current, behavior["scaleDown"], now), current)
            least, reason = (limit, _DOWN_LIMIT) if bounds.least < limit else (bounds.least, _TOO_FEW)
            return BoundedReplicas(least, *reason) if desired < least else BoundedReplicas(desired, *_WITHIN)
        return BoundedReplicas(desired, *_WITHIN)

    def _up_limit(self, current: int, rules: ReadOnlyObject, now: datetime) -> int:
        """Return the most replicas that the policies allow now."""
        if rules["selectPolicy"] == "Disabled":
            return current
        limits: list[int] = []
        for policy in rules["policies"]:
            start = self._replicas_at_start(current, policy, now)
            # Rounded up: otherwise a small share of few replicas would never add one.
            added = policy["value"] if policy["type"] == "Pods" else None
            limits.append(ceil(start * (1 + policy["value"] / 100)) if added is None else start + added)
        return min(limits) if rules["selectPolicy"] == "Min" else max(limits)

    def _down_limit(self, current: int, rules: ReadOnlyObject, now: datetime) -> int:
        """Return the fewest replicas that the policies allow now."""
        if rules["selectPolicy"] == "Disabled":
            return current
        limits: list[int] = []
        for policy in rules["policies"]:
            start = self._replicas_at_start(current, policy, now)
            removed = policy["value"] if policy["type"] == "Pods" else None
            limits.append(int(start * (1 - policy["value"] / 100)) if removed is None else start - removed)
        # The policy Min is that of the smallest change, so of the most replicas that are left.
        return max(limits) if rules["selectPolicy"] == "Min" else min(limits)

    def _replicas_at_start(self, current: int, policy: ReadOnlyObject, now: datetime) -> int:
        """Return the replicas at the start of a policy's period."""
        cutoff = now - timedelta(seconds=policy["periodSeconds"])
        return current - _sum_since(self.ups, cutoff) + _sum_since(self.downs, cutoff)


def limit_by_bounds(desired: int, bounds: ReplicaBounds) -> BoundedReplicas:
    """Return the desired replicas within the bounds, and no more than twice the current ones."""
    # upstream: wrong usage reports of many replicas once made workloads explode.
    rate = max(SCALE_UP_FACTOR * bounds.current, SCALE_UP_MIN)
    most, reason = (rate, _UP_LIMIT) if bounds.most > rate else (bounds.most, _TOO_MANY)
    if desired < bounds.least:
        return BoundedReplicas(bounds.least, *_TOO_FEW)
    if desired > most:
        return BoundedReplicas(most, *reason)
    return BoundedReplicas(desired, *_WITHIN)


def _sum_since(moments: Sequence[Moment], cutoff: datetime) -> int:
    return sum(one.replicas for one in moments if one.at > cutoff)


def _record(moments: list[Moment], new: Moment, cutoff: datetime) -> None:
    """Add a moment, in place of the last one before the cutoff if there is one."""
    outdated = [index for index, one in enumerate(moments) if one.at < cutoff]
    if outdated:
        moments[outdated[-1]] = new
    else:
        moments.append(new)
