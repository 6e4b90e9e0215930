"""Sync the pods of simulated nodes: admit them oldest first, then take them through their life.

Memory (admitted pods, IPs) is lost on restart; then every pod passes admission again, as in the real kubelet.
upstream 1.36: pkg/kubelet/kubelet.go (HandlePodAdditions), pkg/kubelet/allocation/allocation_manager.go
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from mockkube.api.errors import ApiError, Conflict, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import DeleteOptions, Key, WatchEventType, key_of
from mockkube.kubelet.admission.admitted_pod import is_mirror
from mockkube.kubelet.dependencies import KubeletDependencies
from mockkube.kubelet.nodes.node_status import is_simulated
from mockkube.kubelet.pods.pod_syncer import KubeletRules, PodSyncer, RequeueCallbacks
from mockkube.kubelet.pods.referenced_objects import ReferencedObjects
from mockkube.kubelet.pods.sync_result import NOTHING, SyncResult
from mockkube.runtime.steps import Signal
from mockkube.runtime.work_queue import WorkQueue

# Pods synced concurrently in one step, so that their requests wait for the server together.
BATCH_MAX: Final = 32
# Pods of so many containers together end a batch: each takes tens of microseconds.
CONTAINERS_MAX: Final = 1000

_LOG: Final = logging.getLogger("mockkube.kubelet")


class PodWorkers:
    """Worker that syncs pods by key, many in one step."""

    def __init__(self, dependencies: KubeletDependencies, rules: KubeletRules) -> None:
        self.name = f"{dependencies.owner}/pods"
        self.signal = Signal()
        self.batch_max = BATCH_MAX
        self._client, self._clock, self._owns_node = dependencies.client, dependencies.clock, dependencies.owns_node
        self._pods, self._nodes, self._events = dependencies.pods, dependencies.nodes, dependencies.events
        self._informers = dependencies.informers
        self._stage_controller, self._stage_cache = dependencies.make_stage_controller("Pod"), dependencies.stage_cache
        self._queue: WorkQueue[Key] = WorkQueue(dependencies.clock, signal=self.signal)
        bells = RequeueCallbacks(self._queue.add, lambda node: self.on_image_pulled(node))
        self._referenced_objects = ReferencedObjects(
            dependencies.client,
            dependencies.clock,
            dependencies.nodes,
            dependencies.services,
            dependencies.container_states,
        )
        self._container_states = dependencies.container_states
        dependencies.container_states.listeners[self._enqueue_changed] = None
        self._pod_syncer = PodSyncer(
            rules, dependencies.node_numbers, dependencies.events, bells, self._referenced_objects
        )
        # Called with the name of a node whose images changed.
        self.on_image_pulled: Callable[[str], None] = lambda node: None
        # Resource version of the last own write of each pod, until the informer has it.
        self._written_versions: dict[Key, int] = {}
        # Pods of the first list; None after they were queued, oldest first.
        self._initial_pods: dict[Key, ReadOnlyObject] | None = {}
        dependencies.pods.add_event_handler(self._handle_event)
        self._pods_by_node = dependencies.pods.index("node", _node_index)
        self._services = dependencies.services
        for cache in (dependencies.pods, dependencies.nodes, dependencies.services, dependencies.stage_cache):
            cache.notify_when_synced(self.signal)
        dependencies.stage_cache.change_handlers.append(self._enqueue_all)

    def _handle_event(self, change: ObjectChange) -> None:
        """Queue a changed pod; forget a deleted one."""
        key = key_of(change.object)
        if change.type is WatchEventType.DELETED:
            self._written_versions.pop(key, None)
            self._stage_controller.forget(change.object["metadata"]["uid"])
            self._pod_syncer.remove_pod(change.object)
            if self._initial_pods is not None:
                self._initial_pods.pop(key, None)
        elif self._initial_pods is not None:
            # Admission depends on the order, and the first list is not sorted by age: pods are collected until it is
            # complete.
            self._initial_pods[key] = change.object
        else:
            self._queue.add(key)
        self.signal.notify()

    def _enqueue_all(self) -> None:
        """Queue all pods after a change of the stages."""
        if self._initial_pods is None:
            for key in self._pods.objects:
                self._queue.add(key)

    def _enqueue_changed(self, pod: ReadOnlyObject) -> None:
        """Queue a pod whose containers a client has changed, if it is one of this kubelet."""
        key = key_of(pod)
        if self._initial_pods is None and self._pods.get(key) is not None:
            self._pod_syncer.retry_probes(pod)
            self._queue.add(key)

    def close(self) -> None:
        """Stop listening to changes of containers."""
        self._container_states.listeners.pop(self._enqueue_changed, None)

    def enqueue_node(self, name: str) -> None:
        """Queue all pods of a node that is new, or that this component took over."""
        if self._initial_pods is None:
            for pod in _sort_by_age(self._pods_by_node.get(name)):
                self._queue.add(key_of(pod))

    def remove_node(self, name: str) -> None:
        """Forget the state of a node that is deleted, or that another kubelet took over."""
        self._pod_syncer.remove_node(name)

    def get_images(self, node: str) -> list[str]:
        """Return images that containers of a node started from."""
        return self._pod_syncer.get_images(node)

    def is_ready(self) -> bool:
        """Return whether a pod is due; False until pods, nodes, services and stages are listed."""
        known = self._pods.has_synced and self._nodes.has_synced and self._stage_cache.has_synced
        # Upstream, too, starts no container before it has read the services once.
        known = known and self._services.has_synced
        return known and (bool(self._initial_pods) or self._queue.is_ready())

    def wake_at(self) -> float | None:
        """Return when the next pod is due."""
        return self._queue.wake_at()

    def list_delays(self) -> list[tuple[Key, float]]:
        """Return the pods that are synced again without a change, each with the seconds until then."""
        return self._queue.list_delays()

    async def step(self) -> None:
        """Sync all pods that are due, up to `batch_max`."""
        if self._initial_pods is not None:
            present, self._initial_pods = self._initial_pods, None
            for arrived in _sort_by_age(present.values()):
                self._queue.add(key_of(arrived))
        keys, containers = list[Key](), 0
        while self._queue.is_ready() and len(keys) < self.batch_max and containers < CONTAINERS_MAX:
            keys.append(self._queue.get())
            containers += self._count_containers(keys[-1])
        await self._referenced_objects.read(pod for key in keys if (pod := self._pods.get(key)) is not None)
        async with asyncio.TaskGroup() as group:
            for key in keys:
                # Decisions are made one after the other in queue order, since each counts the pods admitted before;
                # only the writes run concurrently.
                if (decision := self._sync_pod(key)) is not None:
                    group.create_task(self._apply_result(key, *decision))
        for key in keys:
            self._queue.done(key)

    def _count_containers(self, key: Key) -> int:
        spec = (self._pods.get(key) or {}).get("spec")
        containers = spec.get("containers") if isinstance(spec, dict) else None
        return len(containers) if isinstance(containers, list) else 1

    def _sync_pod(self, key: Key) -> tuple[ReadOnlyObject, SyncResult] | None:
        """Return the pod of a key and the result of its sync; None if there is nothing to do."""
        try:
            pod = self._find_pod(key)
            return None if pod is None else (pod, self._decide_sync(pod))
        except Exception as error:
            self._handle_error(key, error)
            return None

    def _handle_error(self, key: Key, error: Exception) -> None:
        """Retry without the object that caused the error if it is another one; else report the pod as failing."""
        if self._informers.hide_culprit(self.name, error, own=key):
            self._queue.add(key)
            return
        self._informers.bad.record_failure(self.name, "Pod", key, error)
        self._queue.add_rate_limited(key)

    def _find_pod(self, key: Key) -> ReadOnlyObject | None:
        """Return the pod if this component syncs it and its cached state includes the last own write."""
        pod = self._pods.get(key)
        if pod is None or int(pod["metadata"]["resourceVersion"]) < self._written_versions.get(key, 0):
            return None
        self._written_versions.pop(key, None)
        node = self._nodes.get(Key("", _get_node_name(pod)))
        if node is None or not is_simulated(node) or not self._owns_node(node["metadata"]["name"]):
            return None
        return pod

    def _decide_sync(self, pod: ReadOnlyObject, node: ReadOnlyObject | None = None) -> SyncResult:
        """Sync the pod with the cached node, or with the one just read."""
        known = node or self._nodes.get(Key("", _get_node_name(pod)))
        assert known is not None, "only pods of present nodes are decided about"
        if is_mirror(pod):
            # The kubelet of a mirror pod is elsewhere; here it is only deleted without delay.
            return SyncResult(delete=True) if pod["metadata"].get("deletionTimestamp") else NOTHING
        name = known["metadata"]["name"]
        if not self._pod_syncer.has_node(name):
            self._pod_syncer.add_node(name, self._pods_by_node.get(name))
        staged = self._stage_controller.has_stages(pod)
        return self._pod_syncer.sync_pod(
            pod, known, self._clock.now(), node_is_fresh=node is not None, has_stages=staged
        )

    async def _apply_result(self, key: Key, pod: ReadOnlyObject, result: SyncResult) -> None:
        try:
            if result.needs_fresh_node:
                result = self._decide_sync(pod, await self._client.get("Node", Key("", _get_node_name(pod))))
            for note in result.events:
                self._events.record_event(pod, note)
            if result.delete:
                await self._client.delete("Pod", key, DeleteOptions(uid=pod["metadata"]["uid"], grace_seconds=0))
            elif result.plays_stages:
                await self._play_stage(key, pod)
            elif result.status is not None:
                patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": result.status}
                stored = await self._client.patch("Pod", key, patch, subresource="status")
                # The pod may have been deleted before the response arrived.
                if self._pods.get(key) is not None:
                    self._written_versions[key] = int(stored["metadata"]["resourceVersion"])
        # The pod was deleted, or another has its name (the patch names the uid): the watch delivers what is new.
        except (NotFound, Conflict):
            self._queue.forget(key)  # it is gone, or another has its name: the watch tells
        except ApiError as error:
            _LOG.warning("pod %s: %s", key, error)
            self._queue.add_rate_limited(key)
        except Exception as error:
            self._handle_error(key, error)
        else:
            self._queue.forget(key)
            if self._informers.bad:
                self._informers.bad.forget("Pod", key, self.name)
            if result.next_sync_at is not None:
                self._queue.add_after(key, (result.next_sync_at - self._clock.now()).total_seconds())

    async def _play_stage(self, key: Key, pod: ReadOnlyObject) -> None:
        seconds = await self._stage_controller.play_next_stage(key, pod)
        if seconds is not None:
            self._queue.add_after(key, seconds)


def _get_node_name(pod: ReadOnlyObject) -> str:
    name: str = pod["spec"].get("nodeName", "")
    return name


def _node_index(pod: ReadOnlyObject) -> tuple[str, ...]:
    return (_get_node_name(pod),)


def _sort_by_age(pods: Iterable[ReadOnlyObject]) -> list[ReadOnlyObject]:
    return sorted(pods, key=lambda pod: (pod["metadata"].get("creationTimestamp", ""), key_of(pod)))
