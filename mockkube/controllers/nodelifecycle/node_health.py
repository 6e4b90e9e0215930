"""Node health: last heartbeat as one controller manager observed it, and the conditions to write without one.

upstream 1.36: pkg/controller/nodelifecycle/node_lifecycle_controller.go, tryUpdateNodeHealth
"""

from datetime import datetime
from typing import Final

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import parse_time, render_time
from mockkube.controllers.framework.options import NodeOptions
from mockkube.lazy_dataclasses import dataclass

READY: Final = "Ready"
_KUBELET_CONDITIONS: Final = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")


@dataclass(slots=True)
class NodeHealth:
    """Observed health of one node: Ready condition, time of the last heartbeat, renewTime of the lease."""

    ready: ReadOnlyObject | None
    probed_at: float
    lease_renew_time: str = ""


@dataclass(frozen=True, slots=True)
class CurrentTime:
    """One moment as wall-clock and as monotonic time."""

    wall: datetime
    monotonic: float

    def to_monotonic(self, time: str) -> float:
        """Return the monotonic time of an API timestamp."""
        return self.monotonic - (self.wall - parse_time(time)).total_seconds()


def ready_condition(node: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the Ready condition of a node."""
    return find_condition(node.get("status", {}).get("conditions", ()), READY)


def is_ready(node: ReadOnlyObject) -> bool:
    """Return whether a node's condition Ready is True."""
    condition = ready_condition(node)
    return condition is not None and condition["status"] == "True"


def observe_health(
    health: NodeHealth | None, node: ReadOnlyObject, lease: ReadOnlyObject | None, now: CurrentTime
) -> NodeHealth:
    """Return the health of a node after another observation of node and lease."""
    condition = ready_condition(node)
    # Heartbeats are timed by the controller's own clock when it observes them: clocks of nodes are not trusted.
    if health is None:
        health = NodeHealth(
            condition, now.monotonic if condition else now.to_monotonic(node["metadata"]["creationTimestamp"])
        )
    elif _is_heartbeat(health.ready, condition):
        health = NodeHealth(condition, now.monotonic)
    observe_lease(health, lease, now.monotonic)
    return health


def observe_lease(health: NodeHealth, lease: ReadOnlyObject | None, now: float) -> None:
    """Record the heartbeat of a lease, if it was renewed."""
    renewed = (lease or {}).get("spec", {}).get("renewTime", "")
    # renewTime is always rendered with microseconds in UTC, so strings compare like times.
    if renewed > health.lease_renew_time:
        health.lease_renew_time, health.probed_at = renewed, now


def _is_heartbeat(saved: ReadOnlyObject | None, condition: ReadOnlyObject | None) -> bool:
    """Return whether the Ready condition shows a new heartbeat."""
    if saved is None or condition is None:
        return saved is not condition
    return bool(saved.get("lastHeartbeatTime") != condition.get("lastHeartbeatTime"))


def is_grace_period_over(health: NodeHealth, node: ReadOnlyObject, options: NodeOptions, now: CurrentTime) -> bool:
    """Return whether the last heartbeat of a node is older than its grace period."""
    grace = options.monitor_grace_seconds if ready_condition(node) else options.startup_grace_seconds
    return now.monotonic > health.probed_at + grace


def with_unknown_conditions(node: ReadOnlyObject, now: datetime) -> list[ReadOnlyObject]:
    """Return the conditions of a node with those of the kubelet set to Unknown."""
    conditions: list[ReadOnlyObject] = list(node.get("status", {}).get("conditions", ()))
    for kind in _KUBELET_CONDITIONS:
        old = find_condition(conditions, kind)
        if old is None:
            conditions.append(_never_updated_condition(node, kind, now))
        # An Unknown condition keeps the time since when it is unknown.
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


def _never_updated_condition(node: ReadOnlyObject, kind: str, now: datetime) -> Object:
    return {
        "type": kind,
        "status": "Unknown",
        "reason": "NodeStatusNeverUpdated",
        "message": "Kubelet never posted node status.",
        "lastHeartbeatTime": node["metadata"]["creationTimestamp"],
        "lastTransitionTime": render_time(now),
    }
