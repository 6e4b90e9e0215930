"""The nodes themselves: each one simulated is described, kept Ready, and kept alive by its lease."""

import logging
from collections.abc import Callable
from typing import Final

from mockkube.api.errors import ApiError, Conflict, NotFound
from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import Change, ListWatch
from mockkube.client.protocol import Client, EventType, Key
from mockkube.features.versions import Version
from mockkube.kubelet.containers import Note
from mockkube.kubelet.heartbeats import Heartbeats
from mockkube.kubelet.node_status import Places, is_simulated, status_patch
from mockkube.kubelet.pods import PodWorker
from mockkube.kubelet.reporting import Reporter
from mockkube.kubelet.stages.book import StageBook
from mockkube.kubelet.stages.player import StagePlayer
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Bell
from mockkube.runtime.work_queue import WorkQueue

REPORT_SECONDS: Final = 300.0
"""How often a kubelet reports though nothing has changed."""

_LOG: Final = logging.getLogger("mockkube.kubelet")


class NodeWorker:
    """A worker that reports the status of one node after the other."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        *,
        nodes: ListWatch,
        pods: PodWorker,
        heartbeats: Heartbeats,
        owns: Callable[[str], bool],
        version: Version,
        places: Places,
        stages: StagePlayer,
        book: StageBook,
        reporter: Reporter,
        owner: str,
    ) -> None:
        self.name = f"{owner}/nodes"
        self.bell = Bell()
        self._client, self._clock, self._owns, self._version = client, clock, owns, version
        self._nodes, self._pods, self._heartbeats, self._reporter = nodes, pods, heartbeats, reporter
        self._places, self._stages, self._book = places, stages, book
        self._queue: WorkQueue[str] = WorkQueue(clock, bell=self.bell)
        self._reported: dict[str, float] = {}
        """When each node in our hands was reported last."""
        nodes.subscribe(self._heed)
        for cache in (nodes, book):
            cache.tell_synced(self.bell)
        book.changed.append(self._look_at_all)

    def _heed(self, change: Change) -> None:
        name = change.object["metadata"]["name"]
        if change.type is EventType.DELETED:
            self._let_go(name)
            self._pods.node_gone(name)
            self._places.leave(name)
        else:
            self._queue.add(name)

    def _look_at_all(self) -> None:
        """See to every node: what stages there are has changed."""
        for key in self._nodes.objects:
            self._queue.add(key.name)

    def _let_go(self, name: str) -> None:
        self._reported.pop(name, None)
        self._heartbeats.remove(name)

    def ready(self) -> bool:
        """Whether there is a node to see to."""
        return self._nodes.synced and self._book.synced and self._queue.ready()

    def wake_at(self) -> float | None:
        """Return when the next node is due."""
        return self._queue.wake_at()

    async def step(self) -> None:
        """See to one node."""
        name = self._queue.get()
        try:
            node = self._nodes.get(Key("", name))
            if node is None or not is_simulated(node) or not self._owns(name):
                self._let_go(name)
            else:
                await self._tend(name, node)
        finally:
            self._queue.done(name)

    async def _tend(self, name: str, node: ReadOnlyObject) -> None:
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
        again = beat and not taken_over
        patch = status_patch(node, self._places.of(name), version=self._version, now=self._clock.now(), beat=again)
        try:
            if patch:
                self._tell(node, patch)
                await self._client.patch("Node", Key("", name), {"status": patch}, subresource="status")
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
        """Tell when the node becomes ready, or ceases to be."""
        before = {one["type"]: one["status"] for one in (node.get("status") or {}).get("conditions") or ()}
        for condition in patch.get("conditions") or ():
            if condition["type"] == "Ready" and condition["status"] != before.get("Ready"):
                reason = "NodeReady" if condition["status"] == "True" else "NodeNotReady"
                text = f"Node {node['metadata']['name']} status is now: {reason}"
                self._reporter.tell(node, Note("Normal", reason, text))
