"""Cache of the scheduler: nodes with the pods on them, assumed pods included.

It is live: watch events and the scheduler's own decisions change it, in the steps of workers, but never during a
decision. So a decision reads it without a copy: upstream's Snapshot is not needed.

upstream 1.36: pkg/scheduler/backend/cache/cache.go
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.scheduler.framework.change_log import ChangeLog
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.node_tree import NodeTree
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import PodRequestCalculator, PodRequests
from mockkube.scheduler.framework.spec_values import SpecValues

_CLAIM_STATUS_FIELDS: Final = (
    "extendedResourceClaimStatus",
    "nodeAllocatableResourceClaimStatuses",
    "resourceClaimStatuses",
)


# How many removed nodes are remembered at least, for those who have not seen their removal yet.
REMOVED_NODES_MAX: Final = 256


class Cache:
    """All nodes and the pods on them; plugins see it as NodeInfoLister."""

    def __init__(self, requests: PodRequestCalculator) -> None:
        self._requests = requests
        self._tree = NodeTree()
        # Also nodes without an object: their pods arrived before them, or were left when they were deleted.
        self._nodes: dict[str, NodeInfo] = {}
        # All pods on nodes, by uid.
        self._pods: dict[str, PodInfo] = {}
        self._assumed: dict[str, PodInfo] = {}
        self._all: list[NodeInfo] | None = None
        self._indexes: dict[str, int] = {}
        self._changes = ChangeLog()
        # Changes of nodes, and of their pods in more than labels.
        self._load_changes = ChangeLog()
        # Values that follow from the specs of pods.
        self.spec_values = SpecValues()
        self._image_counts: dict[str, int] = {}
        self._pvc_counts: dict[tuple[str, str], int] = {}
        # Numbers of pods on nodes.
        self._with_affinity = self._with_required_anti_affinity = 0
        self.generation = 0
        # Grows whenever nodes are added or removed or their order changes.
        self.structure_generation = 0

    # Queries

    @property
    def all(self) -> Sequence[NodeInfo]:
        """All nodes that exist, with zones interleaved."""
        if self._all is None:
            names = self._tree.names()
            self._all = [self._nodes[name] for name in names]
            self._indexes = {name: index for index, name in enumerate(names)}
        return self._all

    def index_of(self, name: str) -> int | None:
        """Return the index of a node in `all`; it is valid as long as `structure_generation` is the same."""
        return self._indexes.get(name)

    def get(self, name: str) -> NodeInfo | None:
        """Return a node that exists."""
        node = self._nodes.get(name)
        return node if node is not None and node.obj else None

    def changed_since(self, generation: int) -> Iterable[str]:
        """Return the names of nodes that were added, changed or removed after a generation, latest first."""
        return self._changes.names_since(generation)

    def load_changed_since(self, generation: int) -> Iterable[str]:
        """Return as `changed_since` the nodes that changed in more than the labels of their pods."""
        return self._load_changes.names_since(generation)

    @property
    def forgotten_generation(self) -> int:
        """Generation of the latest removal that `changed_since` no longer returns."""
        return self._changes.forgotten_generation

    @property
    def has_pods_with_affinity(self) -> bool:
        """Whether a pod on a node has inter-pod affinity or anti-affinity of any kind."""
        return self._with_affinity > 0

    @property
    def has_pods_with_required_anti_affinity(self) -> bool:
        """Whether a pod on a node has required anti-affinity."""
        return self._with_required_anti_affinity > 0

    def count_nodes_with_image(self, image: str) -> int:
        """Return the number of nodes that have an image."""
        return self._image_counts.get(image, 0)

    def count_pvc_users(self, namespace: str, claim: str) -> int:
        """Return the number of pods on nodes that use a PersistentVolumeClaim."""
        return self._pvc_counts.get((namespace, claim), 0)

    def get_pod(self, uid: str) -> PodInfo | None:
        """Return a pod on a node, assumed pods included."""
        return self._pods.get(uid)

    def is_assumed(self, uid: str) -> bool:
        """Return whether a pod is assumed and its binding was not confirmed by a watch event yet."""
        return uid in self._assumed

    @property
    def sizes(self) -> Mapping[str, int]:
        """Number of nodes, pods and assumed pods."""
        return {"nodes": len(self.all), "pods": len(self._pods), "assumed_pods": len(self._assumed)}

    @property
    def pods(self) -> Iterable[PodInfo]:
        """All pods on nodes."""
        return self._pods.values()

    # Nodes

    def set_node(self, obj: ReadOnlyObject) -> NodeInfo:
        """Add or update a node; a mere heartbeat invalidates no cached verdict."""
        name = obj["metadata"]["name"]
        node = self._get_or_create_node(name)
        if node.obj and _is_heartbeat(node.obj, obj):
            node.obj = obj
            return node
        # All or nothing: an unreadable node must not leave counts half updated.
        _check_readable(obj)
        self._adjust_image_counts(node, -1)
        node.set_object(obj, self._record_change(name))
        self._adjust_image_counts(node, 1)
        if self._tree.add_or_move(name, node.labels):
            self._invalidate_order()
        return node

    def remove_node(self, name: str) -> None:
        """Remove a node, but keep its pods until they are deleted: the node may return before that."""
        node = self._nodes.get(name)
        if node is None or not node.obj:
            return
        self._adjust_image_counts(node, -1)
        self._tree.remove(name)
        self._invalidate_order()
        left = self._nodes[name] = NodeInfo(name)
        for pod in node.pods.values():
            requests = self._requests.read(pod)
            left.add_pod(pod, requests.total, requests.nonzero, self._record_change(name))
        self._record_change(name)
        self._drop_if_empty(name)

    def _get_or_create_node(self, name: str) -> NodeInfo:
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes[name] = NodeInfo(name)
        return node

    def _drop_if_empty(self, name: str) -> None:
        node = self._nodes[name]
        if not node.obj and not node.pods:
            del self._nodes[name]

    def _invalidate_order(self) -> None:
        self._all = None
        self.structure_generation += 1

    def _record_change(self, name: str) -> int:  # hot: per pod
        generation = self._record_label_change(name)
        self._load_changes.record(name, generation)
        return generation

    def _record_label_change(self, name: str) -> int:
        """Record that the labels of a pod on a node have changed."""
        self.generation += 1
        self._changes.record(name, self.generation)
        # Nodes come and go for ever where they are scaled.
        if len(self._changes) > 2 * len(self._nodes) + REMOVED_NODES_MAX:
            self._changes.forget_others(self._nodes)
            self._load_changes.forget_others(self._nodes)
        return self.generation

    def _adjust_image_counts(self, node: NodeInfo, sign: int) -> None:
        for image in image_names(node):
            adjust_count(self._image_counts, image, sign)

    # Pods

    def assume_pod(self, pod: PodInfo, node_name: str) -> PodInfo:
        """Add a pod to its node before it is bound; return the pod as if bound."""
        placed = pod.bound_to(node_name)
        self._assumed[pod.uid] = placed
        self._add_to_node(placed)
        return placed

    def forget_pod(self, uid: str) -> None:
        """Remove an assumed pod."""
        pod = self._assumed.pop(uid, None)
        if pod is not None:
            self._remove_from_node(pod)

    def add_pod(self, pod: PodInfo) -> None:
        """Add or update a pod that a watch shows on a node; an assumed pod is confirmed, or moved."""
        self._assumed.pop(pod.uid, None)
        before = self._pods.get(pod.uid)
        if before is None:
            self._add_to_node(pod)
        elif before.node_name == pod.node_name and self._is_equivalent(before, pod):
            # The usual confirmation of an assumed pod changes nothing for plugins but its labels: the server adds those
            # of the node's topology. So cached verdicts of the node stay valid.
            generation = None
            if before.labels == pod.labels:
                pod.share_derived(before)
            else:
                pod.share_derived_from_spec(before)
                generation = self._record_label_change(pod.node_name)
            self._pods[pod.uid] = pod
            self._nodes[pod.node_name].replace_pod(pod, generation)
        else:
            self._remove_from_node(before)
            self._add_to_node(pod)

    def remove_pod(self, uid: str) -> None:
        """Remove a deleted or finished pod."""
        self._assumed.pop(uid, None)
        pod = self._pods.get(uid)
        if pod is not None:
            self._remove_from_node(pod)

    def requests_of(self, pod: PodInfo) -> PodRequests:
        """Return the requests of a pod."""
        return self._requests.read(pod)

    def next_generation(self) -> int:
        """Return a generation for a changed clone of a node, different from that of any real node."""
        self.generation += 1
        return self.generation

    def _is_equivalent(self, old: PodInfo, new: PodInfo) -> bool:
        """Return whether two revisions of a pod on one node are equal for all plugins, labels aside."""
        if old.terminating != new.terminating or old.finished != new.finished:
            return False
        # Preemption compares start times.
        if old.status.get("startTime") != new.status.get("startTime"):
            return False
        if old.spec != new.spec or any(old.status.get(name) != new.status.get(name) for name in _CLAIM_STATUS_FIELDS):
            return False
        # Requests depend on the status only for pods that are resized in place.
        started = "containerStatuses" in new.status or "containerStatuses" in old.status
        return not started or self._requests.read(old) == self._requests.read(new)

    def _add_to_node(self, pod: PodInfo) -> None:  # hot: per pod
        requests = self._requests.read(pod)
        pod.derive_from_spec(_PodTraits, _PodTraits)  # first: it raises if the pod is unreadable
        node = self._get_or_create_node(pod.node_name)
        node.add_pod(pod, requests.total, requests.nonzero, self._record_change(pod.node_name))
        self._pods[pod.uid] = pod
        self._adjust_pod_counts(pod, 1)

    def _remove_from_node(self, pod: PodInfo) -> None:
        requests = self._requests.read(pod)
        node = self._nodes[pod.node_name]
        node.remove_pod(pod.uid, requests.total, requests.nonzero, self._record_change(pod.node_name))
        del self._pods[pod.uid]
        self._adjust_pod_counts(pod, -1)
        self._drop_if_empty(pod.node_name)

    def _adjust_pod_counts(self, pod: PodInfo, sign: int) -> None:
        traits = pod.derive_from_spec(_PodTraits, _PodTraits)
        if traits.affinity:
            self._with_affinity += sign
        if traits.required_anti_affinity:
            self._with_required_anti_affinity += sign
        for claim in traits.claims:
            adjust_count(self._pvc_counts, (pod.namespace, claim), sign)


class _PodTraits:
    """Properties of a pod that the cache counts."""

    __indexes__ = ("affinity", "claims", "required_anti_affinity")

    def __init__(self, spec: ReadOnlyObject) -> None:
        affinity = spec.get("affinity") or {}
        anti = affinity.get("podAntiAffinity") or {}
        self.affinity = "podAffinity" in affinity or "podAntiAffinity" in affinity
        self.required_anti_affinity = bool(anti.get("requiredDuringSchedulingIgnoredDuringExecution"))
        volumes = spec.get("volumes") or ()
        self.claims = tuple(
            volume["persistentVolumeClaim"]["claimName"] for volume in volumes if volume.get("persistentVolumeClaim")
        )


def _check_readable(obj: ReadOnlyObject) -> None:
    """Raise the error that updating a node would raise halfway."""
    probe = NodeInfo(obj["metadata"]["name"])
    probe.set_object(obj, 0)
    for image in image_names(probe):
        hash(image)
    NodeTree().add_or_move(probe.name, probe.labels)


def _is_heartbeat(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    """Return whether only conditions, or fields that change with every write, differ between two revisions."""
    if any(old["metadata"].get(name) != new["metadata"].get(name) for name in ("uid", "labels", "annotations")):
        return False
    return old.get("spec") == new.get("spec") and _without_conditions(old) == _without_conditions(new)


def _without_conditions(node: ReadOnlyObject) -> dict[str, Any]:
    return {name: value for name, value in (node.get("status") or {}).items() if name != "conditions"}


def image_names(node: NodeInfo) -> list[str]:
    """Return the names of a node's images."""
    images = (node.obj.get("status") or {}).get("images") or ()
    return list(dict.fromkeys(name for image in images for name in image.get("names") or ()))


def adjust_count(counts: dict[Any, int], key: object, sign: int) -> None:
    """Add to a count, and remove it at zero."""
    count = counts.get(key, 0) + sign
    if count:
        counts[key] = count
    else:
        # Keys of counts are listed, so a zero must not remain.
        del counts[key]
