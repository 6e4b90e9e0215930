"""Node monitor: finds new, deleted, lost and recovered nodes, and updates taints, zones and their pods.

upstream 1.36: pkg/controller/nodelifecycle/node_lifecycle_controller.go, monitorNodeHealth
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import ClassVar, Final

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Heartbeats, Key, Selection, WatchEventType, key_of
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
from mockkube.controllers.nodelifecycle.steady_nodes import SteadyNode, SteadyNodes
from mockkube.controllers.nodelifecycle.zones import zone_key
from mockkube.controllers.pods.by_node import pods_by_node

LEASES: Final = Selection(namespace="kube-node-lease")
_EXCLUDED: Final = "node.kubernetes.io/exclude-disruption"
_TRIES_MAX: Final = 5


class NodeHealthMonitor(Controller):
    """Monitor of the health of all nodes, in periodic passes."""

    name: ClassVar[str] = "node-lifecycle-controller/monitor"
    event_source: ClassVar[str] = "node-controller"

    def __init__(self, dependencies: ControllerDependencies, health_map: NodeHealthMap) -> None:
        super().__init__(dependencies)
        self.nodes = self.watched_informer("Node", self._on_node_change)
        self.leases = self.informer("Lease", LEASES)
        self.leases.add_event_handler(self._on_lease_change)
        self.leases.add_heartbeat_handler(self._on_renewals)
        self._pods_by_node = pods_by_node(self.informer("Pod"))
        self._health_map, self._options = health_map, dependencies.options.nodes
        self._writer = NodeWriter(self.client, self.clock)
        self._known_nodes: dict[str, ReadOnlyObject] = {}
        # Most nodes in most passes: a pass over thousands of nodes every few seconds has to be cheap.
        self._steady_nodes = SteadyNodes()
        # Names of nodes that changed, and of those whose lease changed, since the last pass.
        self._changed_nodes: dict[str, None] = {}
        self._renewed_nodes: dict[str, None] = {}
        # Fields of leases that are newer than the leases in the cache, by the name of the node.
        self._renewals: dict[str, ReadOnlyObject] = {}
        # Whether the last pass has seen all nodes that there are, and has not failed.
        self._knows_all = False
        # Nodes with pods that could not be marked not ready yet.
        self._nodes_to_retry: set[str] = set()
        self.work_queue.add(RESYNC)

    def _on_node_change(self, change: ObjectChange) -> None:
        self._knows_all = self._knows_all and change.type is WatchEventType.MODIFIED
        self._changed_nodes[change.object["metadata"]["name"]] = None

    def _on_lease_change(self, change: ObjectChange) -> None:
        name = change.object["metadata"]["name"]
        self._renewed_nodes[name] = None
        self._renewals.pop(name, None)

    def _on_renewals(self, renewals: Heartbeats) -> None:
        names = [key.name for key in renewals.keys]
        self._renewed_nodes.update(dict.fromkeys(names))
        self._renewals.update(dict.fromkeys(names, renewals.change))

    def _find_renewal(self, name: str) -> ReadOnlyObject | None:
        """Return the lease of a node, at least the fields that its last renewal has set."""
        return self._renewals.get(name) or self.leases.get(Key(LEASES.namespace, name))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Check every node once."""
        knew_all, self._knows_all = self._knows_all, True
        try:
            await self._check_nodes(knew_all=knew_all)
        except BaseException:
            self._knows_all = False
            raise
        return Requeue(after=self._options.monitor_period_seconds)

    async def _check_nodes(self, *, knew_all: bool) -> None:
        changed, self._changed_nodes = self._changed_nodes, {}
        now = self.clock.monotonic()
        self._observe_renewals(now)
        # Without news all steady nodes are alive until the first of them may be lost.
        may_be_lost = now > self._steady_nodes.heard_at + self._options.monitor_grace_seconds
        if may_be_lost or not knew_all or not self._update_known(changed):
            await self._classify_nodes(self.nodes.list())
            self._drop_lost_nodes(now)
        ready = self._steady_nodes.make_ready_lists()
        for name in [name for name in self._known_nodes if name not in self._steady_nodes.nodes]:
            await self._monitor_node(self._known_nodes[name], ready)
        ready = {zone: states for zone, states in ready.items() if states}
        # Zones are judged after all nodes, since a zone's state depends on each of its nodes.
        if ready and self._health_map.handle_disruption(ready, self.clock.monotonic()):
            for node in self.nodes.list():
                await self._mark_node_as_reachable(node)

    def _observe_renewals(self, now: float) -> None:
        """Observe the leases that steady nodes have renewed."""
        renewed, self._renewed_nodes = self._renewed_nodes, {}
        for name in renewed:  # hot: per renewal
            if (steady := self._steady_nodes.nodes.get(name)) is not None:
                observe_lease(steady.health, self._find_renewal(name), now)

    def _update_known(self, changed: Iterable[str]) -> bool:
        """Take the present state of changed nodes; return False if one is no longer known."""
        for name in changed:
            node = self.nodes.get(Key("", name))
            if node is None or name not in self._known_nodes:
                return False
            if self._known_nodes[name] is not node:
                self._known_nodes[name] = node
                self._steady_nodes.drop(name)
                self._health_map.add_zone(node)
        return True

    def _drop_lost_nodes(self, now: float) -> None:
        """Drop the steady nodes that have changed, or that nobody heard of for the grace period."""
        steady_nodes, grace_seconds = self._steady_nodes, self._options.monitor_grace_seconds
        for name, steady in list(steady_nodes.nodes.items()):
            if steady.node is not self._known_nodes.get(name) or now > steady.health.probed_at + grace_seconds:
                steady_nodes.drop(name)
        steady_nodes.heard_at = min((one.health.probed_at for one in steady_nodes.nodes.values()), default=inf)
        steady_nodes.zones = list(dict.fromkeys(map(zone_key, self._known_nodes.values())))

    async def _classify_nodes(self, nodes: Sequence[ReadOnlyObject]) -> None:
        """Record added and deleted nodes, and add zones of new ones."""
        present = {node["metadata"]["name"]: node for node in nodes}
        for name, node in present.items():
            steady = self._steady_nodes.nodes.get(name)
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
                self._steady_nodes.drop(name)
                self._nodes_to_retry.discard(name)
        self._known_nodes = present

    def _record_event(self, node: ReadOnlyObject, reason: str, message: str) -> None:
        self.events.record(_node_reference(node), "Normal", reason, f"Node {node['metadata']['name']} event: {message}")

    async def _monitor_node(self, node: ReadOnlyObject, ready: dict[str, list[bool]]) -> None:
        """Update health, taints and pods of one node, and note its readiness by zone."""
        name, listed = node["metadata"]["name"], node
        self._steady_nodes.drop(name)
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
            self._steady_nodes.add(name, SteadyNode(node, zone_key(node), self._health_map.health[name]))

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
        lease, known = self._find_renewal(name), self._health_map.health.get(name)
        health = self._health_map.health[name] = observe_health(known, node, lease, now)
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
