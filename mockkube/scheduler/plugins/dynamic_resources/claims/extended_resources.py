"""Extended resources backed by devices: the special claim, its requests, and their mapping to containers.

upstream 1.36: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.random import new_uid, random_for
from mockkube.scheduler.framework.pod_info import PodInfo

EXTENDED_RESOURCE_CLAIM_ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
IMPLICIT_RESOURCE_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
# Name of the claim in the scheduler's memory, before the API server has generated one.
UNWRITTEN_CLAIM_NAME: Final = "<extended-resources>"


@dataclass(frozen=True, slots=True)
class ExtendedResourceRequests:
    """Requests of the claim for one node, and the requests that each container uses."""

    requests: tuple[Object, ...]
    mappings: tuple[Object, ...]


def build_extended_resource_claim(pod: PodInfo) -> Object:
    """Return the claim for a pod's extended resources, in memory only and without requests."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": UNWRITTEN_CLAIM_NAME,
            "namespace": pod.namespace,
            "generateName": f"{pod.name}-extended-resources-",
            # Derived from the pod, so that the same decision made again has the same uid.
            "uid": new_uid(random_for(pod.uid, UNWRITTEN_CLAIM_NAME)),
            "annotations": {EXTENDED_RESOURCE_CLAIM_ANNOTATION: "true"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
            ],
        },
        "spec": {},
    }


def is_extended_resource_claim_of(claim: ReadOnlyObject, pod: PodInfo) -> bool:
    """Return whether a claim is the special claim of the pod."""
    metadata = claim["metadata"]
    if (metadata.get("annotations") or {}).get(EXTENDED_RESOURCE_CLAIM_ANNOTATION) != "true":
        return False
    owners = metadata.get("ownerReferences") or ()
    return any(one["name"] == pod.name and one.get("controller") and one["uid"] == pod.uid for one in owners)


@dataclass(frozen=True, slots=True)
class _Container:
    """Container with its index among all containers; `is_init` excludes sidecars."""

    index: int
    name: str
    requests: Mapping[str, str]
    is_init: bool


def _containers(pod: PodInfo) -> Iterator[_Container]:
    init = pod.spec.get("initContainers") or ()
    for index, one in enumerate((*init, *(pod.spec.get("containers") or ()))):
        requests = (one.get("resources") or {}).get("requests") or {}
        brief = index < len(init) and one.get("restartPolicy") != "Always"
        yield _Container(index, one["name"], requests, brief)


def build_requests(pod: PodInfo, classes: Mapping[str, str]) -> ExtendedResourceRequests:
    """Return the requests of a claim that serves these resources with devices of these classes."""
    requests: list[Object] = []
    mappings: list[Object] = []
    for resource, class_name in sorted(classes.items()):
        _add_requests(tuple(_containers(pod)), _BackedResource(resource, class_name), requests, mappings)
    requests.sort(key=lambda request: str(request["name"]))
    return ExtendedResourceRequests(tuple(requests), tuple(mappings))


@dataclass(frozen=True, slots=True)
class _BackedResource:
    name: str
    class_name: str

    def amount(self, container: _Container) -> int:
        """Return the requested amount of a container; fractions count as zero."""
        if self.name not in container.requests:
            return 0
        quantity = parse(str(container.requests[self.name]))
        return quantity.value() if quantity.is_integer else 0

    def request(self, container: _Container, count: int) -> Object:
        """Return the request for a container, named by the indexes of container and resource."""
        place = sorted(container.requests).index(self.name)
        exactly = {"deviceClassName": self.class_name, "allocationMode": "ExactCount", "count": count}
        return {"name": f"container-{container.index}-request-{place}", "exactly": exactly}

    def mapping(self, container: _Container, request_name: str) -> Object:
        """Return the mapping of a container to a request."""
        return {"containerName": container.name, "resourceName": self.name, "requestName": request_name}


def _add_requests(
    containers: Sequence[_Container], resource: _BackedResource, requests: list[Object], mappings: list[Object]
) -> None:
    """Add requests for one resource.

    Containers that run together have devices of their own; init containers reuse those of later containers.
    """
    request_by_container: dict[int, Object] = {}
    for container in containers:
        if not container.is_init and (amount := resource.amount(container)):
            request_by_container[container.index] = resource.request(container, amount)
            mappings.append(resource.mapping(container, request_by_container[container.index]["name"]))
    extra: list[Object] = []
    init_mappings: list[Object] = []
    for container in containers:
        if container.is_init and (amount := resource.amount(container)):
            reusable = [request for index, request in request_by_container.items() if index >= container.index]
            extra += _map_init_container(container, resource, amount, reusable, init_mappings)
    if extra:
        # Init containers run one after the other, so the largest extra request serves all of them.
        largest = max(extra, key=lambda request: int(request["exactly"]["count"]))
        requests.append(largest)
        replaced = {request["name"] for request in extra}
        init_mappings = [
            {**one, "requestName": largest["name"]} if one["requestName"] in replaced else one for one in init_mappings
        ]
    requests += request_by_container.values()
    mappings += init_mappings


def _map_init_container(
    container: _Container, resource: _BackedResource, amount: int, reusable: Sequence[Object], mappings: list[Object]
) -> list[Object]:
    """Map an init container to requests of later containers; return a request for the rest."""
    for lender in reusable:
        mappings.append(resource.mapping(container, lender["name"]))
        amount -= lender["exactly"]["count"]
        if amount <= 0:
            return []
    request = resource.request(container, amount)
    mappings.append(resource.mapping(container, request["name"]))
    return [request]
