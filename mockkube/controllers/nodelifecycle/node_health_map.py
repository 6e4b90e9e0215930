"""Health of nodes as last observed, zone states and zone queues, which the node lifecycle workers share.

They are lost on restart.
"""

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.controllers.framework.controller import ControllerDependencies
from mockkube.controllers.nodelifecycle.node_health import NodeHealth
from mockkube.controllers.nodelifecycle.node_writer import has_taint
from mockkube.controllers.nodelifecycle.zones import (
    RateLimitedTimedQueue,
    ZoneState,
    compute_zone_state,
    eviction_rate,
    zone_key,
)

NOT_READY: Final[Object] = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
UNREACHABLE: Final[Object] = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}


class NodeHealthMap:
    """Health by node; states and queues by zone. A zone is added with its first node; its queue stays."""

    def __init__(self, dependencies: ControllerDependencies) -> None:
        self.options = dependencies.options.nodes
        self.health: dict[str, NodeHealth] = {}
        self.zone_states: dict[str, ZoneState] = {}
        self.zone_queues: dict[str, RateLimitedTimedQueue] = {}
        # Called when a zone queue may have a node to taint.
        self.on_queue_change: list[Callable[[], None]] = []
        self.metrics = _ZoneMetrics(dependencies.metrics)
        self._now = dependencies.clock.monotonic

    def add_zone(self, node: ReadOnlyObject) -> None:
        """Add the zone of a node if it is new."""
        zone = zone_key(node)
        if zone not in self.zone_states:
            self.zone_states[zone] = ZoneState.INITIAL
            self.zone_queues[zone] = RateLimitedTimedQueue(self.options.eviction_rate, self._now)
            self.metrics.evictions.labels(zone).inc(0)

    def queue_node(self, node: ReadOnlyObject, taint: ReadOnlyObject) -> None:
        """Queue a node for its taint; one that lost the taint since is queued again."""
        name, queue = node["metadata"]["name"], self.zone_queues[zone_key(node)]
        # A queue keeps finished nodes so that they are tainted only once; a taint that someone removed must come back.
        if not has_taint(node["spec"].get("taints", ()), taint):
            queue.remove(name)
        if queue.add(name):
            self._notify()

    def dequeue_node(self, node: ReadOnlyObject) -> None:
        """Remove a healthy node from its zone queue."""
        self.zone_queues[zone_key(node)].remove(node["metadata"]["name"])

    def handle_disruption(self, ready: dict[str, list[bool]], at: float) -> bool:
        """Set states and rates of the zones; return True when all went down together just now.

        When the full disruption ends every node gets a new grace period: its heartbeats may have been missed.
        """
        new = self._compute_zone_states(ready)
        all_down = all(state is ZoneState.FULL for state in new.values())
        for zone in new:
            self.zone_states.setdefault(zone, ZoneState.INITIAL)
        all_were_down = self._was_fully_disrupted(ready)
        if all_down and all_were_down:
            return False
        # With all zones down the fault is most likely on this side, so no node is tainted any more.
        if all_down:
            for zone in self.zone_states:
                self.zone_queues[zone].swap_limiter(0.0)
                self.zone_states[zone] = ZoneState.FULL
            return True
        if all_were_down:
            for health in self.health.values():
                health.probed_at = at
        for zone, state in new.items():
            # After a full disruption all rates are zero, even that of a zone whose state looks unchanged.
            if all_were_down or self.zone_states[zone] is not state:
                self.zone_queues[zone].swap_limiter(eviction_rate(state, len(ready[zone]), self.options))
                self.zone_states[zone] = state
        self._notify()
        return False

    def _compute_zone_states(self, ready: dict[str, list[bool]]) -> dict[str, ZoneState]:
        new = {}
        for zone, nodes in ready.items():
            new[zone] = compute_zone_state(nodes, self.options.unhealthy_zone_threshold)
            self.metrics.size.labels(zone).set(len(nodes))
            self.metrics.health.labels(zone).set(100 * sum(nodes) / len(nodes))
            self.metrics.unhealthy.labels(zone).set(len(nodes) - sum(nodes))
        return new

    def _was_fully_disrupted(self, ready: dict[str, list[bool]]) -> bool:
        """Return whether all zones were down; forget zones without nodes."""
        for zone, state in list(self.zone_states.items()):
            if zone not in ready:
                self.metrics.size.labels(zone).set(0)
                self.metrics.health.labels(zone).set(100)
                self.metrics.unhealthy.labels(zone).set(0)
                del self.zone_states[zone]
            elif state is not ZoneState.FULL:
                # As upstream, zones after this one are not checked for missing nodes in this round.
                return False
        return True

    def _notify(self) -> None:
        for call in self.on_queue_change:
            call()


class _ZoneMetrics:
    """upstream 1.36: pkg/controller/nodelifecycle/metrics.go."""

    def __init__(self, registry: CollectorRegistry) -> None:
        zone = ["zone"]
        self.evictions = Counter(
            "node_collector_evictions",
            "Number of Node evictions that happened since current instance of NodeController started.",
            zone,
            registry=registry,
        )
        self.health = Gauge(
            "node_collector_zone_health",
            "Gauge measuring percentage of healthy nodes per zone.",
            zone,
            registry=registry,
        )
        self.size = Gauge(
            "node_collector_zone_size", "Gauge measuring number of registered Nodes per zones.", zone, registry=registry
        )
        self.unhealthy = Gauge(
            "node_collector_unhealthy_nodes_in_zone",
            "Gauge measuring number of not Ready Nodes per zones.",
            zone,
            registry=registry,
        )
