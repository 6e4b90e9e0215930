"""What is reported of control objects: conditions, and of a component what it does and how its version suits others."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.cluster.components import skews
from mockkube.cluster.control.component import RUNNING, SUPPORTED, Asked, running_versions
from mockkube.cluster.control.reading import condition_of


@dataclass(frozen=True, slots=True)
class Doing:
    """What a component does, and why."""

    running: bool
    reason: str
    message: str
    url: str = ""


def status_of(obj: ReadOnlyObject, components: Mapping[str, Asked], doing: Doing, *, now: datetime) -> Object:
    """Return the status of a component; conditions that did not change keep their time."""
    name = obj["metadata"]["name"]
    settings = components[name].settings
    status: Object = {
        "observedGeneration": obj["metadata"]["generation"],
        "phase": "Running" if doing.running else "Failed" if doing.reason == "Failed" else "Stopped",
        "running": doing.running,
        "version": str(settings.version),
        "featureGates": {state.name: state.enabled for state in settings.states()},
        "conditions": dated(obj, [_running(doing), _skew(name, components)], now),
    }
    return status | ({"url": doing.url} if doing.url else {})


def _running(doing: Doing) -> Object:
    return condition(RUNNING, doing.running, doing.reason, doing.message)


def _skew(name: str, components: Mapping[str, Asked]) -> Object:
    """Say whether the policy allows what there is of skew between this component and those that are to run."""
    reasons = skews(running_versions(components), name)
    if reasons:
        return condition(SUPPORTED, False, "OutsidePolicy", "; ".join(reasons))
    return condition(SUPPORTED, True, "Supported", "the version skew policy allows it")


def condition(kind: str, holds: bool, reason: str, message: str) -> Object:
    """Return a condition without its time."""
    return {"type": kind, "status": "True" if holds else "False", "reason": reason, "message": message}


def dated(obj: ReadOnlyObject, conditions: list[Object], now: datetime) -> list[Object]:
    """Return the conditions with their times; those that were reported so already keep theirs."""
    return [_dated(one, condition_of(obj, one["type"]), now) for one in conditions]


def _dated(one: Object, before: ReadOnlyObject, now: datetime) -> Object:
    same = before.get("status") == one["status"]
    return {**one, "lastTransitionTime": before["lastTransitionTime"] if same else render_time(now)}


def with_condition(obj: ReadOnlyObject, one: Object, now: datetime) -> list[Object]:
    """Return the conditions of an object with this one in its place, or after the others."""
    kept = list(obj.get("status", {}).get("conditions", ()))
    [fresh] = dated(obj, [one], now)
    if not condition_of(obj, one["type"]):
        return [*kept, fresh]
    return [fresh if known["type"] == one["type"] else known for known in kept]
