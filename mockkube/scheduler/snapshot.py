"""The scheduler's live picture: nodes with the pods on them, among them those it has decided on and not yet bound.

It is changed by what watches deliver and by the scheduler's own decisions, in the steps of workers, never during a
decision; so a decision reads it as it stands. `Picture.of` makes one from objects alone, to ask what would be.

upstream 1.36: pkg/scheduler/backend/cache/cache.go
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mockkube.api.types import ReadOnlyObject
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import PodRequests, RequestReader
from mockkube.scheduler.node_generations import ChangeLog
from mockkube.scheduler.node_tree import NodeTree

_OF_CLAIMS: Final = (
    "extendedResourceClaimStatus",
    "nodeAllocatableResourceClaimStatuses",
    "resourceClaimStatuses",
)


class Picture:
    """All nodes and the pods on them; `Nodes`, as plugins see it."""

    def __init__(self, requests: RequestReader) -> None:
        self._requests = requests
        self._tree = NodeTree()
        self._nodes: dict[str, NodeInfo] = {}
        """Also those of which only pods are known."""
        self._pods: dict[str, PodInfo] = {}
        """Every pod on a node, by uid."""
        self._assumed: dict[str, PodInfo] = {}
        self._all: list[NodeInfo] | None = None
        self._slots: dict[str, int] = {}
        self._changes = ChangeLog()
        self._images: dict[str, int] = {}
        self._claims: dict[tuple[str, str], int] = {}
        self._with_affinity: dict[str, int] = {}
        self._with_anti_affinity: dict[str, int] = {}
        self.generation = 0
        self.structure = 0
        """Grows whenever nodes come or go or their order changes."""

    @classmethod
    def of(cls, nodes: Iterable[ReadOnlyObject], pods: Iterable[PodInfo], requests: RequestReader) -> "Picture":
        """Return the picture that objects make."""
        picture = cls(requests)
        for node in nodes:
            picture.set_node(node)
        for pod in pods:
            picture.add_pod(pod)
        return picture

    # Reading

    @property
    def all(self) -> Sequence[NodeInfo]:
        """Every node that exists, zones interleaved."""
        if self._all is None:
            names = self._tree.names()
            self._all = [self._nodes[name] for name in names]
            self._slots = {name: slot for slot, name in enumerate(names)}
        return self._all

    def slot(self, name: str) -> int | None:
        """Return the place of a node in `all`; the same as long as `structure` is."""
        return self._slots.get(name)

    def get(self, name: str) -> NodeInfo | None:
        """Return a node that exists."""
        node = self._nodes.get(name)
        return node if node is not None and node.obj else None

    def changed_since(self, generation: int) -> Iterable[str]:
        """Return the names of the nodes that were added, changed or removed after a generation, the latest first."""
        return self._changes.since(generation)

    def with_affinity(self) -> Iterable[NodeInfo]:
        """Return the nodes with pods that have inter-pod affinity or anti-affinity of any kind."""
        return [self._nodes[name] for name in self._with_affinity]

    def with_required_anti_affinity(self) -> Iterable[NodeInfo]:
        """Return the nodes with pods that have required anti-affinity."""
        return [self._nodes[name] for name in self._with_anti_affinity]

    def image_nodes(self, image: str) -> int:
        """Return how many nodes have an image."""
        return self._images.get(image, 0)

    def claim_users(self, namespace: str, claim: str) -> int:
        """Return how many pods on nodes use a PersistentVolumeClaim."""
        return self._claims.get((namespace, claim), 0)

    def pod(self, uid: str) -> PodInfo | None:
        """Return a pod on a node, as far as this scheduler knows."""
        return self._pods.get(uid)

    def assumed(self, uid: str) -> bool:
        """Whether a pod has been decided on, and its binding not been seen yet."""
        return uid in self._assumed

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many nodes, pods and assumed pods there are."""
        return {"nodes": len(self.all), "pods": len(self._pods), "assumed_pods": len(self._assumed)}

    @property
    def pods(self) -> Iterable[PodInfo]:
        """All pods on nodes."""
        return self._pods.values()

    # Nodes

    def set_node(self, obj: ReadOnlyObject) -> NodeInfo:
        """Take in a node, new or changed; a mere sign of life changes nothing for anybody."""
        name = obj["metadata"]["name"]
        node = self._node(name)
        if node.obj and _lives_on(node.obj, obj):
            node.obj = obj
            return node
        _check_readable(obj)
        self._count_images(node, -1)
        node.set_object(obj, self._touch(name))
        self._count_images(node, 1)
        if self._tree.put(name, node.labels):
            self._restructure()
        return node

    def remove_node(self, name: str) -> None:
        """Forget a node; pods still said to be on it are kept for the case that it returns."""
        node = self._nodes.get(name)
        if node is None or not node.obj:
            return
        self._count_images(node, -1)
        self._tree.remove(name)
        self._restructure()
        left = self._nodes[name] = NodeInfo(name)
        for pod in node.pods.values():
            requests = self._requests.read(pod)
            left.add_pod(pod, requests.total, requests.nonzero, self._touch(name))
        self._touch(name)
        self._drop_if_empty(name)

    def _node(self, name: str) -> NodeInfo:
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes[name] = NodeInfo(name)
        return node

    def _drop_if_empty(self, name: str) -> None:
        node = self._nodes[name]
        if not node.obj and not node.pods:
            del self._nodes[name]

    def _restructure(self) -> None:
        self._all = None
        self.structure += 1

    def _touch(self, name: str) -> int:  # hot: per pod
        self.generation += 1
        self._changes.note(name, self.generation)
        return self.generation

    def _count_images(self, node: NodeInfo, sign: int) -> None:
        for image in image_names(node):
            tally(self._images, image, sign)

    # Pods

    def assume(self, pod: PodInfo, node_name: str) -> PodInfo:
        """Count a pod in on the node decided for it, before it is bound; return it as if bound."""
        placed = pod.on(node_name)
        self._assumed[pod.uid] = placed
        self._place(placed)
        return placed

    def forget(self, uid: str) -> None:
        """Take back an assumption."""
        pod = self._assumed.pop(uid, None)
        if pod is not None:
            self._displace(pod)

    def add_pod(self, pod: PodInfo) -> None:
        """Take in a pod seen on a node: one that had been assumed is confirmed, or corrected."""
        self._assumed.pop(pod.uid, None)
        before = self._pods.get(pod.uid)
        if before is None:
            self._place(pod)
        elif before.node_name == pod.node_name and self._alike(before, pod):
            pod.share_parts(before)
            self._pods[pod.uid] = pod
            self._nodes[pod.node_name].pods[pod.uid] = pod
        else:
            self._displace(before)
            self._place(pod)

    def remove_pod(self, uid: str) -> None:
        """Take out a pod that is gone."""
        self._assumed.pop(uid, None)
        pod = self._pods.get(uid)
        if pod is not None:
            self._displace(pod)

    def requests_of(self, pod: PodInfo) -> PodRequests:
        """Return what a pod would add to a node."""
        return self._requests.read(pod)

    def suppose_generation(self) -> int:
        """Return a generation for a changed clone of a node: never that of a real one."""
        self.generation += 1
        return self.generation

    def _alike(self, old: PodInfo, new: PodInfo) -> bool:
        """Whether two revisions of a pod, on one node, mean the same for everybody else."""
        if old.labels != new.labels or old.terminating != new.terminating or old.finished != new.finished:
            return False
        if old.status.get("startTime") != new.status.get("startTime"):
            return False
        if old.spec != new.spec or any(old.status.get(name) != new.status.get(name) for name in _OF_CLAIMS):
            return False
        started = "containerStatuses" in new.status or "containerStatuses" in old.status
        return not started or self._requests.read(old) == self._requests.read(new)

    def _place(self, pod: PodInfo) -> None:  # hot: per pod
        requests = self._requests.read(pod)
        pod.part(_Traits, _Traits)  # before anything is counted: it may not be readable
        node = self._node(pod.node_name)
        node.add_pod(pod, requests.total, requests.nonzero, self._touch(pod.node_name))
        self._pods[pod.uid] = pod
        self._count_traits(pod, 1)

    def _displace(self, pod: PodInfo) -> None:
        requests = self._requests.read(pod)
        node = self._nodes[pod.node_name]
        node.remove_pod(pod.uid, requests.total, requests.nonzero, self._touch(pod.node_name))
        del self._pods[pod.uid]
        self._count_traits(pod, -1)
        self._drop_if_empty(pod.node_name)

    def _count_traits(self, pod: PodInfo, sign: int) -> None:
        traits = pod.part(_Traits, _Traits)
        if traits.affinity:
            tally(self._with_affinity, pod.node_name, sign)
        if traits.required_anti_affinity:
            tally(self._with_anti_affinity, pod.node_name, sign)
        for claim in traits.claims:
            tally(self._claims, (pod.namespace, claim), sign)


