"""Sync the pods of simulated nodes: admit them oldest first, then take them through their life.

Memory (admitted pods, IPs) is lost on restart; then every pod passes admission again, as in the real kubelet.
upstream 1.36: pkg/kubelet/kubelet.go (HandlePodAdditions), pkg/kubelet/allocation/allocation_manager.go
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from mockkube.api.errors import ApiError, Conflict, NotFound
from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import ObjectChange
from mockkube.client.protocol import Deletion, EventType, Key, key_of
from mockkube.kubelet.admitted_pod import is_mirror
from mockkube.kubelet.dependencies import Equipment
from mockkube.kubelet.node_status import is_simulated
from mockkube.kubelet.pod_syncer import Bells, Desk, KubeletRules
from mockkube.kubelet.sync_result import NOTHING, Plan
from mockkube.runtime.steps import Signal
from mockkube.runtime.work_queue import WorkQueue

# Pods synced concurrently in one step, so that their requests wait for the server together.
BATCH_MAX: Final = 32
# Pods of so many containers together end a batch: each takes tens of microseconds.
CONTAINERS_MAX: Final = 1000

_LOG: Final = logging.getLogger("mockkube.kubelet")


class PodWorker:
    """Worker that syncs pods by key, many in one step."""

    def __init__(self, given: Equipment, rules: KubeletRules) -> None:
        self.name = f"{given.owner}/pods"
        self.signal = Signal()
        self._client, self._clock, self._owns = given.client, given.clock, given.owns
        self._pods, self._nodes, self._reporter = given.pods, given.nodes, given.reporter
        self._caches = given.caches
        self._stages, self._book = given.player("Pod"), given.book
        self._queue: WorkQueue[Key] = WorkQueue(given.clock, signal=self.signal)
        bells = Bells(self._queue.add, lambda node: self.node_pulls(node))
        self._desk = Desk(rules, given.places, given.reporter, bells)
        # Called with the name of a node whose images changed.
        self.node_pulls: Callable[[str], None] = lambda node: None
        # Resource version of the last own write of each pod, until the informer has it.
        self._written: dict[Key, int] = {}
        # Pods of the first list; None after they were queued, oldest first.
        self._arrived: dict[Key, ReadOnlyObject] | None = {}
        given.pods.add_event_handler(self._heed)
        self._on_node = given.pods.index("node", _node_name)
        for cache in (given.pods, given.nodes, given.book):
            cache.notify_when_synced(self.signal)
        given.book.changed.append(self._look_at_all)

    def _heed(self, change: ObjectChange) -> None:
        """Queue a changed pod; forget a deleted one."""
        key = key_of(change.object)
        if change.type is EventType.DELETED:
            self._written.pop(key, None)
            self._stages.forget(change.object["metadata"]["uid"])
            self._desk.forget(change.object)
            if self._arrived is not None:
                self._arrived.pop(key, None)
        elif self._arrived is not None:
            # Admission depends on the order, and the first list is not sorted by age: pods are collected until it is
            # complete.
            self._arrived[key] = change.object
        else:
            self._queue.add(key)
        self.signal.notify()

    def _look_at_all(self) -> None:
        """Queue all pods after a change of the stages."""
        if self._arrived is None:
            for key in self._pods.objects:
                self._queue.add(key)

    def node_changed(self, name: str) -> None:
        """Queue all pods of a node that is new, or that this component took over."""
        if self._arrived is None:
            for pod in _by_age(self._on_node.get(name)):
                self._queue.add(key_of(pod))

    def node_gone(self, name: str) -> None:
        """Forget the state of a node that is deleted, or that another kubelet took over."""
        self._desk.close_house(name)

    def images(self, node: str) -> list[str]:
        """Return images that containers of a node started from."""
        return self._desk.images(node)

    def is_ready(self) -> bool:
        """Return whether a pod is due; False until pods, nodes and stages are listed."""
        known = self._pods.has_synced and self._nodes.has_synced and self._book.has_synced
        return known and (bool(self._arrived) or self._queue.is_ready())

    def wake_at(self) -> float | None:
        """Return when the next pod is due."""
        return self._queue.wake_at()

    async def step(self) -> None:
        """Sync all pods that are due, up to BATCH_MAX."""
        if self._arrived is not None:
            present, self._arrived = self._arrived, None
            for arrived in _by_age(present.values()):
                self._queue.add(key_of(arrived))
        keys, containers = list[Key](), 0
        while self._queue.is_ready() and len(keys) < BATCH_MAX and containers < CONTAINERS_MAX:
            keys.append(self._queue.get())
            containers += self._count_containers(keys[-1])
        async with asyncio.TaskGroup() as group:
            for key in keys:
                # Decisions are made one after the other in queue order, since each counts the pods admitted before;
                # only the writes run concurrently.
                if (decision := self._plan(key)) is not None:
                    group.create_task(self._perform(key, *decision))
        for key in keys:
            self._queue.done(key)

    def _count_containers(self, key: Key) -> int:
        spec = (self._pods.get(key) or {}).get("spec")
        containers = spec.get("containers") if isinstance(spec, dict) else None
        return len(containers) if isinstance(containers, list) else 1

    def _plan(self, key: Key) -> tuple[ReadOnlyObject, Plan] | None:
        """Return the pod of a key and the result of its sync; None if there is nothing to do."""
        try:
            pod = self._present(key)
            return None if pod is None else (pod, self._decide(pod))
        except Exception as error:
            self._stumble(key, error)
            return None

    def _stumble(self, key: Key, error: Exception) -> None:
        """Retry without the object that caused the error if it is another one; else report the pod as failing."""
        if self._caches.hide_culprit(self.name, error, own=key):
            self._queue.add(key)
            return
        self._caches.bad.record_failure(self.name, "Pod", key, error)
        self._queue.add_rate_limited(key)

    def _present(self, key: Key) -> ReadOnlyObject | None:
        """Return the pod if this component syncs it and its cached state includes the last own write."""
        pod = self._pods.get(key)
        if pod is None or int(pod["metadata"]["resourceVersion"]) < self._written.get(key, 0):
            return None
        self._written.pop(key, None)
        node = self._nodes.get(Key("", _node_of(pod)))
        if node is None or not is_simulated(node) or not self._owns(node["metadata"]["name"]):
            return None
        return pod

    def _decide(self, pod: ReadOnlyObject, node: ReadOnlyObject | None = None) -> Plan:
        """Sync the pod with the cached node, or with the one just read."""
        known = node or self._nodes.get(Key("", _node_of(pod)))
        assert known is not None, "only pods of present nodes are decided about"
        if is_mirror(pod):
            # The kubelet of a mirror pod is elsewhere; here it is only deleted without delay.
            return Plan(delete=True) if pod["metadata"].get("deletionTimestamp") else NOTHING
        staged = self._stages.governs(pod)
        return self._desk.decide(pod, known, self._clock.now(), fresh=node is not None, staged=staged)

    async def _perform(self, key: Key, pod: ReadOnlyObject, what: Plan) -> None:
        try:
            if what.look_again:
                what = self._decide(pod, await self._client.get("Node", Key("", _node_of(pod))))
            for note in what.notes:
                self._reporter.tell(pod, note)
            if what.delete:
                await self._client.delete("Pod", key, Deletion(uid=pod["metadata"]["uid"], grace_seconds=0))
            elif what.staged:
                await self._stage(key, pod)
            elif what.status is not None:
                patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": what.status}
                stored = await self._client.patch("Pod", key, patch, subresource="status")
                self._written[key] = int(stored["metadata"]["resourceVersion"])
        # The pod was deleted, or another has its name (the patch names the uid): the watch delivers what is new.
        except (NotFound, Conflict):
            self._queue.forget(key)  # it is gone, or another has its name: the watch tells
        except ApiError as error:
            _LOG.warning("pod %s: %s", key, error)
            self._queue.add_rate_limited(key)
        except Exception as error:
            self._stumble(key, error)
        else:
            self._queue.forget(key)
            if self._caches.bad:
                self._caches.bad.forget("Pod", key, self.name)
            if what.again_at is not None:
                self._queue.add_after(key, (what.again_at - self._clock.now()).total_seconds())

    async def _stage(self, key: Key, pod: ReadOnlyObject) -> None:
        seconds = await self._stages.play(key, pod)
        if seconds is not None:
            self._queue.add_after(key, seconds)


def _node_of(pod: ReadOnlyObject) -> str:
    name: str = pod["spec"].get("nodeName", "")
    return name


def _node_name(pod: ReadOnlyObject) -> tuple[str, ...]:
    return (_node_of(pod),)


def _by_age(pods: Iterable[ReadOnlyObject]) -> list[ReadOnlyObject]:
    return sorted(pods, key=lambda pod: (pod["metadata"].get("creationTimestamp", ""), key_of(pod)))
