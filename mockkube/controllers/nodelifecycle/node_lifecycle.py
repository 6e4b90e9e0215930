"""node-lifecycle-controller: monitors heartbeats of nodes, and sets taints, labels and pod conditions.

Four queues share one memory: condition taints and labels of a node, immediately (`NodeTaintController`); health of all
nodes, every few seconds (`NodeHealthMonitor`); NoExecute taints at the rate of a zone (`NodeEvictionController`); pods
bound to a node that is already lost (`PodOnLostNodeController`).
upstream 1.36: pkg/controller/nodelifecycle/node_lifecycle_controller.go
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.controller import (
    DONE,
    RESYNC,
    Controller,
    ControllerDependencies,
    ReconcileResult,
    Requeue,
)
from mockkube.controllers.nodelifecycle.node_health import ready_condition
from mockkube.controllers.nodelifecycle.node_health_map import NOT_READY, UNREACHABLE, NodeHealthMap
from mockkube.controllers.nodelifecycle.node_monitor import NodeHealthMonitor
from mockkube.controllers.nodelifecycle.node_writer import NodeWriter, has_taint
from mockkube.controllers.nodelifecycle.pods_not_ready import mark_pods_not_ready
from mockkube.controllers.tainteviction.taint_eviction import TaintEvictionController
from mockkube.matching.node_heartbeats import is_heartbeat

NAME: Final = "node-lifecycle-controller"
SEPARATE_GATE: Final = "SeparateTaintEvictionController"
_PREFIX: Final = "node.kubernetes.io/"
_UNSCHEDULABLE: Final = f"{_PREFIX}unschedulable"
_TAINT_OF: Final = {
    ("Ready", "False"): f"{_PREFIX}not-ready",
    ("Ready", "Unknown"): f"{_PREFIX}unreachable",
    ("MemoryPressure", "True"): f"{_PREFIX}memory-pressure",
    ("DiskPressure", "True"): f"{_PREFIX}disk-pressure",
    ("NetworkUnavailable", "True"): f"{_PREFIX}network-unavailable",
    ("PIDPressure", "True"): f"{_PREFIX}pid-pressure",
}
_MANAGED_KEYS: Final = frozenset({*_TAINT_OF.values(), _UNSCHEDULABLE})
_BETA_LABELS: Final = {"kubernetes.io/os": "beta.kubernetes.io/os", "kubernetes.io/arch": "beta.kubernetes.io/arch"}
# Interval between passes over the zone queues while a node waits in them (upstream: nodeEvictionPeriod).
_PASS_SECONDS: Final = 0.1
_RETRY_SECONDS: Final = 0.05


def taints_for_conditions(node: ReadOnlyObject) -> list[Object]:
    """Return the NoSchedule taints for the conditions and `spec.unschedulable` of a node."""
    conditions = node.get("status", {}).get("conditions", ())
    keys = [_TAINT_OF.get((condition["type"], condition["status"])) for condition in conditions]
    if node["spec"].get("unschedulable"):
        keys.append(_UNSCHEDULABLE)
    return [{"key": key, "effect": "NoSchedule"} for key in keys if key]


def managed_taints(node: ReadOnlyObject) -> list[ReadOnlyObject]:
    """Return the NoSchedule taints of a node that this controller manages."""
    taints = node["spec"].get("taints", ())
    return [taint for taint in taints if taint["effect"] == "NoSchedule" and taint["key"] in _MANAGED_KEYS]


def labels_to_reconcile(node: ReadOnlyObject) -> Mapping[str, str]:
    """Return the deprecated beta labels that are missing or outdated."""
    labels = node["metadata"].get("labels", {})
    return {old: labels[new] for new, old in _BETA_LABELS.items() if new in labels and labels.get(old) != labels[new]}


class NodeTaintController(Controller):
    """Controller of condition taints and beta labels; keys are nodes."""

    name: ClassVar[str] = NAME
    event_source: ClassVar[str] = "node-controller"
    queue_name: ClassVar[str] = "node_lifecycle_controller"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.nodes = self.watched_informer("Node", self._on_node_change)
        self._writer = NodeWriter(self.client, self.clock)

    def _on_node_change(self, change: ObjectChange) -> None:
        # differs: upstream queues each heartbeat, too, after which taints and labels are the same.
        if change.type is not WatchEventType.DELETED and not (change.old and is_heartbeat(change.old, change.object)):
            self.work_queue.add(key_of(change.object))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Update the condition taints and the beta labels of a node."""
        node = self.nodes.get(key)
        if node is None:
            return DONE
        wanted, present = taints_for_conditions(node), managed_taints(node)
        add = [taint for taint in wanted if not has_taint(present, taint)]
        remove = [taint for taint in present if not has_taint(wanted, taint)]
        if add or remove:
            await self._writer.swap_taints(node, add=add, remove=remove)
        if labels := labels_to_reconcile(node):
            await self._writer.set_labels(key, labels)
        return DONE


