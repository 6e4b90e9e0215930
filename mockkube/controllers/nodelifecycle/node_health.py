"""When a node was last heard of, as one controller manager remembers it, and what is written when it was too long ago.

upstream 1.36: pkg/controller/nodelifecycle/node_lifecycle_controller.go, tryUpdateNodeHealth
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from mockkube.api.conditions import find_condition
from mockkube.api.times import parse_time, render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.controllers.options import NodeOptions

READY: Final = "Ready"
_WATCHED: Final = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")


@dataclass(slots=True)
class Health:
    """What is remembered of one node: its Ready condition, its lease, and the moment of the last sign of life."""

    ready: ReadOnlyObject | None
    heard_at: float
    renewed: str = ""


@dataclass(frozen=True, slots=True)
class Now:
    """One moment on both of its scales."""

    wall: datetime
    monotonic: float

    def at(self, time: str) -> float:
        """Return where a time of the API lies on the monotonic scale."""
        return self.monotonic - (self.wall - parse_time(time)).total_seconds()


def ready_condition(node: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the Ready condition of a node."""
    return find_condition(node.get("status", {}).get("conditions", ()), READY)


def is_ready(node: ReadOnlyObject) -> bool:
    """Whether a node says that it is ready."""
    condition = ready_condition(node)
    return condition is not None and condition["status"] == "True"


def heard(health: Health | None, node: ReadOnlyObject, lease: ReadOnlyObject | None, now: Now) -> Health:
    """Return what is known of a node after another look at it."""
    condition = ready_condition(node)
    renewed = (lease or {}).get("spec", {}).get("renewTime", "")
    if health is None:
        health = Health(condition, now.monotonic if condition else now.at(node["metadata"]["creationTimestamp"]))
    elif _is_sign(health.ready, condition):
        health = Health(condition, now.monotonic)
    if renewed > health.renewed:
        health.renewed, health.heard_at = renewed, now.monotonic
    return health


def _is_sign(saved: ReadOnlyObject | None, condition: ReadOnlyObject | None) -> bool:
    if saved is None or condition is None:
        return saved is not condition
    return bool(saved.get("lastHeartbeatTime") != condition.get("lastHeartbeatTime"))


def lost(health: Health, node: ReadOnlyObject, options: NodeOptions, now: Now) -> bool:
    """Whether nothing was heard of a node for longer than it is given."""
    grace = options.monitor_grace_seconds if ready_condition(node) else options.startup_grace_seconds
    return now.monotonic > health.heard_at + grace


def silenced(node: ReadOnlyObject, now: datetime) -> list[ReadOnlyObject]:
    """Return the conditions of a node of which nothing is known any more."""
    conditions: list[ReadOnlyObject] = list(node.get("status", {}).get("conditions", ()))
    for kind in _WATCHED:
        old = find_condition(conditions, kind)
        if old is None:
            conditions.append(_never_posted(node, kind, now))
        elif old["status"] != "Unknown":
            unknown: Object = {
                **old,
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": render_time(now),
            }
            conditions[conditions.index(old)] = unknown
    return conditions


def _never_posted(node: ReadOnlyObject, kind: str, now: datetime) -> Object:
    return {
        "type": kind,
        "status": "Unknown",
        "reason": "NodeStatusNeverUpdated",
        "message": "Kubelet never posted node status.",
        "lastHeartbeatTime": node["metadata"]["creationTimestamp"],
        "lastTransitionTime": render_time(now),
    }
