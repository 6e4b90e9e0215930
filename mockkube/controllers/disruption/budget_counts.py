"""What a disruption budget amounts to: how many pods it covers, how many must be healthy, who is about to go.

upstream 1.36: pkg/controller/disruption/disruption.go
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.times import parse_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.controllers.framework.controller_ref_manager import terminating
from mockkube.controllers.pods.readiness import is_ready

DELETION_TIMEOUT: Final = timedelta(minutes=2)
"""How long a pod that was evicted may stay unmarked before it counts again."""


def scaled(value: int | str, total: int, *, up: bool) -> int:
    """Return an integer as it is, and a percentage of the total, rounded up or down."""
    if isinstance(value, int):
        return value
    hundredths = int(value.removesuffix("%")) * total
    return -(-hundredths // 100) if up else hundredths // 100


@dataclass(frozen=True, slots=True)
class Expected:
    """How many pods there should be, and how many of them healthy."""

    pods: int
    healthy: int


def needs_scale(budget: ReadOnlyObject) -> bool:
    """Whether a budget is about the wanted number of pods, not about those that are there."""
    spec = budget["spec"]
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def expected(budget: ReadOnlyObject, *, present: int, scale: int) -> Expected:
    """Return what a budget expects of its pods, of which `scale` are wanted by their controllers."""
    spec = budget["spec"]
    if (missing := spec.get("maxUnavailable")) is not None:
        return Expected(scale, max(scale - scaled(missing, scale, up=True), 0))
    least = spec.get("minAvailable")
    if isinstance(least, str):
        return Expected(scale, scaled(least, scale, up=True))
    return Expected(0, 0) if least is None else Expected(present, least)


@dataclass(frozen=True, slots=True)
class Disrupted:
    """Pods that were evicted and are still to be marked: since when, and when that is to be looked at again."""

    since: Object
    overdue: Sequence[ReadOnlyObject]
    recheck_at: datetime | None


def disrupted(budget: ReadOnlyObject, pods: Sequence[ReadOnlyObject], now: datetime) -> Disrupted:
    """Return what is left of the evictions a budget has let through."""
    known, kept, overdue, recheck = budget.get("status", {}).get("disruptedPods", {}), {}, [], None
    for pod in pods:
        name = pod["metadata"]["name"]
        if terminating(pod) or name not in known:
            continue
        due = parse_time(known[name]) + DELETION_TIMEOUT
        if due < now:
            overdue.append(pod)
            continue
        kept[name] = known[name]
        recheck = due if recheck is None else min(recheck, due)
    return Disrupted(kept, overdue, recheck)


def healthy(pods: Sequence[ReadOnlyObject], going: ReadOnlyObject, now: datetime) -> int:
    """Return how many pods are ready and stay, as far as anybody knows."""
    return sum(1 for pod in pods if not terminating(pod) and not _goes(pod, going, now) and is_ready(pod))


def _goes(pod: ReadOnlyObject, going: ReadOnlyObject, now: datetime) -> bool:
    since = going.get(pod["metadata"]["name"])
    return since is not None and parse_time(since) + DELETION_TIMEOUT > now


def allowed_condition(status: ReadOnlyObject) -> Object:
    """Return the condition that says whether a pod may be evicted now, without its time."""
    may = status["disruptionsAllowed"] > 0
    return {
        "type": "DisruptionAllowed",
        "status": "True" if may else "False",
        "reason": "SufficientPods" if may else "InsufficientPods",
        "message": "",
        "observedGeneration": status.get("observedGeneration", 0),
    }
