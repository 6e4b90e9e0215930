"""What is reported of control objects: conditions, and of a component what it does and how its version suits others."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from mockkube.api import conditions
from mockkube.api.conditions import condition
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
    return condition(RUNNING, holds=doing.running, reason=doing.reason, message=doing.message)


def _skew(name: str, components: Mapping[str, Asked]) -> Object:
    """Say whether the policy allows what there is of skew between this component and those that are to run."""
    reasons = skews(running_versions(components), name)
    if reasons:
        return condition(SUPPORTED, holds=False, reason="OutsidePolicy", message="; ".join(reasons))
    return condition(SUPPORTED, holds=True, reason="Supported", message="the version skew policy allows it")


def dated(obj: ReadOnlyObject, told: list[Object], now: datetime) -> list[Object]:
    """Return the conditions with their times; those that were reported so already keep theirs."""
    return [conditions.dated(one, condition_of(obj, one["type"]), render_time(now)) for one in told]
