"""Pods that wait for room on a node that is being made for them: others leave it to them.

upstream 1.36: pkg/scheduler/backend/queue/nominator.go
"""

from collections.abc import Callable, Iterable

from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.node_generations import ChangeLog

Latest = Callable[[PodInfo], PodInfo | None]
"""Returns a pod as last seen waiting; None once it is gone or on a node."""


class Nominations:
    """Which pods are nominated to which nodes, in this scheduler's memory; the pods' status follows it."""

    def __init__(self, latest: Latest) -> None:
        self._latest = latest
        self._node_of: dict[str, str] = {}
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self._changes = ChangeLog()
        self.generation = 0
        """Grows with each change."""

    def __bool__(self) -> bool:
        return bool(self._by_node)

    def __contains__(self, node_name: str) -> bool:
        """Whether pods are nominated to a node."""
        return node_name in self._by_node

    def changed_since(self, generation: int) -> Iterable[str]:
        """Return the nodes to which others, or none, are nominated after a generation."""
        return self._changes.since(generation)

    def on(self, node_name: str) -> list[PodInfo]:
        """Return the pods nominated to a node, in order of nomination."""
        return list(self._by_node.get(node_name, {}).values())

    def node_of(self, uid: str) -> str:
        """Return to which node a pod is nominated; empty if to none."""
        return self._node_of.get(uid, "")

    def put(self, pod: PodInfo, node_name: str | None = None) -> None:
        """Nominate a pod: to a node, to none (empty), or to that which its status names (None)."""
        self.drop(pod.uid)
        name = pod.nominated_node if node_name is None else node_name
        if name and self._latest(pod) is not None:
            self._node_of[pod.uid] = name
            self._by_node.setdefault(name, {})[pod.uid] = pod
            self._touch(name)

    def refresh(self, old: PodInfo, new: PodInfo) -> None:
        """Take another revision; one that does not know of its nomination yet keeps it."""
        kept = self._node_of.get(old.uid) if not old.nominated_node and not new.nominated_node else None
        self.put(new, kept)

    def drop(self, uid: str) -> None:
        """Forget a pod's nomination."""
        name = self._node_of.pop(uid, "")
        if not name:
            return
        pods = self._by_node[name]
        del pods[uid]
        if not pods:
            del self._by_node[name]
        self._touch(name)

    def _touch(self, node_name: str) -> None:
        self.generation += 1
        self._changes.note(node_name, self.generation)
