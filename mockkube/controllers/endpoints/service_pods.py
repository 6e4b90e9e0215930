"""Which pods a service leads to, at which addresses and ports, and which services a change of a pod concerns.

upstream 1.36: staging/src/k8s.io/endpointslice/util/controller_utils.go, endpointslice/utils.go
"""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address

from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import Change, ListWatch
from mockkube.client.protocol import EventType, Key, key_of
from mockkube.controllers.framework.controller_ref_manager import terminating
from mockkube.controllers.pods.readiness import is_ready
from mockkube.controllers.pods.status_writer import FINISHED

Address = IPv4Address | IPv6Address


def selects(selector: Mapping[str, str] | None, labels: Mapping[str, str]) -> bool:
    """Whether a service's selector matches; a missing or empty one matches nothing."""
    return bool(selector) and all(labels.get(name) == value for name, value in (selector or {}).items())


def pods_of(service: ReadOnlyObject, pods: ListWatch) -> list[ReadOnlyObject]:
    """Return the pods a service selects."""
    selector = service["spec"].get("selector")
    namespace = service["metadata"]["namespace"]
    return [pod for pod in pods.list(namespace) if selects(selector, pod["metadata"].get("labels", {}))]


def leads_to_pods(service: ReadOnlyObject) -> bool:
    """Whether the endpoints of a service are found by its selector."""
    return service["spec"].get("type") != "ExternalName" and bool(service["spec"].get("selector"))


def is_headless(service: ReadOnlyObject) -> bool:
    """Whether a service has no address of its own."""
    return service["spec"].get("clusterIP", "") in ("", "None")


def concerned(change: Change, services: ListWatch) -> list[Key]:
    """Return the services whose endpoints a change of a pod may change."""
    pod, old = change.object, change.old
    if change.type is not EventType.MODIFIED or old is None:
        return _selecting(services, pod)
    moved, changed = _place(pod) != _place(old), _state(pod) != _state(old)
    if not moved:
        return _selecting(services, pod) if changed else []
    now, before = _selecting(services, pod), _selecting(services, old)
    if changed:
        return list(dict.fromkeys((*now, *before)))
    return [key for key in now if key not in before] + [key for key in before if key not in now]


def _selecting(services: ListWatch, pod: ReadOnlyObject) -> list[Key]:
    metadata = pod["metadata"]
    there = services.list(metadata["namespace"])
    labels = metadata.get("labels", {})
    return [key_of(service) for service in there if selects(service["spec"].get("selector"), labels)]


def _place(pod: ReadOnlyObject) -> object:
    return pod["metadata"].get("labels", {}), pod["spec"].get("hostname"), pod["spec"].get("subdomain")


def _state(pod: ReadOnlyObject) -> object:
    addresses = [one.get("ip") for one in pod.get("status", {}).get("podIPs", ())]
    return pod["metadata"].get("deletionTimestamp"), is_ready(pod), addresses


def has_endpoint(pod: ReadOnlyObject, *, also_terminating: bool) -> bool:
    """Whether a pod is among the endpoints of the services that select it."""
    status = pod.get("status", {})
    if status.get("phase") in FINISHED or not (status.get("podIP") or status.get("podIPs")):
        return False
    return also_terminating or not terminating(pod)


def addresses(pod: ReadOnlyObject) -> Iterable[Address]:
    """Return the addresses of a pod."""
    return [ip_address(one["ip"]) for one in pod.get("status", {}).get("podIPs", ()) if one.get("ip")]


def find_port(pod: ReadOnlyObject, port: ReadOnlyObject) -> int | None:
    """Return which port of a pod a service's port leads to; None if the pod has no port of that name."""
    target = port.get("targetPort", 0)
    if isinstance(target, int):
        return target
    spec = pod["spec"]
    sidecars = (one for one in spec.get("initContainers", ()) if one.get("restartPolicy") == "Always")
    for container in (*spec.get("containers", ()), *sidecars):
        for own in container.get("ports", ()):
            if own.get("name") == target and own.get("protocol") == port.get("protocol"):
                number: int = own["containerPort"]
                return number
    return None


def hostname_for(pod: ReadOnlyObject, service: ReadOnlyObject) -> str:
    """Return the name under which a headless service makes the pod known; empty if it does not."""
    spec = pod["spec"]
    hostname: str = spec.get("hostname", "")
    return hostname if spec.get("subdomain") == service["metadata"]["name"] else ""


def reference_to_pod(pod: ReadOnlyObject) -> dict[str, str]:
    """Return how endpoints refer to a pod."""
    metadata = pod["metadata"]
    return {"kind": "Pod", "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]}
