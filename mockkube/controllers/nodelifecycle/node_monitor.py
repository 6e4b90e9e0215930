"""Node monitor: finds new, deleted, lost and recovered nodes, and updates taints, zones and their pods.

upstream 1.36: pkg/controller/nodelifecycle/node_lifecycle_controller.go, monitorNodeHealth
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Key, Selection, key_of
from mockkube.controllers.framework.controller import (
    RESYNC,
    Controller,
    ControllerDependencies,
    ReconcileResult,
    Requeue,
)
from mockkube.controllers.nodelifecycle.node_health import (
    CurrentTime,
    NodeHealth,
    is_grace_period_over,
    observe_health,
    observe_lease,
    ready_condition,
    with_unknown_conditions,
)
from mockkube.controllers.nodelifecycle.node_health_map import NOT_READY, UNREACHABLE, NodeHealthMap
from mockkube.controllers.nodelifecycle.node_writer import NodeWriter, has_taint
from mockkube.controllers.nodelifecycle.pods_not_ready import mark_pods_not_ready
from mockkube.controllers.nodelifecycle.zones import zone_key
from mockkube.controllers.pods.by_node import pods_by_node
from mockkube.lazy_dataclasses import dataclass

LEASES: Final = Selection(namespace="kube-node-lease")
_EXCLUDED: Final = "node.kubernetes.io/exclude-disruption"
_TRIES_MAX: Final = 5


@dataclass(slots=True)
class _SteadyNode:
    """Node that was Ready and without our taints; only its lease is read until the node changes or is lost."""

    node: ReadOnlyObject
    zone: str
    health: NodeHealth
    lease_key: Key
    lease: ReadOnlyObject | None = None


class NodeHealthMonitor(Controller):
    """Monitor of the health of all nodes, in periodic passes."""

    name: ClassVar[str] = "node-lifecycle-controller/monitor"
    event_source: ClassVar[str] = "node-controller"

    def __init__(self, dependencies: ControllerDependencies, health_map: NodeHealthMap) -> None:
        super().__init__(dependencies)
        self.nodes = self.informer("Node")
        self.leases = self.informer("Lease", LEASES)
        self._pods_by_node = pods_by_node(self.informer("Pod"))
        self._health_map, self._options = health_map, dependencies.options.nodes
        self._writer = NodeWriter(self.client, self.clock)
        self._known_nodes: dict[str, ReadOnlyObject] = {}
        # Most nodes in most passes: a pass over thousands of nodes every few seconds has to be cheap.
        self._steady_nodes: dict[str, _SteadyNode] = {}
        # Nodes with pods that could not be marked not ready yet.
        self._nodes_to_retry: set[str] = set()
        self.work_queue.add(RESYNC)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Check every node once."""
        nodes = self.nodes.list()
        await self._classify_nodes(nodes)
        ready: dict[str, list[bool]] = {}
        now, leases = self.clock.monotonic(), self.leases.objects
        for name, node in self._known_nodes.items():
            steady = self._steady_nodes.get(name)
            if steady is not None and steady.node is node and self._is_alive(steady, leases, now):
                ready.setdefault(steady.zone, []).append(True)
            else:
                await self._monitor_node(node, ready)
                now, leases = self.clock.monotonic(), self.leases.objects
        # Zones are judged after all nodes, since a zone's state depends on each of its nodes.
        if ready and self._health_map.handle_disruption(ready, self.clock.monotonic()):
            for node in nodes:
                await self._mark_node_as_reachable(node)
        return Requeue(after=self._options.monitor_period_seconds)

    async def _classify_nodes(self, nodes: Sequence[ReadOnlyObject]) -> None:
        """Record added and deleted nodes, and add zones of new ones."""
        present = {node["metadata"]["name"]: node for node in nodes}
        for name, node in present.items():
            steady = self._steady_nodes.get(name)
            if steady is not None and steady.node is node:
                continue
            self._health_map.add_zone(node)
            if name not in self._known_nodes:
                self._record_event(node, "RegisteredNode", f"Registered Node {name} in Controller")
                await self._mark_node_as_reachable(node)
        for name, node in self._known_nodes.items():
            if name not in present:
                self._record_event(node, "RemovingNode", f"Removing Node {name} from Controller")
                self._health_map.health.pop(name, None)
                self._steady_nodes.pop(name, None)
                self._nodes_to_retry.discard(name)
        self._known_nodes = present

    def _record_event(self, node: ReadOnlyObject, reason: str, message: str) -> None:
        self.events.record(_node_reference(node), "Normal", reason, f"Node {node['metadata']['name']} event: {message}")

    def _is_alive(self, steady: _SteadyNode, leases: Mapping[Key, ReadOnlyObject], now: float) -> bool:
        """Observe the lease of a node; return whether its grace period is not over."""
        lease = leases.get(steady.lease_key)  # hot: per node and pass
        if lease is not steady.lease:
            observe_lease(steady.health, lease, now)
            steady.lease = lease
        return now <= steady.health.probed_at + self._options.monitor_grace_seconds

    async def _monitor_node(self, node: ReadOnlyObject, ready: dict[str, list[bool]]) -> None:
        """Update health, taints and pods of one node, and note its readiness by zone."""
        name, listed = node["metadata"]["name"], node
        self._steady_nodes.pop(name, None)
        observed = "Unknown" if (before := ready_condition(node)) is None else before["status"]
        try:
            node, observed = await self._update_health_with_retries(node)
        except ApiError as error:
            self.hot_loops.record_failure(self.name, name, error.message)
            return
        condition = ready_condition(node)
        # Nodes with this label come and go as they like, and do not count for the disruption of a zone.
        is_counted = _EXCLUDED not in node["metadata"].get("labels", {})
        if is_counted:
            is_ready = condition is not None and condition["status"] == "True"
            ready.setdefault(zone_key(node), []).append(is_ready)
        if condition is not None:
            await self._update_taints(node, condition["status"])
            if not await self._mark_pods_not_ready(node, observed, condition["status"]):
                return
        self._nodes_to_retry.discard(name)
        if node is listed and is_counted and condition is not None and condition["status"] == "True":
            self._note_steady_node(name, node)

    def _note_steady_node(self, name: str, node: ReadOnlyObject) -> None:
        taints = node["spec"].get("taints", ())
        if not has_taint(taints, UNREACHABLE) and not has_taint(taints, NOT_READY):
            health, lease_key = self._health_map.health[name], Key(LEASES.namespace, name)
            self._steady_nodes[name] = _SteadyNode(node, zone_key(node), health, lease_key)

    async def _update_health_with_retries(self, node: ReadOnlyObject) -> tuple[ReadOnlyObject, str]:
        """Return the node after its health was updated, and the status of its Ready condition before."""
        for tries in range(1, _TRIES_MAX + 1):
            condition = ready_condition(node)
            observed = "Unknown" if condition is None else condition["status"]
            try:
                return await self._try_update_node_health(node), observed
            except NotFound:
                raise
            except ApiError:
                if tries == _TRIES_MAX:
                    raise
                # Most failures are conflicts with the kubelet's own status update, so the retry starts from the stored
                # node.
                node = await self.client.get("Node", key_of(node))
        raise AssertionError("the last try returns or raises")

    async def _try_update_node_health(self, node: ReadOnlyObject) -> ReadOnlyObject:
        """Observe the health of a node; if its grace period is over, set its conditions to Unknown."""
        name, now = node["metadata"]["name"], CurrentTime(self.clock.now(), self.clock.monotonic())
        lease = self.leases.get(Key(LEASES.namespace, name))
        health = self._health_map.health[name] = observe_health(self._health_map.health.get(name), node, lease, now)
        if not is_grace_period_over(health, node, self._options, now):
            return node
        status: Object = {**node.get("status", {}), "conditions": with_unknown_conditions(node, now.wall)}
        silent: Object = {**node, "status": status}
        if ready_condition(silent) != ready_condition(node):
            await self.client.update("Node", silent, subresource="status")
            # The condition written here must not be taken for a heartbeat in the next pass.
            self._health_map.health[name] = NodeHealth(
                ready_condition(silent), health.probed_at, health.lease_renew_time
            )
        return silent

    async def _update_taints(self, node: ReadOnlyObject, status: str) -> None:
        """Remove, swap or queue the NoExecute taint for the status of condition Ready."""
        try:
            if status == "True":
                await self._mark_node_as_reachable(node)
            else:
                wanted, other = (NOT_READY, UNREACHABLE) if status == "False" else (UNREACHABLE, NOT_READY)
                # A node that is tainted already only gets the other taint; it does not pass the zone queue a second
                # time.
                if has_taint(node["spec"].get("taints", ()), other):
                    await self._writer.swap_taints(node, add=[wanted], remove=[other])
                else:
                    self._health_map.queue_node(node, wanted)
        except ApiError as error:
            self.hot_loops.record_failure(self.name, node["metadata"]["name"], error.message)

    async def _mark_node_as_reachable(self, node: ReadOnlyObject) -> None:
        try:
            await self._writer.remove_taints(node, [UNREACHABLE])
            await self._writer.remove_taints(node, [NOT_READY])
        except ApiError as error:
            self.hot_loops.record_failure(self.name, node["metadata"]["name"], error.message)
            return
        self._health_map.dequeue_node(node)

    async def _mark_pods_not_ready(self, node: ReadOnlyObject, observed: str, current: str) -> bool:
        """Mark pods not ready if their node was lost just now, or if marking them failed before."""
        name = node["metadata"]["name"]
        if current != "True" and observed == "True":
            about, message = _node_reference(node), f"Node {name} status is now: NodeNotReady"
            self.events.record(about, "Normal", "NodeNotReady", message)
        elif name not in self._nodes_to_retry or observed == "True":
            return True
        try:
            await mark_pods_not_ready(self.client, self.events, self._pods_by_node.get(name), self.clock.now())
        except ApiError as error:
            self.hot_loops.record_failure(self.name, name, error.message)
            self._nodes_to_retry.add(name)
            return False
        return True


def _node_reference(node: ReadOnlyObject) -> Object:
    metadata = node["metadata"]
    return {"apiVersion": "v1", "kind": "Node", "name": metadata["name"], "uid": metadata["uid"]}
