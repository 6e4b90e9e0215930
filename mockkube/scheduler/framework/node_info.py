"""A node as scheduling sees it, with the pods on it; and all nodes together.

Decisions are synchronous, so they read the scheduler's own live picture: no copy is made per cycle. Whoever wants
to suppose something (preemption) works on clones.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from mockkube.api.resources import Resources
from mockkube.api.types import ReadOnlyObject
from mockkube.scheduler.framework.pod_info import PodInfo

T = TypeVar("T")
_NO_LABELS: Final[Mapping[str, str]] = {}
_NO_TAINTS: Final[Sequence[ReadOnlyObject]] = ()


class NodeInfo:
    """One node: its object and what occupies it.

    `generation` grows with every change of either and is never reused, so verdicts can be kept by it; `revision` with
    changes of the object alone.
    """

    __slots__ = (
        "_object_parts",
        "allocatable",
        "generation",
        "labels",
        "name",
        "obj",
        "parts",
        "pods",
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
        self.requested = Resources()
        """What its pods ask for."""
        self.requested_nonzero = Resources()
        """The same, counting a little for containers that ask for nothing: what scores reckon with."""
        self.pods: dict[str, PodInfo] = {}
        """By uid, in order of arrival."""
        self.generation = 0
        self.revision = 0
        self.parts: dict[object, Any] = {}
        """What plugins compiled from the node and its pods; dropped with each change of either."""
        self._object_parts: dict[object, Any] = {}

    def part(self, owner: object, read: Callable[["NodeInfo"], T]) -> T:
        """Return what `owner` compiles from the node's object alone; compiled once per revision."""
        try:
            part: T = self._object_parts[owner]
        except KeyError:
            part = self._object_parts[owner] = read(self)
        return part

    def load(self, owner: object, read: Callable[["NodeInfo"], T]) -> T:
        """Return what `owner` compiles from the node and its pods (ports in use, ...); once per generation."""
        try:
            part: T = self.parts[owner]
        except KeyError:
            part = self.parts[owner] = read(self)
        return part

    def set_object(self, obj: ReadOnlyObject, generation: int) -> None:
        """Take another revision of the node's object."""
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        self.obj = obj
        self.labels = obj["metadata"].get("labels") or _NO_LABELS
        self.taints = spec.get("taints") or _NO_TAINTS
        self.unschedulable = bool(spec.get("unschedulable"))
        self.allocatable = Resources.read(status.get("allocatable") or {})
        self._object_parts = {}
        self.revision = generation
        self._touch(generation)

    def add_pod(self, pod: PodInfo, requests: Resources, nonzero: Resources, generation: int) -> None:
        """Count a pod in."""
        self.pods[pod.uid] = pod
        self.requested.add(requests)
        self.requested_nonzero.add(nonzero)
        self._touch(generation)

    def remove_pod(self, uid: str, requests: Resources, nonzero: Resources, generation: int) -> None:
        """Count a pod out."""
        del self.pods[uid]
        self.requested.add(requests, -1)
        self.requested_nonzero.add(nonzero, -1)
        self._touch(generation)

    def _touch(self, generation: int) -> None:
        self.generation = generation
        self.parts = {}

    def clone(self) -> "NodeInfo":
        """Return a node to suppose things about."""
        clone = NodeInfo(self.name)
        clone.obj, clone.labels, clone.taints = self.obj, self.labels, self.taints
        clone.unschedulable, clone.allocatable = self.unschedulable, self.allocatable
        clone.requested, clone.requested_nonzero = self.requested.copy(), self.requested_nonzero.copy()
        clone.pods = dict(self.pods)
        clone.generation, clone.revision = self.generation, self.revision
        clone.parts, clone._object_parts = dict(self.parts), self._object_parts
        return clone


class Nodes(Protocol):
    """All nodes, as one cycle sees them."""

    @property
    def all(self) -> Sequence[NodeInfo]:
        """Every node that exists, zones interleaved as upstream's node tree orders them."""
        ...

    def get(self, name: str) -> NodeInfo | None:
        """Return a node by its name."""
        ...

    @property
    def generation(self) -> int:
        """The generation of the latest change to any node, removals included."""
        ...

    def changed_since(self, generation: int) -> Iterable[str]:
        """Return the names of the nodes that were added, changed or removed after a generation, the latest first."""
        ...

    def with_affinity(self) -> Iterable[NodeInfo]:
        """Return the nodes with pods that have inter-pod affinity or anti-affinity of any kind."""
        ...

    def with_required_anti_affinity(self) -> Iterable[NodeInfo]:
        """Return the nodes with pods that have required anti-affinity."""
        ...

    def image_nodes(self, image: str) -> int:
        """Return how many nodes have an image."""
        ...

    def claim_users(self, namespace: str, claim: str) -> int:
        """Return how many pods on nodes use a PersistentVolumeClaim."""
        ...
