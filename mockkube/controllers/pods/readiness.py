"""Readiness and availability of pods.

upstream 1.36: pkg/api/v1/pod/util.go, pkg/controller/controller_utils.go
"""

from collections.abc import Iterable
from datetime import datetime

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import add_seconds, parse_time
from mockkube.matching.pods import is_ready


def ready_since(pod: ReadOnlyObject) -> datetime | None:
    """Return since when a pod is ready; None if it is not; the earliest time if none is given."""
    condition = find_condition(pod.get("status", {}).get("conditions") or (), "Ready")
    if condition is None or condition.get("status") != "True":
        return None
    text = condition.get("lastTransitionTime")
    return parse_time(text) if text else datetime.min.replace(tzinfo=parse_time("1970-01-01T00:00:00Z").tzinfo)


def is_available(pod: ReadOnlyObject, min_ready_seconds: int, now: datetime) -> bool:
    """Return whether a pod has been ready for `min_ready_seconds`."""
    since = ready_since(pod)
    if since is None:
        return False
    return min_ready_seconds == 0 or add_seconds(since, min_ready_seconds) <= now


def min_ready_delay(owner: ReadOnlyObject | None, pod: ReadOnlyObject, old: ReadOnlyObject | None) -> int:
    """Return how long an owner's pod that just became ready takes to be available; else zero."""
    if owner is None or old is None or not is_ready(pod) or is_ready(old):
        return 0
    seconds: int = owner["spec"].get("minReadySeconds", 0)
    return seconds


def seconds_to_next_availability(pods: Iterable[ReadOnlyObject], min_ready_seconds: int, now: datetime) -> float | None:
    """Return how long until the next ready pod becomes available; None without such a pod."""
    left = [
        (add_seconds(since, min_ready_seconds) - now).total_seconds()
        for pod in pods
        if (since := ready_since(pod)) is not None and not is_available(pod, min_ready_seconds, now)
    ]
    return min(left, default=None)
