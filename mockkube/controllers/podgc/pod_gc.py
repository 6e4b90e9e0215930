"""pod-garbage-collector-controller: deletes pods that no kubelet will ever remove, every 20 seconds.

These are finished pods beyond a number, terminating pods on out-of-service nodes or on none, and pods of nodes that
have not existed for a while. upstream 1.36: pkg/controller/podgc/gc_controller.go
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from prometheus_client import Counter

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import DELETE_NOW, Key, key_of
from mockkube.controllers.framework.controller import (
    RESYNC,
    Controller,
    ControllerDependencies,
    ReconcileResult,
    Requeue,
)
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp
from mockkube.controllers.nodelifecycle.node_health import is_ready
from mockkube.controllers.pods.pod_disruption_writer import PodDisruptionWriter
from mockkube.matching.pods import FINISHED

SWEEP_SECONDS: Final = 20.0
# A node must be missing this long before its pods are orphaned.
QUARANTINE_SECONDS: Final = 40.0
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
_ALIVE: Final = ("Pending", "Running", "Unknown")


def terminated_pods_to_delete(pods: Iterable[ReadOnlyObject], threshold: int) -> list[ReadOnlyObject]:
    """Return the finished pods beyond the number to keep: evicted ones first, then the oldest."""
    finished = [pod for pod in pods if pod.get("status", {}).get("phase") not in _ALIVE]
    finished.sort(key=_deletion_order)
    return finished[: max(len(finished) - threshold, 0)]


def _deletion_order(pod: ReadOnlyObject) -> tuple[bool, str, str]:
    status, metadata = pod.get("status", {}), pod["metadata"]
    evicted = status.get("phase") == "Failed" and status.get("reason") == "Evicted"
    return not evicted, metadata["creationTimestamp"], metadata["name"]


def is_out_of_service(node: ReadOnlyObject | None) -> bool:
    """Return whether a node that is not ready was tainted as out of service."""
    # The taint is set by hand for nodes that were shut down; on a ready node it must not cost any pod.
    if node is None or is_ready(node):
        return False
    return any(taint["key"] == OUT_OF_SERVICE for taint in node["spec"].get("taints", ()))


class PodGCController(Controller):
    """Pod garbage collector. It remembers since when nodes are missing; a restart loses this."""

    name: ClassVar[str] = "pod-garbage-collector-controller"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.pods, self.nodes = self.informer("Pod"), self.informer("Node")
        self._terminated_pods_max = dependencies.options.terminated_pods_max
        self._status = PodDisruptionWriter(self.client, dependencies.capabilities)
        # Nodes that do not exist, with the end of their quarantine.
        self._node_quarantine: dict[str, float] = {}
        labels = ["namespace", "reason"]
        self._deleted = Counter(
            "pod_gc_collector_force_delete_pods",
            "Number of pods that are being forcefully deleted since the Pod GC Controller started.",
            labels,
            registry=dependencies.metrics,
        )
        self._errors = Counter(
            "pod_gc_collector_force_delete_pod_errors",
            "Number of errors encountered when forcefully deleting the pods since the Pod GC Controller started.",
            labels,
            registry=dependencies.metrics,
        )
        self.work_queue.add(RESYNC)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Collect garbage once."""
        pods = self.pods.list()
        if self._terminated_pods_max:
            await self._force_delete(terminated_pods_to_delete(pods, self._terminated_pods_max), "terminated")
        terminating_pods = [pod for pod in pods if has_deletion_timestamp(pod)]
        stuck = [
            pod
            for pod in terminating_pods
            if is_out_of_service(self.nodes.get(Key("", pod["spec"].get("nodeName", ""))))
        ]
        await self._force_delete(sorted(stuck, key=_deletion_order), "out-of-service")
        deleted_nodes = await self._discover_deleted_nodes(pods)
        await self._force_delete([pod for pod in pods if pod["spec"].get("nodeName") in deleted_nodes], "orphaned")
        await self._force_delete([pod for pod in terminating_pods if not pod["spec"].get("nodeName")], "unscheduled")
        return Requeue(after=SWEEP_SECONDS)

    async def _discover_deleted_nodes(self, pods: Sequence[ReadOnlyObject]) -> set[str]:
        """Return the nodes whose quarantine is over and that still do not exist."""
        now, named = self.clock.monotonic(), dict.fromkeys(pod["spec"].get("nodeName", "") for pod in pods)
        for name in named:
            if name and self.nodes.get(Key("", name)) is None:
                self._node_quarantine.setdefault(name, now + QUARANTINE_SECONDS)
        due = [name for name, until in self._node_quarantine.items() if until <= now]
        for name in due:
            del self._node_quarantine[name]
        return {name for name in due if await self._is_node_deleted(name)}

    async def _is_node_deleted(self, name: str) -> bool:
        if self.nodes.get(Key("", name)) is not None:
            return False
        try:
            # The informer may lag behind: before pods are deleted by force the server itself is asked.
            await self.client.get("Node", Key("", name))
        except NotFound:
            return True
        except ApiError as error:
            self.hot_loops.record_failure(self.name, name, error.message)
        return False

    async def _force_delete(self, pods: Iterable[ReadOnlyObject], reason: str) -> None:
        for pod in pods:
            namespace = pod["metadata"]["namespace"]
            self._deleted.labels(namespace, reason).inc()
            try:
                await self._mark_failed_and_delete(pod, orphaned=reason == "orphaned")
            except NotFound:
                continue
            # One pod that cannot be deleted must not keep the others: it is tried again in the next pass.
            except ApiError as error:
                self._errors.labels(namespace, reason).inc()
                self.hot_loops.record_failure(self.name, key_of(pod), error.message)

    async def _mark_failed_and_delete(self, pod: ReadOnlyObject, *, orphaned: bool) -> None:
        """Set phase Failed if the pod has not finished, then delete it without grace period."""
        status = pod.get("status", {})
        # No kubelet is left to report an end. Owners such as jobs count the pod by its phase before it is gone.
        if status.get("phase") not in FINISHED:
            if orphaned:
                status = self._status.with_disruption_target(
                    pod, self.clock.now(), reason="DeletionByPodGC", message="PodGC: node no longer exists"
                )
            await self._status.write(pod, self._status.with_failed_phase(pod, status))
        await self.client.delete("Pod", key_of(pod), DELETE_NOW)
