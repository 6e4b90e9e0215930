"""NodeInfo: a node with the pods on it; and the interface through which plugins read all nodes.

Decisions are synchronous, so they read the scheduler's live cache, and no copy is made per cycle. Dry runs
(preemption) work on clones.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.resources import Resources
from mockkube.scheduler.framework.pod_info import PodInfo

T = TypeVar("T")
_NO_LABELS: Final[Mapping[str, str]] = {}
_NO_TAINTS: Final[Sequence[ReadOnlyObject]] = ()


class NodeInfo:
    """Node object with the pods on it and the resources they request.

    `generation` grows with every change of either and is never reused, so verdicts can be cached by it; `revision` only
    grows with changes of the object.
    """

    __slots__ = (
        "_derived_from_object",
        "allocatable",
        "derived",
        "generation",
        "labels",
        "name",
        "obj",
        "pods",
        "pods_with_affinity",
        "requested",
        "requested_nonzero",
        "revision",
        "taints",
        "unschedulable",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.obj: ReadOnlyObject = {}
        self.labels: Mapping[str, str] = _NO_LABELS
        self.taints: Sequence[ReadOnlyObject] = _NO_TAINTS
        self.unschedulable = False
        self.allocatable = Resources()
        # Sum of the requests of its pods.
        self.requested = Resources()
        # The same with defaults for containers without requests, or scores would pile such pods up on one node.
        self.requested_nonzero = Resources()
        # By uid, in order of arrival.
        self.pods: dict[str, PodInfo] = {}
        # Those with inter-pod affinity or anti-affinity: most pods have none.
        self.pods_with_affinity: dict[str, PodInfo] = {}
        self.generation = 0
        self.revision = 0
        # Values that plugins derived from the node and its pods; dropped with each change of either.
        self.derived: dict[object, Any] = {}
        self._derived_from_object: dict[object, Any] = {}

    def derive_from_object(self, owner: object, read: Callable[["NodeInfo"], T]) -> T:
        """Return the value that `owner` derives from the node object; computed once per revision."""
        try:
            part: T = self._derived_from_object[owner]
        except KeyError:
            part = self._derived_from_object[owner] = read(self)
        return part

    def derive(self, owner: object, read: Callable[["NodeInfo"], T]) -> T:
        """Return the value that `owner` derives from the node and its pods, like used ports.

        It is computed once per generation.
        """
        try:
            part: T = self.derived[owner]
        except KeyError:
            part = self.derived[owner] = read(self)
        return part

    def set_object(self, obj: ReadOnlyObject, generation: int) -> None:
        """Replace the node object."""
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        self.obj = obj
        self.labels = obj["metadata"].get("labels") or _NO_LABELS
        self.taints = spec.get("taints") or _NO_TAINTS
        self.unschedulable = bool(spec.get("unschedulable"))
        self.allocatable = Resources.from_resource_list(status.get("allocatable") or {})
        self._derived_from_object = {}
        self.revision = generation
        self._touch(generation)

    def add_pod(self, pod: PodInfo, requests: Resources, nonzero: Resources, generation: int) -> None:
        """Add a pod and its requests."""
        self.pods[pod.uid] = pod
        if pod.has_pod_affinity:
            self.pods_with_affinity[pod.uid] = pod
        self.requested.add(requests)
        self.requested_nonzero.add(nonzero)
        self._touch(generation)

    def replace_pod(self, pod: PodInfo, generation: int | None = None) -> None:
        """Replace a pod by a revision with an equal spec; with a `generation`, its labels have changed."""
        self.pods[pod.uid] = pod
        if pod.uid in self.pods_with_affinity:
            self.pods_with_affinity[pod.uid] = pod
        if generation is not None:
            self._touch(generation)

    def remove_pod(self, uid: str, requests: Resources, nonzero: Resources, generation: int) -> None:
        """Remove a pod and its requests."""
        del self.pods[uid]
        self.pods_with_affinity.pop(uid, None)
        self.requested.add(requests, -1)
        self.requested_nonzero.add(nonzero, -1)
        self._touch(generation)

    def _touch(self, generation: int) -> None:
        self.generation = generation
        self.derived = {}

    def clone(self) -> "NodeInfo":
        """Return a copy for dry runs."""
        clone = NodeInfo(self.name)
        clone.obj, clone.labels, clone.taints = self.obj, self.labels, self.taints
        clone.unschedulable, clone.allocatable = self.unschedulable, self.allocatable
        clone.requested, clone.requested_nonzero = self.requested.copy(), self.requested_nonzero.copy()
        clone.pods, clone.pods_with_affinity = dict(self.pods), dict(self.pods_with_affinity)
        clone.generation, clone.revision = self.generation, self.revision
        # Values derived from the object stay valid for the clone, whose object never changes, so that dict is shared.
        clone.derived, clone._derived_from_object = dict(self.derived), self._derived_from_object
        return clone


class NodeInfoLister(Protocol):
    """Read access to all nodes, for plugins (upstream: NodeInfoLister)."""

    @property
    def all(self) -> Sequence[NodeInfo]:
        """All nodes, with zones interleaved in the order of upstream's node tree."""
        ...

    def get(self, name: str) -> NodeInfo | None:
        """Return a node by its name."""
        ...

    @property
    def generation(self) -> int:
        """Generation of the latest change to any node, removals included."""
        ...

    def changed_since(self, generation: int) -> Iterable[str]:
        """Return the names of nodes that were added, changed or removed after a generation, latest first."""
        ...

    @property
    def forgotten_generation(self) -> int:
        """Generation of the latest removal that `changed_since` no longer returns."""
        ...

    @property
    def has_pods_with_affinity(self) -> bool:
        """Whether a pod on a node has inter-pod affinity or anti-affinity of any kind."""
        ...

    @property
    def has_pods_with_required_anti_affinity(self) -> bool:
        """Whether a pod on a node has required anti-affinity."""
        ...

    def count_nodes_with_image(self, image: str) -> int:
        """Return the number of nodes that have an image."""
        ...

    def count_pvc_users(self, namespace: str, claim: str) -> int:
        """Return the number of pods on nodes that use a PersistentVolumeClaim."""
        ...
