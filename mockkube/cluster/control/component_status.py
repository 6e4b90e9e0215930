"""Status of components: conditions about running, version skew, the API server and hot loops."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from mockkube.api import conditions
from mockkube.api.conditions import make_condition
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_time
from mockkube.cluster.configuration.component_settings import find_skews
from mockkube.cluster.control.component import (
    LOOPING_CONDITION,
    RUNNING_CONDITION,
    SERVER_READY_CONDITION,
    SUPPORTED_CONDITION,
    ComponentSpec,
    find_running_versions,
)
from mockkube.cluster.control.conditions import get_condition
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.hot_loops import HotLoop

# Hot loops that the message of a condition names.
LOOPS_SHOWN_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class ComponentState:
    """State of a component: running or not, the reason, its hot loops."""

    is_running: bool
    reason: str
    message: str
    url: str = ""
    # Its hot loops.
    hot_loops: tuple[HotLoop, ...] = ()


def build_component_status(
    obj: ReadOnlyObject, specs: Mapping[str, ComponentSpec], states: Mapping[str, ComponentState], *, now: datetime
) -> Object:
    """Return the status of a component; conditions that did not change keep their transition time."""
    name = obj["metadata"]["name"]
    settings, doing, server = specs[name].settings, states[name], specs[name].server_name
    conditions = [_running_condition(doing), _skew_condition(name, specs)]
    if server:  # empty for API servers
        conditions.append(_server_condition(server, states.get(server)))
    # API servers show the condition only after their first hot loop; then it stays, to show that the loop ended.
    if server or doing.hot_loops or get_condition(obj, LOOPING_CONDITION):
        conditions.append(_looping_condition(doing.hot_loops))
    status: Object = {
        "observedGeneration": obj["metadata"]["generation"],
        "phase": _find_phase(doing),
        "running": doing.is_running,
        "version": str(settings.version),
        "featureGates": {state.name: state.enabled for state in settings.gate_states()},
        "conditions": set_transition_times(obj, conditions, now),
    }
    return status | ({"url": doing.url} if doing.url else {})


def _find_phase(state: ComponentState) -> str:
    if state.is_running:
        return "Standby" if state.reason == "Standby" else "Running"
    return "Failed" if state.reason == "Failed" else "Stopped"


def _running_condition(state: ComponentState) -> Object:
    return make_condition(RUNNING_CONDITION, holds=state.is_running, reason=state.reason, message=state.message)


def _skew_condition(name: str, specs: Mapping[str, ComponentSpec]) -> Object:
    """Return the condition Supported: the skew policy allows the versions that are to run."""
    reasons = find_skews(find_running_versions(specs), name)
    if reasons:
        return make_condition(SUPPORTED_CONDITION, holds=False, reason="OutsidePolicy", message="; ".join(reasons))
    return make_condition(
        SUPPORTED_CONDITION, holds=True, reason="Supported", message="the version skew policy allows it"
    )


def _server_condition(name: str, state: ComponentState | None) -> Object:
    """Return the condition ServerReady: the component's API server answers."""
    if state is None:
        message = f"there is no {name}: create it, or give another spec.server"
        return make_condition(SERVER_READY_CONDITION, holds=False, reason="NotFound", message=message)
    if not state.is_running:
        message = f"{name} does not run: {state.message}"
        return make_condition(SERVER_READY_CONDITION, holds=False, reason=state.reason, message=message)
    return make_condition(SERVER_READY_CONDITION, holds=True, reason="Ready", message=f"{name} answers requests")


def _looping_condition(hot_loops: Sequence[HotLoop]) -> Object:
    """Return the condition Looping: the component has hot loops."""
    if not hot_loops:
        message = "no object fails, or is recreated, again and again"
        return make_condition(LOOPING_CONDITION, holds=False, reason="NoLoops", message=message)
    texts = [_format_loop(loop) for loop in hot_loops[:LOOPS_SHOWN_MAX]]
    if len(hot_loops) > LOOPS_SHOWN_MAX:
        texts.append(f"and {len(hot_loops) - LOOPS_SHOWN_MAX} more: mockkube status --loops")
    return make_condition(LOOPING_CONDITION, holds=True, reason="GetsNowhere", message="; ".join(texts))


def _format_loop(loop: HotLoop) -> str:
    pace = f", {loop.per_minute} a minute" if loop.per_minute else ""
    text = f"{loop.controller} {loop.object}: {loop.cause}{pace}"
    return f"{text}: {loop.message}" if loop.message else text


def set_transition_times(obj: ReadOnlyObject, new_conditions: list[Object], now: datetime) -> list[Object]:
    """Return conditions with their transition times."""
    return [
        conditions.with_transition_time(one, get_condition(obj, one["type"]), render_time(now))
        for one in new_conditions
    ]
