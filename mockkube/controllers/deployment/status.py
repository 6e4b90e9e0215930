"""Status of a deployment: counts, and conditions Available, Progressing and ReplicaFailure.

upstream 1.36: pkg/controller/deployment/sync.go (calculateStatus), progress.go
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import add_seconds, parse_time, render_time
from mockkube.controllers.deployment.scaling import (
    desired_replicas,
    max_unavailable,
    status_number,
    total_replicas,
    total_status_number,
)

PROGRESSING: Final = "Progressing"
AVAILABLE: Final = "Available"
FAILURE: Final = "ReplicaFailure"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
COMPLETE: Final = "NewReplicaSetAvailable"
NO_DEADLINE: Final = 2**31 - 1

Conditions = list[Object]


def with_condition(
    conditions: Sequence[ReadOnlyObject], kind: str, status: str, reason: str, message: str, now: datetime
) -> list[ReadOnlyObject]:
    """Return the conditions with one set, unless it exists with the same status and reason."""
    known = find_condition(conditions, kind)
    if known is not None and (known.get("status"), known.get("reason")) == (status, reason):
        return list(conditions)
    since = known["lastTransitionTime"] if known is not None and known.get("status") == status else render_time(now)
    new = {
        "type": kind,
        "status": status,
        "lastUpdateTime": render_time(now),
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    return [*without_condition(conditions, kind), new]


def without_condition(conditions: Sequence[ReadOnlyObject], kind: str) -> list[ReadOnlyObject]:
    """Return the conditions without those of one type."""
    return [one for one in conditions if one["type"] != kind]


def conditions_of(obj: ReadOnlyObject) -> list[ReadOnlyObject]:
    """Return the conditions of an object."""
    return list((obj.get("status") or {}).get("conditions") or ())


def has_deadline(deployment: ReadOnlyObject) -> bool:
    """Return whether the deployment has a progress deadline."""
    deadline = deployment["spec"].get("progressDeadlineSeconds")
    return deadline is not None and deadline != NO_DEADLINE


def calculate_status(
    deployment: ReadOnlyObject,
    all_sets: Sequence[ReadOnlyObject],
    new: ReadOnlyObject | None,
    now: datetime,
    *,
    terminating: bool,
) -> Object:
    """Return counts and availability; `terminating` adds the number of terminating pods."""
    available = total_status_number(all_sets, "availableReplicas")
    counts: dict[str, Any] = {
        "replicas": total_status_number(all_sets, "replicas"),
        "updatedReplicas": 0 if new is None else status_number(new, "replicas"),
        "readyReplicas": total_status_number(all_sets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(total_replicas(all_sets) - available, 0),
        "observedGeneration": deployment["metadata"].get("generation", 0),
    }
    # Zeros are omitted as in Go's JSON, so that an unchanged status compares equal to the stored one.
    status: Object = {name: number for name, number in counts.items() if number}
    old = deployment.get("status") or {}
    if "collisionCount" in old:
        status["collisionCount"] = old["collisionCount"]
    if terminating and (leaving := _count_terminating(all_sets)) is not None:
        status["terminatingReplicas"] = leaving
    enough = available >= desired_replicas(deployment) - max_unavailable(deployment)
    if enough:
        availability = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        availability = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    status["conditions"] = with_condition(conditions_of(deployment), AVAILABLE, *availability, now)
    return status


def _count_terminating(all_sets: Sequence[ReadOnlyObject]) -> int | None:
    """Return the number of terminating pods; None until every synced set reports its own."""
    number = 0
    for one in all_sets:
        count = (one.get("status") or {}).get("terminatingReplicas")
        if count is None and status_number(one, "observedGeneration"):
            return None
        number += count or 0
    return number


def is_complete(deployment: ReadOnlyObject, status: ReadOnlyObject) -> bool:
    """Return whether all desired pods are updated and available and no others are left."""
    size = desired_replicas(deployment)
    counts = (status.get(name, 0) for name in ("updatedReplicas", "replicas", "availableReplicas"))
    observed_generation: int = status.get("observedGeneration", 0)
    return all(count == size for count in counts) and observed_generation >= deployment["metadata"].get("generation", 0)


def with_progress(
    deployment: ReadOnlyObject,
    status: Object,
    all_sets: Sequence[ReadOnlyObject],
    new: ReadOnlyObject | None,
    now: datetime,
) -> Object:
    """Return the status with conditions Progressing and ReplicaFailure."""
    conditions = status["conditions"]
    known = find_condition(conditions_of(deployment), PROGRESSING)
    if not has_deadline(deployment):
        conditions = without_condition(conditions, PROGRESSING)
    # A complete rollout stays complete: pods that fail later must not make it time out.
    elif not _was_complete(status, known):
        conditions = _progressing_conditions(deployment, status, new, known, now)
    conditions = (
        without_condition(conditions, FAILURE)
        if (failed := _find_failure(all_sets, new)) is None
        else _with_failure(conditions, failed)
    )
    return {**status, "conditions": conditions}


def _was_complete(status: ReadOnlyObject, known: ReadOnlyObject | None) -> bool:
    same = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    return same and known is not None and known.get("reason") == COMPLETE


def _progressing_conditions(
    deployment: ReadOnlyObject,
    status: ReadOnlyObject,
    new: ReadOnlyObject | None,
    known: ReadOnlyObject | None,
    now: datetime,
) -> list[ReadOnlyObject]:
    conditions: list[ReadOnlyObject] = status["conditions"]
    name = f'ReplicaSet "{new["metadata"]["name"]}"' if new else f'Deployment "{deployment["metadata"]["name"]}"'
    if is_complete(deployment, status):
        message = f"{name} has successfully progressed."
        return with_condition(conditions, PROGRESSING, "True", COMPLETE, message, now)
    if _is_progressing(deployment, status):
        message = f"{name} is progressing."
        # Progress renews lastUpdateTime, from which the deadline counts, even if status and reason stay the same.
        since = known["lastTransitionTime"] if known and known.get("status") == "True" else render_time(now)
        fresh = with_condition((), PROGRESSING, "True", "ReplicaSetUpdated", message, now)[0]
        return [*without_condition(conditions, PROGRESSING), {**fresh, "lastTransitionTime": since}]
    if _has_timed_out(deployment, find_condition(conditions, PROGRESSING), now):
        message = f"{name} has timed out progressing."
        return with_condition(conditions, PROGRESSING, "False", TIMED_OUT, message, now)
    return conditions


def _is_progressing(deployment: ReadOnlyObject, status: ReadOnlyObject) -> bool:
    old = deployment.get("status") or {}

    def has_grown(name: str) -> bool:
        return bool(status.get(name, 0) > old.get(name, 0))

    def count_outdated(one: ReadOnlyObject) -> int:
        return int(one.get("replicas", 0) - one.get("updatedReplicas", 0))

    grows = has_grown("updatedReplicas") or has_grown("readyReplicas") or has_grown("availableReplicas")
    return grows or count_outdated(status) < count_outdated(old)


def _has_timed_out(deployment: ReadOnlyObject, known: ReadOnlyObject | None, now: datetime) -> bool:
    if known is None or known.get("reason") == COMPLETE:
        return False
    # Without progress the condition stays as it is, whatever the deadline is changed to.
    if known.get("reason") == TIMED_OUT:
        return True
    return _progress_deadline(deployment, known) < now


def _progress_deadline(deployment: ReadOnlyObject, known: ReadOnlyObject) -> datetime:
    seconds = deployment["spec"]["progressDeadlineSeconds"]
    return add_seconds(parse_time(known["lastUpdateTime"]), seconds)


def seconds_to_deadline(deployment: ReadOnlyObject, status: ReadOnlyObject, now: datetime) -> float | None:
    """Return how long until a stalled rollout times out; None if it cannot."""
    known = find_condition(conditions_of(deployment), PROGRESSING)
    if not has_deadline(deployment) or known is None:
        return None
    if is_complete(deployment, status) or known.get("reason") == TIMED_OUT:
        return None
    return (_progress_deadline(deployment, known) - now).total_seconds()


def _find_failure(all_sets: Sequence[ReadOnlyObject], new: ReadOnlyObject | None) -> ReadOnlyObject | None:
    """Return condition ReplicaFailure of a set, that of the new one first."""
    for one in (*([new] if new else ()), *all_sets):
        if (condition := find_condition(conditions_of(one), FAILURE)) is not None:
            return condition
    return None


def _with_failure(conditions: Sequence[ReadOnlyObject], failed: ReadOnlyObject) -> list[ReadOnlyObject]:
    known = find_condition(conditions, FAILURE)
    if known is not None and (known.get("status"), known.get("reason")) == (failed["status"], failed.get("reason")):
        return list(conditions)
    since = failed["lastTransitionTime"]
    kept = known["lastTransitionTime"] if known is not None and known.get("status") == failed["status"] else since
    fresh = {**failed, "lastUpdateTime": since, "lastTransitionTime": kept}
    return [*without_condition(conditions, FAILURE), fresh]
