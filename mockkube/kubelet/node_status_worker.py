"""Report the status of simulated nodes, and hand them to the workers of leases and pods."""

import asyncio
import logging
from typing import Final

from mockkube.api.errors import ApiError, Conflict, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType
from mockkube.kubelet.containers.kubelet_event import KubeletEvent
from mockkube.kubelet.dependencies import KubeletDependencies
from mockkube.kubelet.nodes.node_leases import NodeLeases
from mockkube.kubelet.nodes.node_rules import NodeRules, NodeStatusInput
from mockkube.kubelet.nodes.node_status import build_status_patch, is_simulated
from mockkube.kubelet.pod_workers import PodWorkers
from mockkube.matching.node_heartbeats import is_heartbeat
from mockkube.runtime.steps import Signal
from mockkube.runtime.work_queue import WorkQueue

# Interval of unchanged reports (upstream: nodeStatusReportFrequency).
REPORT_SECONDS: Final = 300.0
# Interval in which the kubelet looks for changes (upstream: nodeStatusUpdateFrequency); here, of new images only.
IMAGES_SECONDS: Final = 10.0
# Interval in which nodes with a kubelet of their own are checked again.
OWNERSHIP_CHECK_SECONDS: Final = 10.0
# Nodes reported concurrently in one step, so that their requests wait for the server together.
BATCH_MAX: Final = 32

_LOG: Final = logging.getLogger("mockkube.kubelet")


