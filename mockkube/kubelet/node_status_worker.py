"""Report the status of simulated nodes, and hand them to the workers of leases and pods."""

import asyncio
import logging
from typing import Final

from mockkube.api.errors import ApiError, Conflict, NotFound
from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import ObjectChange
from mockkube.client.protocol import EventType, Key
from mockkube.kubelet.containers import Note
from mockkube.kubelet.dependencies import Equipment
from mockkube.kubelet.node_leases import Heartbeats
from mockkube.kubelet.node_rules import NodeRules, Report
from mockkube.kubelet.node_status import is_simulated, status_patch
from mockkube.kubelet.pod_workers import PodWorker
from mockkube.runtime.steps import Signal
from mockkube.runtime.work_queue import WorkQueue

# Interval of unchanged reports (upstream: nodeStatusReportFrequency).
REPORT_SECONDS: Final = 300.0
# Interval in which the kubelet looks for changes (upstream: nodeStatusUpdateFrequency); here, of new images only.
IMAGES_SECONDS: Final = 10.0
# Interval in which nodes with a kubelet of their own are checked again.
OTHERS_SECONDS: Final = 10.0
# Nodes reported concurrently in one step, so that their requests wait for the server together.
BATCH_MAX: Final = 32

_LOG: Final = logging.getLogger("mockkube.kubelet")


class NodeWorker:
    """Worker that reports node statuses by name."""

    def __init__(self, given: Equipment, rules: NodeRules, *, pods: PodWorker, heartbeats: Heartbeats) -> None:
        self.name = f"{given.owner}/nodes"
        self.signal = Signal()
        self._client, self._clock, self._owns, self._rules = given.client, given.clock, given.owns, rules
        self._nodes, self._pods, self._heartbeats, self._reporter = given.nodes, pods, heartbeats, given.reporter
        self._caches = given.caches
        self._places, self._stages, self._book = given.places, given.player("Node"), given.book
        self._queue: WorkQueue[str] = WorkQueue(given.clock, signal=self.signal)
        # Time of the last report by node; contains the nodes that this component simulates.
        self._reported: dict[str, float] = {}
        heartbeats.lost = self._queue.add
        pods.node_pulls = lambda name: self._queue.add_after(name, IMAGES_SECONDS)
        given.nodes.add_event_handler(self._heed)
        for cache in (given.nodes, given.book):
            cache.notify_when_synced(self.signal)
        given.book.changed.append(self._look_at_all)

    def _heed(self, change: ObjectChange) -> None:
        """Queue a changed node; release a deleted or replaced one."""
        name = change.object["metadata"]["name"]
        old = change.old
        if old is not None and old["metadata"].get("uid") != change.object["metadata"].get("uid"):
            self._let_go(name)  # another node of this name
        if change.type is EventType.DELETED:
            self._let_go(name)
            self._places.leave(name)
            self._reporter.leave(name)
        else:
            self._queue.add(name)
            if old is not None and name in self._reported:
                self._tell_schedulable(old, change.object)

    def _look_at_all(self) -> None:
        """Queue all nodes after a change of the stages."""
        for key in self._nodes.objects:
            self._queue.add(key.name)

    def _tell_schedulable(self, old: ReadOnlyObject, node: ReadOnlyObject) -> None:
        """Record an event when a node is cordoned or uncordoned."""
        closed = (node.get("spec") or {}).get("unschedulable", False)
        if closed != (old.get("spec") or {}).get("unschedulable", False):
            self._event(node, "NodeNotSchedulable" if closed else "NodeSchedulable")

    def _event(self, node: ReadOnlyObject, reason: str) -> None:
        text = f"Node {node['metadata']['name']} status is now: {reason}"
        self._reporter.tell(node, Note("Normal", reason, text))

    def _let_go(self, name: str) -> None:
        """Stop simulating the kubelet of a node."""
        if self._reported.pop(name, None) is not None:
            self._heartbeats.remove(name)
            self._pods.node_gone(name)

    def is_ready(self) -> bool:
        """Return whether a node is due; False until nodes and stages are listed."""
        return self._nodes.has_synced and self._book.has_synced and self._queue.is_ready()

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
                    group.create_task(self._see_to(name))
        finally:
            for name in names:
                self._queue.done(name)

    async def _see_to(self, name: str) -> None:
        """Sync one node; an error concerns this node only."""
        try:
            await self._look_at(name)
            if self._caches.bad:
                self._caches.bad.forget("Node", Key("", name), self.name)
        except Exception as error:  # a node that cannot be read stops no other
            self._caches.bad.record_failure(self.name, "Node", Key("", name), error)
            self._queue.add_rate_limited(name)

    async def _look_at(self, name: str) -> None:
        """Report a node that this component simulates; release any other."""
        node = self._nodes.get(Key("", name))
        if node is None or not is_simulated(node):
            self._let_go(name)
        elif not self._owns(name):
            self._let_go(name)
            # Nothing in a Node changes when a kubelet of its own is stopped, so no event comes: the node is checked
            # periodically.
            self._queue.add_after(name, OTHERS_SECONDS)
        else:
            await self._tend(name, node)

    async def _tend(self, name: str, node: ReadOnlyObject) -> None:
        """Report the status of a node, by stages if some select it."""
        now = self._clock.monotonic()
        taken_over = name not in self._reported
        beat = taken_over or now - self._reported[name] >= REPORT_SECONDS
        if taken_over:
            self._heartbeats.add(node)
            self._pods.node_changed(name)
        if self._stages.governs(node):
            await self._stage(name, node)
            self._reported[name] = now
            return
        # Taking over a node writes only what differs, so that a restart does not patch thousands of nodes.
        again = beat and not taken_over
        report = Report(self._rules, self._clock.now(), again, self._places.of(name), self._pods.images(name))
        patch = status_patch(node, report)
        try:
            if patch:
                await self._client.patch("Node", Key("", name), {"status": patch}, subresource="status")
                self._tell(node, patch)
        except (NotFound, Conflict):
            return  # the watch tells
        except ApiError as error:
            _LOG.warning("node %s: %s", name, error)
            self._queue.add_rate_limited(name)
            return
        self._queue.forget(name)
        if beat:
            self._reported[name] = now
            self._queue.add_after(name, REPORT_SECONDS)

    async def _stage(self, name: str, node: ReadOnlyObject) -> None:
        try:
            seconds = await self._stages.play(Key("", name), node)
        except (NotFound, Conflict):
            return
        except ApiError as error:
            _LOG.warning("node %s: %s", name, error)
            self._queue.add_rate_limited(name)
            return
        if seconds is not None:
            self._queue.add_after(name, seconds)

    def _tell(self, node: ReadOnlyObject, patch: ReadOnlyObject) -> None:
        """Record an event when the condition Ready changes."""
        before = {one["type"]: one["status"] for one in (node.get("status") or {}).get("conditions") or ()}
        for condition in patch.get("conditions") or ():
            if condition["type"] == "Ready" and condition["status"] != before.get("Ready"):
                self._event(node, "NodeReady" if condition["status"] == "True" else "NodeNotReady")
