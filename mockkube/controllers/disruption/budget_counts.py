"""Pod counts of a PodDisruptionBudget: expected, healthy and disrupted pods.

upstream 1.36: pkg/controller/disruption/disruption.go
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_ready

# A pod that was evicted and is not terminating after this long counts as present again.
DELETION_TIMEOUT: Final = timedelta(minutes=2)


def resolve_int_or_percent(value: int | str, total: int, *, up: bool) -> int:
    """Return an int-or-percent value as a number, percentages rounded up or down."""
    if isinstance(value, int):
        return value
    hundredths = int(value.removesuffix("%")) * total
    return -(-hundredths // 100) if up else hundredths // 100


@dataclass(frozen=True, slots=True)
class ExpectedPods:
    """Expected number of pods, and how many of them must be healthy."""

    pods: int
    healthy: int


def needs_scale(budget: ReadOnlyObject) -> bool:
    """Return whether a budget refers to the replicas of controllers instead of the existing pods."""
    spec = budget["spec"]
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def calculate_expected_pods(budget: ReadOnlyObject, *, present: int, scale: int) -> ExpectedPods:
    """Return the pods that a budget expects, with `scale` replicas of its pods' controllers."""
    spec = budget["spec"]
    if (missing := spec.get("maxUnavailable")) is not None:
        return ExpectedPods(scale, max(scale - resolve_int_or_percent(missing, scale, up=True), 0))
    min_available = spec.get("minAvailable")
    if isinstance(min_available, str):
        return ExpectedPods(scale, resolve_int_or_percent(min_available, scale, up=True))
    # With an absolute minAvailable the controllers do not matter, so unmanaged pods work too.
    return ExpectedPods(0, 0) if min_available is None else ExpectedPods(present, min_available)


@dataclass(frozen=True, slots=True)
class DisruptedPods:
    """Pods that were evicted and are not terminating yet."""

    since: Object
    overdue: Sequence[ReadOnlyObject]
    recheck_at: datetime | None


def build_disrupted_pods(budget: ReadOnlyObject, pods: Sequence[ReadOnlyObject], now: datetime) -> DisruptedPods:
    """Return which evictions of a budget are still open, and which are overdue."""
    known, kept, overdue, recheck = budget.get("status", {}).get("disruptedPods", {}), {}, [], None
    for pod in pods:
        name = pod["metadata"]["name"]
        # A terminating pod is no longer healthy anyway, so its entry can go.
        if has_deletion_timestamp(pod) or name not in known:
            continue
        due = parse_time(known[name]) + DELETION_TIMEOUT
        if due < now:
            overdue.append(pod)
            continue
        kept[name] = known[name]
        recheck = due if recheck is None else min(recheck, due)
    return DisruptedPods(kept, overdue, recheck)


def count_healthy_pods(pods: Sequence[ReadOnlyObject], disrupted_pods: ReadOnlyObject, now: datetime) -> int:
    """Return the number of pods that are ready and neither terminating nor evicted."""
    return sum(
        1
        for pod in pods
        if not has_deletion_timestamp(pod) and not _is_disrupted(pod, disrupted_pods, now) and is_ready(pod)
    )


def _is_disrupted(pod: ReadOnlyObject, disrupted_pods: ReadOnlyObject, now: datetime) -> bool:
    since = disrupted_pods.get(pod["metadata"]["name"])
    return since is not None and parse_time(since) + DELETION_TIMEOUT > now


def disruption_allowed_condition(status: ReadOnlyObject) -> Object:
    """Return condition DisruptionAllowed of a status, without its time."""
    may = status["disruptionsAllowed"] > 0
    return {
        "type": "DisruptionAllowed",
        "status": "True" if may else "False",
        "reason": "SufficientPods" if may else "InsufficientPods",
        "message": "",
        "observedGeneration": status.get("observedGeneration", 0),
    }