class NodeStatusWorker:
    """Worker that reports node statuses by name."""

    def __init__(
        self, dependencies: KubeletDependencies, rules: NodeRules, *, pod_workers: PodWorkers, leases: NodeLeases
    ) -> None:
        self.name = f"{dependencies.owner}/nodes"
        self.signal = Signal()
        self._client, self._clock, self._owns_node, self._rules = (
            dependencies.client,
            dependencies.clock,
            dependencies.owns_node,
            rules,
        )
        self._nodes, self._pod_workers, self._leases, self._events = (
            dependencies.nodes,
            pod_workers,
            leases,
            dependencies.events,
        )
        self._informers = dependencies.informers
        self._node_numbers, self._stage_controller, self._stage_cache = (
            dependencies.node_numbers,
            dependencies.make_stage_controller("Node"),
            dependencies.stage_cache,
        )
        self._queue: WorkQueue[str] = WorkQueue(dependencies.clock, signal=self.signal)
        # Time of the last report by node; contains the nodes that this component simulates.
        self._report_times: dict[str, float] = {}
        leases.on_lost = self._queue.add
        pod_workers.on_image_pulled = lambda name: self._queue.add_after(name, IMAGES_SECONDS)
        dependencies.nodes.add_event_handler(self._handle_event)
        for cache in (dependencies.nodes, dependencies.stage_cache):
            cache.notify_when_synced(self.signal)
        dependencies.stage_cache.change_handlers.append(self.enqueue_all)

    def _handle_event(self, change: ObjectChange) -> None:
        """Queue a changed node; release a deleted or replaced one."""
        name = change.object["metadata"]["name"]
        old = change.old
        if old is not None and old["metadata"].get("uid") != change.object["metadata"].get("uid"):
            self._release_node(name)  # another node of this name
        if change.type is WatchEventType.DELETED:
            self._release_node(name)
            self._node_numbers.release(name)
            self._events.remove_node(name)
        elif old is None or not is_heartbeat(old, change.object) or self._stage_controller.has_stages(change.object):
            self._queue.add(name)
            if old is not None and name in self._report_times:
                self._record_schedulable(old, change.object)

    def enqueue_all(self) -> None:
        """Queue all nodes after a change of the stages, or of the nodes that this component simulates."""
        for key in self._nodes.objects:
            self._queue.add(key.name)

    def _record_schedulable(self, old: ReadOnlyObject, node: ReadOnlyObject) -> None:
        """Record an event when a node is cordoned or uncordoned."""
        closed = (node.get("spec") or {}).get("unschedulable", False)
        if closed != (old.get("spec") or {}).get("unschedulable", False):
            self._record_event(node, "NodeNotSchedulable" if closed else "NodeSchedulable")

    def _record_event(self, node: ReadOnlyObject, reason: str) -> None:
        text = f"Node {node['metadata']['name']} status is now: {reason}"
        self._events.record_event(node, KubeletEvent("Normal", reason, text))

    def _release_node(self, name: str) -> None:
        """Stop simulating the kubelet of a node."""
        if self._report_times.pop(name, None) is not None:
            self._leases.remove(name)
            self._pod_workers.remove_node(name)

    def is_ready(self) -> bool:
        """Return whether a node is due; False until nodes and stages are listed."""
        return self._nodes.has_synced and self._stage_cache.has_synced and self._queue.is_ready()

    def wake_at(self) -> float | None:
        """Return when the next node is due."""
        return self._queue.wake_at()

    async def step(self) -> None:
        """Report all nodes that are due, up to BATCH_MAX."""
        names: list[str] = []
        while self._queue.is_ready() and len(names) < BATCH_MAX:
            names.append(self._queue.get())
        try:
            async with asyncio.TaskGroup() as group:
                for name in names:
                    group.create_task(self._sync_node(name))
        finally:
            for name in names:
                self._queue.done(name)

    async def _sync_node(self, name: str) -> None:
        """Sync one node; an error concerns this node only."""
        try:
            await self._sync_if_owned(name)
            if self._informers.bad:
                self._informers.bad.forget("Node", Key("", name), self.name)
        except Exception as error:  # a node that cannot be read stops no other
            self._informers.bad.record_failure(self.name, "Node", Key("", name), error)
            self._queue.add_rate_limited(name)

    async def _sync_if_owned(self, name: str) -> None:
        """Report a node that this component simulates; release any other."""
        node = self._nodes.get(Key("", name))
        if node is None or not is_simulated(node):
            self._release_node(name)
        elif not self._owns_node(name):
            self._release_node(name)
            # Nothing in a Node changes when a kubelet of its own is stopped, so no event comes: the node is checked
            # periodically.
            self._queue.add_after(name, OWNERSHIP_CHECK_SECONDS)
        else:
            await self._report_status(name, node)

    async def _report_status(self, name: str, node: ReadOnlyObject) -> None:
        """Report the status of a node, by stages if some select it."""
        now = self._clock.monotonic()
        taken_over = name not in self._report_times
        beat = taken_over or now - self._report_times[name] >= REPORT_SECONDS
        if taken_over:
            self._leases.add(node)
            self._pod_workers.enqueue_node(name)
        if self._stage_controller.has_stages(node):
            await self._play_stage(name, node)
            self._report_times[name] = now
            return
        # Taking over a node writes only what differs, so that a restart does not patch thousands of nodes.
        again = beat and not taken_over
        report = NodeStatusInput(
            self._rules,
            self._clock.now(),
            again,
            self._node_numbers.get_number(name),
            self._pod_workers.get_images(name),
        )
        patch = build_status_patch(node, report)
        try:
            if patch:
                await self._client.patch("Node", Key("", name), {"status": patch}, subresource="status")
                self._record_ready(node, patch)
        except (NotFound, Conflict):
            return  # the watch tells
        except ApiError as error:
            _LOG.warning("node %s: %s", name, error)
            self._queue.add_rate_limited(name)
            return
        self._queue.forget(name)
        if beat:
            self._report_times[name] = now
            self._queue.add_after(name, REPORT_SECONDS)

    async def _play_stage(self, name: str, node: ReadOnlyObject) -> None:
        try:
            seconds = await self._stage_controller.play_next_stage(Key("", name), node)
        except (NotFound, Conflict):
            return
        except ApiError as error:
            _LOG.warning("node %s: %s", name, error)
            self._queue.add_rate_limited(name)
            return
        if seconds is not None:
            self._queue.add_after(name, seconds)

    def _record_ready(self, node: ReadOnlyObject, patch: ReadOnlyObject) -> None:
        """Record an event when the condition Ready changes."""
        before = {one["type"]: one["status"] for one in (node.get("status") or {}).get("conditions") or ()}
        for condition in patch.get("conditions") or ():
            if condition["type"] == "Ready" and condition["status"] != before.get("Ready"):
                self._record_event(node, "NodeReady" if condition["status"] == "True" else "NodeNotReady")
