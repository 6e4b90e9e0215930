"""taint-eviction-controller: deletes pods that do not tolerate a NoExecute taint of their node, or no longer.

As upstream, a restart loses its memory: which nodes are tainted, and the running eviction timers.
upstream 1.36: pkg/controller/tainteviction
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.controllers.pods.by_node import pods_by_node
from mockkube.controllers.pods.pod_disruption_writer import PodDisruptionWriter
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.taints import CompiledToleration, compile_tolerations

NO_EXECUTE: Final = "NoExecute"
_TRIES_MAX: Final = 5
_RETRY_SECONDS: Final = 0.01
_REASON: Final = "TaintManagerEviction"


@dataclass(slots=True)
class EvictionTimer:
    """Eviction timer of a pod; `tries` counts attempts to delete it."""

    started: float
    due: float
    tries: int = 0

    def is_cancellable(self) -> bool:
        """Return whether the timer had any delay: an immediate eviction cannot be cancelled."""
        return self.due > self.started


def no_execute_taints(node: ReadOnlyObject | None) -> tuple[ReadOnlyObject, ...]:
    """Return the NoExecute taints of a node."""
    taints = node["spec"].get("taints", ()) if node else ()
    return tuple(taint for taint in taints if taint.get("effect") == NO_EXECUTE)


def min_toleration_seconds(taints: Sequence[ReadOnlyObject], tolerations: Sequence[CompiledToleration]) -> float | None:
    """Return how long a pod tolerates taints: zero for not at all, None for ever.

    Each taint is tolerated by the first toleration that matches; the shortest of their times counts.
    """
    shortest: float | None = None
    for taint in taints:
        # As upstream, a second matching toleration of the same taint with another time is not considered.
        used = next((toleration for toleration in tolerations if toleration.tolerates(taint)), None)
        if used is None:
            return 0.0
        seconds = used.source.get("tolerationSeconds")
        if seconds is not None and (shortest is None or seconds < shortest):
            shortest = max(float(seconds), 0.0)
    return shortest


class TaintEvictionController(Controller):
    """Controller of eviction timers; keys are nodes (without a namespace) and pods."""

    name: ClassVar[str] = "taint-eviction-controller"
    queue_name: ClassVar[str] = "noexec_taint_pod"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.pods = self.watched_informer("Pod", self._on_pod_change)
        self.nodes = self.watched_informer("Node", self._on_node_change)
        self._pods_by_node = pods_by_node(self.pods)
        self._rules = dependencies.taint_rules(self.name)
        self._status = PodDisruptionWriter(self.client, dependencies.capabilities)
        self._tainted_nodes: dict[str, tuple[ReadOnlyObject, ...]] = {}
        self._timers: dict[Key, EvictionTimer] = {}
        # Pods to process. Their key can also come from the delay of a timer that was cancelled since, and then means
        # nothing.
        self._changed_pods: set[Key] = set()
        self._metrics = _TaintEvictionMetrics(dependencies.metrics)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Process a changed node or pod, or evict a pod whose timer has expired."""
        if not key.namespace:
            self._handle_node_update(key)
            return DONE
        clock = self._timers.get(key)
        if clock is not None and clock.due <= self.clock.monotonic():
            return await self._evict(key, clock)
        if key in self._changed_pods:
            self._changed_pods.remove(key)
            self._handle_pod_update(key)
        clock = self._timers.get(key)
        return DONE if clock is None else Requeue(after=clock.due - self.clock.monotonic())

    def _on_pod_change(self, change: ObjectChange) -> None:
        pod, old = change.object, change.old
        if change.type is WatchEventType.MODIFIED and old is not None:
            spec, before = pod["spec"], old["spec"]
            same_node = spec.get("nodeName") == before.get("nodeName")
            # Only node and tolerations matter here; status updates are by far the most frequent changes of pods.
            if same_node and spec.get("tolerations", []) == before.get("tolerations", []):
                return
        self._changed_pods.add(key_of(pod))
        self.work_queue.add(key_of(pod))

    def _on_node_change(self, change: ObjectChange) -> None:
        if change.type is WatchEventType.MODIFIED and no_execute_taints(change.object) == no_execute_taints(change.old):
            return
        self.work_queue.add(key_of(change.object))

    def _handle_node_update(self, key: Key) -> None:
        node = self.nodes.get(key)
        taints = no_execute_taints(node)
        if taints:
            self._tainted_nodes[key.name] = taints
        else:
            self._tainted_nodes.pop(key.name, None)
        if node is None:
            return
        for pod in self._pods_by_node.get(key.name):
            self._process_pod_on_node(pod, taints)

    def _handle_pod_update(self, key: Key) -> None:
        pod = self.pods.get(key)
        if pod is None:
            self._cancel_timer(key)
        elif (taints := self._tainted_nodes.get(pod["spec"].get("nodeName", ""))) is not None:
            self._process_pod_on_node(pod, taints)

    def _process_pod_on_node(self, pod: ReadOnlyObject, taints: Sequence[ReadOnlyObject]) -> None:
        """Start, keep or cancel the timer of a pod on a tainted node."""
        key, now = key_of(pod), self.clock.monotonic()
        seconds = min_toleration_seconds(taints, compile_tolerations(pod["spec"].get("tolerations", ()), self._rules))
        if seconds is None:
            self._cancel_timer(key)
        elif seconds <= 0:
            self._cancel_timer(key)
            self._start_timer(key, EvictionTimer(now, now))
        # A timer that runs is kept even if the toleration time changed: upstream replaces it only if that does not end
        # later.
        elif (running := self._timers.get(key)) is None:
            self._start_timer(key, EvictionTimer(now, now + seconds))
        elif running.started == now and running.is_cancellable():
            self._cancel_timer(key)
            self._start_timer(key, EvictionTimer(now, now + seconds))

    def _start_timer(self, key: Key, timer: EvictionTimer) -> None:
        self._timers[key] = timer
        self.work_queue.add_after(key, timer.due - timer.started)

    def _cancel_timer(self, key: Key) -> None:
        clock = self._timers.pop(key, None)
        if clock is not None and clock.is_cancellable():
            self._record_event(key, f"Cancelling deletion of Pod {key}")

    def _record_event(self, key: Key, message: str) -> None:
        about = {"apiVersion": "v1", "kind": "Pod", "name": key.name, "namespace": key.namespace}
        self.events.record(about, "Normal", _REASON, message)

    async def _evict(self, key: Key, timer: EvictionTimer) -> ReconcileResult:
        """Delete a pod whose timer has expired, with retries."""
        if not timer.tries:
            self._record_event(key, f"Marking for deletion Pod {key}")
        timer.tries += 1
        try:
            await self._delete(key)
        except NotFound:
            self._remove_timer(key, timer)
            return DONE
        except ApiError as error:
            # Five attempts at 10 ms, as upstream; then the pod stays until its taints or tolerations change.
            if timer.tries < _TRIES_MAX:
                return Requeue(after=_RETRY_SECONDS)
            self._remove_timer(key, timer)
            self.hot_loops.record_failure(self.name, key, error.message)
            return DONE
        self._metrics.deletions.inc()
        self._metrics.duration.observe(self.clock.monotonic() - timer.due)
        self._remove_timer(key, timer)
        return DONE

    def _remove_timer(self, key: Key, timer: EvictionTimer) -> None:
        # A new timer may have been started while the deletion was awaited.
        if self._timers.get(key) is timer:
            del self._timers[key]

    async def _delete(self, key: Key) -> None:
        pod = await self.client.get("Pod", key)
        status = self._status.with_disruption_target(
            pod,
            self.clock.now(),
            reason="DeletionByTaintManager",
            message="Taint manager: deleting due to NoExecute taint",
        )
        # The condition comes first: once the pod is terminating, a job would count its failure without the reason.
        await self._status.write(pod, status)
        await self.client.delete("Pod", key)


class _TaintEvictionMetrics:
    """upstream 1.36: pkg/controller/tainteviction/metrics."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.deletions = Counter(
            "taint_eviction_controller_pod_deletions",
            "Total number of Pods deleted by TaintEvictionController since its start.",
            registry=registry,
        )
        self.duration = Histogram(
            "taint_eviction_controller_pod_deletion_duration_seconds",
            "Latency, in seconds, between the time when a taint effect has been activated for the Pod and its deletion "
            "via TaintEvictionController.",
            buckets=(0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240),
            registry=registry,
        )
