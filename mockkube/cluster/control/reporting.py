"""Status of components: conditions about running, version skew, the API server and hot loops."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from mockkube.api import conditions
from mockkube.api.conditions import make_condition
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.cluster.components import skews
from mockkube.cluster.control.component import LOOPING, RUNNING, SERVER_READY, SUPPORTED, Asked, running_versions
from mockkube.cluster.control.reading import condition_of
from mockkube.runtime.loop_board import HotLoop

# Hot loops that the message of a condition names.
LOOPS_SHOWN_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class Doing:
    """State of a component: running or not, the reason, its hot loops."""

    running: bool
    reason: str
    message: str
    url: str = ""
    # Its hot loops.
    loops: tuple[HotLoop, ...] = ()


def status_of(
    obj: ReadOnlyObject, components: Mapping[str, Asked], doings: Mapping[str, Doing], *, now: datetime
) -> Object:
    """Return the status of a component; conditions that did not change keep their transition time."""
    name = obj["metadata"]["name"]
    settings, doing, server = components[name].settings, doings[name], components[name].server
    conditions = [_running(doing), _skew(name, components)]
    if server:  # empty for API servers
        conditions.append(_server(server, doings.get(server)))
    # API servers show the condition only after their first hot loop; then it stays, to show that the loop ended.
    if server or doing.loops or condition_of(obj, LOOPING):
        conditions.append(_looping(doing.loops))
    status: Object = {
        "observedGeneration": obj["metadata"]["generation"],
        "phase": "Running" if doing.running else "Failed" if doing.reason == "Failed" else "Stopped",
        "running": doing.running,
        "version": str(settings.version),
        "featureGates": {state.name: state.enabled for state in settings.states()},
        "conditions": dated(obj, conditions, now),
    }
    return status | ({"url": doing.url} if doing.url else {})


def _running(doing: Doing) -> Object:
    return make_condition(RUNNING, holds=doing.running, reason=doing.reason, message=doing.message)


def _skew(name: str, components: Mapping[str, Asked]) -> Object:
    """Return the condition Supported: the skew policy allows the versions that are to run."""
    reasons = skews(running_versions(components), name)
    if reasons:
        return make_condition(SUPPORTED, holds=False, reason="OutsidePolicy", message="; ".join(reasons))
    return make_condition(SUPPORTED, holds=True, reason="Supported", message="the version skew policy allows it")


def _server(name: str, doing: Doing | None) -> Object:
    """Return the condition ServerReady: the component's API server answers."""
    if doing is None:
        message = f"there is no {name}: create it, or give another spec.server"
        return make_condition(SERVER_READY, holds=False, reason="NotFound", message=message)
    if not doing.running:
        message = f"{name} does not run: {doing.message}"
        return make_condition(SERVER_READY, holds=False, reason=doing.reason, message=message)
    return make_condition(SERVER_READY, holds=True, reason="Ready", message=f"{name} answers requests")


def _looping(loops: Sequence[HotLoop]) -> Object:
    """Return the condition Looping: the component has hot loops."""
    if not loops:
        message = "no object fails, or is recreated, again and again"
        return make_condition(LOOPING, holds=False, reason="NoLoops", message=message)
    texts = [_loop_text(loop) for loop in loops[:LOOPS_SHOWN_MAX]]
    if len(loops) > LOOPS_SHOWN_MAX:
        texts.append(f"and {len(loops) - LOOPS_SHOWN_MAX} more: mockkube status --loops")
    return make_condition(LOOPING, holds=True, reason="GetsNowhere", message="; ".join(texts))


def _loop_text(loop: HotLoop) -> str:
    pace = f", {loop.per_minute} a minute" if loop.per_minute else ""
    text = f"{loop.controller} {loop.object}: {loop.cause}{pace}"
    return f"{text}: {loop.message}" if loop.message else text


def dated(obj: ReadOnlyObject, told: list[Object], now: datetime) -> list[Object]:
    """Return conditions with their transition times."""
    return [conditions.with_transition_time(one, condition_of(obj, one["type"]), render_time(now)) for one in told]