class _Traits:
    """What the picture counts of a pod."""

    __slots__ = ("affinity", "claims", "required_anti_affinity")

    def __init__(self, pod: PodInfo) -> None:
        affinity = pod.spec.get("affinity") or {}
        anti = affinity.get("podAntiAffinity") or {}
        self.affinity = "podAffinity" in affinity or "podAntiAffinity" in affinity
        self.required_anti_affinity = bool(anti.get("requiredDuringSchedulingIgnoredDuringExecution"))
        volumes = pod.spec.get("volumes") or ()
        self.claims = tuple(
            volume["persistentVolumeClaim"]["claimName"] for volume in volumes if volume.get("persistentVolumeClaim")
        )


def _check_readable(obj: ReadOnlyObject) -> None:
    """Raise what taking in a node would raise halfway."""
    tried = NodeInfo(obj["metadata"]["name"])
    tried.set_object(obj, 0)
    for image in image_names(tried):
        hash(image)
    NodeTree().put(tried.name, tried.labels)


def _lives_on(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    """Whether nothing but conditions, and what goes with every write, has changed of a node."""
    if any(old["metadata"].get(name) != new["metadata"].get(name) for name in ("uid", "labels", "annotations")):
        return False
    return old.get("spec") == new.get("spec") and _without_conditions(old) == _without_conditions(new)


def _without_conditions(node: ReadOnlyObject) -> dict[str, Any]:
    return {name: value for name, value in (node.get("status") or {}).items() if name != "conditions"}


def image_names(node: NodeInfo) -> list[str]:
    """Return the names of the images a node has."""
    images = (node.obj.get("status") or {}).get("images") or ()
    return list(dict.fromkeys(name for image in images for name in image.get("names") or ()))


def tally(counts: dict[Any, int], key: object, sign: int) -> None:
    """Count one more, or one less; what is at zero is forgotten."""
    count = counts.get(key, 0) + sign
    if count:
        counts[key] = count
    else:
        del counts[key]
