"""Nominator: pods that wait for a node to be freed for them, by node.

Other pods of at most their priority must leave the nominated pods' resources free.

upstream 1.36: pkg/scheduler/backend/queue/nominator.go
"""

from collections.abc import Callable, Iterable

from mockkube.scheduler.framework.change_log import ChangeLog
from mockkube.scheduler.framework.pod_info import PodInfo

PendingPodLister = Callable[[PodInfo], PodInfo | None]
"""Returns the current revision of a pending pod; None once it is deleted or has a node."""


class Nominator:
    """Pods nominated to nodes, in the scheduler's memory; the status of the pods is written after it."""

    def __init__(self, pod_lister: PendingPodLister) -> None:
        self._pod_lister = pod_lister
        self._nominated_nodes: dict[str, str] = {}
        self._nominated_pods: dict[str, dict[str, PodInfo]] = {}
        self._changes = ChangeLog()
        # Grows with each change.
        self.generation = 0

    def __bool__(self) -> bool:
        return bool(self._nominated_pods)

    def __contains__(self, node_name: str) -> bool:
        """Return whether pods are nominated to a node."""
        return node_name in self._nominated_pods

    def changed_since(self, generation: int) -> Iterable[str]:
        """Return the nodes whose nominated pods changed after a generation."""
        return self._changes.names_since(generation)

    def nominated_pods_for_node(self, node_name: str) -> list[PodInfo]:
        """Return the pods nominated to a node, in order of nomination."""
        return list(self._nominated_pods.get(node_name, {}).values())

    def nominated_node_of(self, uid: str) -> str:
        """Return the node that a pod is nominated to; empty if there is none."""
        return self._nominated_nodes.get(uid, "")

    def add_nominated_pod(self, pod: PodInfo, node_name: str | None = None) -> None:
        """Nominate a pod to a node, to none (empty), or to the node in its status (None)."""
        self.delete_nominated_pod(pod.uid)
        name = pod.nominated_node if node_name is None else node_name
        # The pod may have been deleted or bound since the decision; its nomination would then never be removed.
        if name and self._pod_lister(pod) is not None:
            self._nominated_nodes[pod.uid] = name
            self._nominated_pods.setdefault(name, {})[pod.uid] = pod
            self._record_change(name)

    def update_nominated_pod(self, old: PodInfo, new: PodInfo) -> None:
        """Replace a pod by another revision; keep a nomination that its status does not show yet."""
        # The status is written after the nomination, so an update that comes in between must not clear it.
        unwritten = self._nominated_nodes.get(old.uid) if not old.nominated_node and not new.nominated_node else None
        self.add_nominated_pod(new, unwritten)

    def delete_nominated_pod(self, uid: str) -> None:
        """Remove the nomination of a pod."""
        name = self._nominated_nodes.pop(uid, "")
        if not name:
            return
        pods = self._nominated_pods[name]
        del pods[uid]
        if not pods:
            del self._nominated_pods[name]
        self._record_change(name)

    def _record_change(self, node_name: str) -> None:
        self.generation += 1
        self._changes.record(node_name, self.generation)