class NodeEvictionController(Controller):
    """Takes nodes from the zone queues at the rate of their zone and taints them with NoExecute."""

    name: ClassVar[str] = f"{NAME}/evictions"
    event_source: ClassVar[str] = "node-controller"

    def __init__(self, dependencies: ControllerDependencies, health_map: NodeHealthMap) -> None:
        super().__init__(dependencies)
        self.nodes = self.informer("Node")
        self._health_map = health_map
        self._writer = NodeWriter(self.client, self.clock)
        health_map.on_queue_change.append(lambda: self.work_queue.add(RESYNC))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Taint the nodes that are due."""
        for zone, queue in self._health_map.zone_queues.items():
            while (name := queue.take()) is not None:
                try:
                    tainted = await self._taint_node(name)
                except NotFound:
                    tainted = False
                except ApiError as error:
                    self.hot_loops.record_failure(self.name, name, error.message)
                    # The node keeps its place, but each attempt costs a token of the zone's rate.
                    queue.postpone(name, 0.0)
                    continue
                queue.finish(name)
                if tainted:
                    self._health_map.metrics.evictions.labels(zone).inc()
        return self._next_pass()

    def _next_pass(self) -> ReconcileResult:
        due = [at for queue in self._health_map.zone_queues.values() if (at := queue.due_at()) is not None]
        return Requeue(after=max(min(due) - self.clock.monotonic(), _PASS_SECONDS)) if due else DONE

    async def _taint_node(self, name: str) -> bool:
        """Set the NoExecute taint for a node's Ready condition; return whether it was set."""
        node = self.nodes.get(Key("", name))
        condition = None if node is None else ready_condition(node)
        if node is None or condition is None:
            return False
        match condition["status"]:
            case "False":
                await self._writer.swap_taints(node, add=[NOT_READY], remove=[UNREACHABLE])
            case "Unknown":
                await self._writer.swap_taints(node, add=[UNREACHABLE], remove=[NOT_READY])
            case _:
                return False
        return True


class PodOnLostNodeController(Controller):
    """Marks pods not ready that were bound to a lost node; keys are pods."""

    name: ClassVar[str] = f"{NAME}/pods"
    event_source: ClassVar[str] = "node-controller"
    queue_name: ClassVar[str] = "node_lifecycle_controller_pods"

    def __init__(self, dependencies: ControllerDependencies, health_map: NodeHealthMap) -> None:
        super().__init__(dependencies)
        self.pods = self.watched_informer("Pod", self._on_pod_change)
        self.nodes = self.informer("Node")
        self._health_map = health_map

    def _on_pod_change(self, change: ObjectChange) -> None:
        if change.type is WatchEventType.DELETED:
            return
        name = change.object["spec"].get("nodeName")
        if name and (change.old is None or change.old["spec"].get("nodeName") != name):
            self.work_queue.add(key_of(change.object))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Set Ready to False if the pod's node is known not to be ready."""
        pod = self.pods.get(key)
        # by now another pod may have the name, one without a node
        health = None if pod is None else self._health_map.health.get(pod["spec"].get("nodeName", ""))
        if pod is None or health is None:
            return DONE
        name = pod["spec"]["nodeName"]
        # Upstream fails and retries when the node is missing; its health is forgotten by the next pass of the monitor.
        if self.nodes.get(Key("", name)) is None:
            return Requeue()
        if health.ready is not None and health.ready["status"] != "True":
            await mark_pods_not_ready(self.client, self.events, [pod], self.clock.now())
        return DONE


def build(dependencies: ControllerDependencies) -> Iterable[Controller]:
    """Return the queues, and taint eviction too where it is no controller of its own."""
    health_map = NodeHealthMap(dependencies)
    yield NodeTaintController(dependencies)
    yield NodeHealthMonitor(dependencies, health_map)
    yield NodeEvictionController(dependencies, health_map)
    yield PodOnLostNodeController(dependencies, health_map)
    # With the gate disabled taint eviction runs inside this controller, and stops with it.
    if not dependencies.capabilities.enabled(SEPARATE_GATE):
        yield TaintEvictionController(dependencies)
