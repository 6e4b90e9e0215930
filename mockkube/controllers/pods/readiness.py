"""Whether a pod is ready, and has been for long enough; and when it will have been.

upstream 1.36: pkg/api/v1/pod/util.go, pkg/controller/controller_utils.go
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from mockkube.api.conditions import find_condition
from mockkube.api.times import parse_time
from mockkube.api.types import ReadOnlyObject
from mockkube.controllers.pods.status_writer import FINISHED


def ready_since(pod: ReadOnlyObject) -> datetime | None:
    """Return since when the pod is ready; None if it is not. A ready pod without a time is ready since ever."""
    condition = find_condition(pod.get("status", {}).get("conditions") or (), "Ready")
    if condition is None or condition.get("status") != "True":
        return None
    text = condition.get("lastTransitionTime")
    return parse_time(text) if text else datetime.min.replace(tzinfo=parse_time("1970-01-01T00:00:00Z").tzinfo)


def is_ready(pod: ReadOnlyObject) -> bool:
    """Whether the pod is ready."""
    condition = find_condition(pod.get("status", {}).get("conditions") or (), "Ready")
    return condition is not None and condition.get("status") == "True"


def is_available(pod: ReadOnlyObject, min_ready_seconds: int, now: datetime) -> bool:
    """Whether the pod has been ready for so long."""
    since = ready_since(pod)
    if since is None:
        return False
    return min_ready_seconds == 0 or since + timedelta(seconds=min_ready_seconds) <= now


def seconds_to_prove(owner: ReadOnlyObject | None, pod: ReadOnlyObject, old: ReadOnlyObject | None) -> int:
    """Return how long an owner's pod that has just become ready must stay so to be available; zero for any other."""
    if owner is None or old is None or not is_ready(pod) or is_ready(old):
        return 0
    seconds: int = owner["spec"].get("minReadySeconds", 0)
    return seconds


def seconds_to_availability(pods: Iterable[ReadOnlyObject], min_ready_seconds: int, now: datetime) -> float | None:
    """Return how long until the next ready pod becomes available; None when there is none to wait for."""
    left = [
        (since + timedelta(seconds=min_ready_seconds) - now).total_seconds()
        for pod in pods
        if (since := ready_since(pod)) is not None and not is_available(pod, min_ready_seconds, now)
    ]
    return min(left, default=None)


def is_finished(pod: ReadOnlyObject) -> bool:
    """Whether the pod has run to its end."""
    return pod.get("status", {}).get("phase") in FINISHED


def is_active(pod: ReadOnlyObject) -> bool:
    """Whether the pod counts: it has not run to its end and is not on its way out."""
    return not is_finished(pod) and not pod["metadata"].get("deletionTimestamp")


def is_terminating(pod: ReadOnlyObject) -> bool:
    """Whether the pod is on its way out and has not run to its end."""
    return not is_finished(pod) and bool(pod["metadata"].get("deletionTimestamp"))
