"""Extended resources that are served by devices: the claim that stands for them, and who gets which part of it.

upstream 1.36: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mockkube.api.quantity import parse
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.runtime.chance import new_uid, random_for
from mockkube.scheduler.framework.pod_info import PodInfo

ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
PREFIX: Final = "deviceclass.resource.kubernetes.io/"
UNWRITTEN: Final = "<extended-resources>"
"""The name of such a claim as long as it is in nobody's mind but the scheduler's."""


@dataclass(frozen=True, slots=True)
class Extended:
    """What the devices of one node would have to serve: requests of a claim, and what each container gets of them."""

    requests: tuple[Object, ...]
    mappings: tuple[Object, ...]


def unwritten_claim(pod: PodInfo) -> Object:
    """Return the claim that stands for a pod's extended resources before any node is looked at."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": UNWRITTEN,
            "namespace": pod.namespace,
            "generateName": f"{pod.name}-extended-resources-",
            "uid": new_uid(random_for(pod.uid, UNWRITTEN)),
            "annotations": {ANNOTATION: "true"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
            ],
        },
        "spec": {},
    }


def belongs_to(claim: ReadOnlyObject, pod: PodInfo) -> bool:
    """Whether a claim stands for the pod's extended resources."""
    metadata = claim["metadata"]
    if (metadata.get("annotations") or {}).get(ANNOTATION) != "true":
        return False
    owners = metadata.get("ownerReferences") or ()
    return any(one["name"] == pod.name and one.get("controller") and one["uid"] == pod.uid for one in owners)


@dataclass(frozen=True, slots=True)
class _Container:
    """A container, counted through init containers and others; one that ends before the others start is `brief`."""

    index: int
    name: str
    requests: Mapping[str, str]
    brief: bool


def _containers(pod: PodInfo) -> Iterator[_Container]:
    init = pod.spec.get("initContainers") or ()
    for index, one in enumerate((*init, *(pod.spec.get("containers") or ()))):
        requests = (one.get("resources") or {}).get("requests") or {}
        brief = index < len(init) and one.get("restartPolicy") != "Always"
        yield _Container(index, one["name"], requests, brief)


def requests_for(pod: PodInfo, classes: Mapping[str, str]) -> Extended:
    """Return what a claim must ask for to serve these resources with devices of these classes."""
    requests: list[Object] = []
    mappings: list[Object] = []
    for resource, class_name in sorted(classes.items()):
        _serve(tuple(_containers(pod)), _Resource(resource, class_name), requests, mappings)
    requests.sort(key=lambda request: str(request["name"]))
    return Extended(tuple(requests), tuple(mappings))


@dataclass(frozen=True, slots=True)
class _Resource:
    name: str
    class_name: str

    def amount(self, container: _Container) -> int:
        """Return how much a container asks for; what is no whole number counts as nothing."""
        if self.name not in container.requests:
            return 0
        quantity = parse(str(container.requests[self.name]))
        return quantity.value() if quantity.is_integer else 0

    def request(self, container: _Container, count: int) -> Object:
        """Return the request for a container, named by its place and that of the resource."""
        place = sorted(container.requests).index(self.name)
        exactly = {"deviceClassName": self.class_name, "allocationMode": "ExactCount", "count": count}
        return {"name": f"container-{container.index}-request-{place}", "exactly": exactly}

    def mapping(self, container: _Container, request_name: str) -> Object:
        """Return the note that a container has devices of a request."""
        return {"containerName": container.name, "resourceName": self.name, "requestName": request_name}


def _serve(
    containers: Sequence[_Container], resource: _Resource, requests: list[Object], mappings: list[Object]
) -> None:
    """Add what one resource needs: containers that last have devices of their own, brief ones borrow theirs."""
    lasting: dict[int, Object] = {}
    for container in containers:
        if not container.brief and (amount := resource.amount(container)):
            lasting[container.index] = resource.request(container, amount)
            mappings.append(resource.mapping(container, lasting[container.index]["name"]))
    extra: list[Object] = []
    borrowed: list[Object] = []
    for container in containers:
        if container.brief and (amount := resource.amount(container)):
            lenders = [request for index, request in lasting.items() if index >= container.index]
            extra += _borrow(container, resource, amount, lenders, borrowed)
    if extra:
        largest = max(extra, key=lambda request: int(request["exactly"]["count"]))
        requests.append(largest)
        replaced = {request["name"] for request in extra}
        borrowed = [
            {**one, "requestName": largest["name"]} if one["requestName"] in replaced else one for one in borrowed
        ]
    requests += lasting.values()
    mappings += borrowed


def _borrow(
    container: _Container, resource: _Resource, amount: int, lenders: Sequence[Object], mappings: list[Object]
) -> list[Object]:
    """Map a brief container to the devices of later ones; return a request for what these lack."""
    for lender in lenders:
        mappings.append(resource.mapping(container, lender["name"]))
        amount -= lender["exactly"]["count"]
        if amount <= 0:
            return []
    request = resource.request(container, amount)
    mappings.append(resource.mapping(container, request["name"]))
    return [request]
