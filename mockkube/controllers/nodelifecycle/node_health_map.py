"""What the queues of the node lifecycle share and a restart loses: health of nodes, states and queues of zones."""

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.controllers.framework.controller import Setting
from mockkube.controllers.nodelifecycle.node_health import Health
from mockkube.controllers.nodelifecycle.node_writer import has_taint
from mockkube.controllers.nodelifecycle.zones import ZoneQueue, ZoneState, rate_of, state_of, zone_of

NOT_READY: Final[Object] = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
UNREACHABLE: Final[Object] = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}


class NodeMemory:
    """Health by node; states and queues by zone. Zones come with their first node, and their queues stay."""

    def __init__(self, setting: Setting) -> None:
        self.options = setting.options.nodes
        self.health: dict[str, Health] = {}
        self.states: dict[str, ZoneState] = {}
        self.queues: dict[str, ZoneQueue] = {}
        self.waiting: list[Callable[[], None]] = []
        """Called when a queue may have something to give."""
        self.metrics = _Metrics(setting.metrics)
        self._now = setting.clock.monotonic

    def open_zone(self, node: ReadOnlyObject) -> None:
        """Begin to follow the zone of a node."""
        zone = zone_of(node)
        if zone not in self.states:
            self.states[zone] = ZoneState.INITIAL
            self.queues[zone] = ZoneQueue(self.options.eviction_rate, self._now)
            self.metrics.evictions.labels(zone).inc(0)

    def let_wait(self, node: ReadOnlyObject, taint: ReadOnlyObject) -> None:
        """Let a node wait for its taint; one that lost the taint it had been given begins again."""
        name, queue = node["metadata"]["name"], self.queues[zone_of(node)]
        if not has_taint(node["spec"].get("taints", ()), taint):
            queue.remove(name)
        if queue.add(name):
            self._wake()

    def forget_waiting(self, node: ReadOnlyObject) -> None:
        """Take a node off the queue: it is well."""
        self.queues[zone_of(node)].remove(node["metadata"]["name"])

    def judge_zones(self, ready: dict[str, list[bool]], at: float) -> bool:
        """Set states and rates of the zones from what is ready now; True when all just went down together.

        When that is over, every node is given its grace anew: it may well have been heard of meanwhile.
        """
        new = self._states_of(ready)
        all_down = all(state is ZoneState.FULL for state in new.values())
        for zone in new:
            self.states.setdefault(zone, ZoneState.INITIAL)
        all_were_down = self._all_were_down(ready)
        if all_down and all_were_down:
            return False
        if all_down:
            for zone in self.states:
                self.queues[zone].swap_rate(0.0)
                self.states[zone] = ZoneState.FULL
            return True
        if all_were_down:
            for health in self.health.values():
                health.heard_at = at
        for zone, state in new.items():
            if all_were_down or self.states[zone] is not state:
                self.queues[zone].swap_rate(rate_of(state, len(ready[zone]), self.options))
                self.states[zone] = state
        self._wake()
        return False

    def _states_of(self, ready: dict[str, list[bool]]) -> dict[str, ZoneState]:
        new = {}
        for zone, nodes in ready.items():
            new[zone] = state_of(nodes, self.options.unhealthy_zone_threshold)
            self.metrics.size.labels(zone).set(len(nodes))
            self.metrics.health.labels(zone).set(100 * sum(nodes) / len(nodes))
            self.metrics.unhealthy.labels(zone).set(len(nodes) - sum(nodes))
        return new

    def _all_were_down(self, ready: dict[str, list[bool]]) -> bool:
        """Whether all zones were down, forgetting those that have no nodes left."""
        for zone, state in list(self.states.items()):
            if zone not in ready:
                self.metrics.size.labels(zone).set(0)
                self.metrics.health.labels(zone).set(100)
                self.metrics.unhealthy.labels(zone).set(0)
                del self.states[zone]
            elif state is not ZoneState.FULL:
                return False
        return True

    def _wake(self) -> None:
        for call in self.waiting:
            call()


class _Metrics:
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
