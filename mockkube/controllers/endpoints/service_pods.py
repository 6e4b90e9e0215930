"""Pods of a service, with their addresses and ports, and the services that a changed pod affects.

upstream 1.36: staging/src/k8s.io/endpointslice/util/controller_utils.go, endpointslice/utils.go
"""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Informer, ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp
from mockkube.matching.pods import FINISHED, is_ready

Address = IPv4Address | IPv6Address


def selects(selector: Mapping[str, str] | None, labels: Mapping[str, str]) -> bool:
    """Return whether a service's selector matches labels; an empty one matches nothing."""
    return bool(selector) and all(labels.get(name) == value for name, value in (selector or {}).items())


def selected_pods(service: ReadOnlyObject, pods: Informer) -> list[ReadOnlyObject]:
    """Return the pods that a service selects."""
    selector = service["spec"].get("selector")
    namespace = service["metadata"]["namespace"]
    return [pod for pod in pods.list(namespace) if selects(selector, pod["metadata"].get("labels", {}))]


def needs_endpoints(service: ReadOnlyObject) -> bool:
    """Return whether the endpoints of a service are derived from its selector."""
    return service["spec"].get("type") != "ExternalName" and bool(service["spec"].get("selector"))


def is_headless(service: ReadOnlyObject) -> bool:
    """Return whether a service has no cluster IP."""
    return service["spec"].get("clusterIP", "") in ("", "None")


def services_to_update(change: ObjectChange, services: Informer) -> list[Key]:
    """Return the services to update after a change of a pod."""
    pod, old = change.object, change.old
    if change.type is not WatchEventType.MODIFIED or old is None:
        return _matching_services(services, pod)
    moved, changed = _selection_inputs(pod) != _selection_inputs(old), _endpoint_inputs(pod) != _endpoint_inputs(old)
    if not moved:
        return _matching_services(services, pod) if changed else []
    now, before = _matching_services(services, pod), _matching_services(services, old)
    if changed:
        return list(dict.fromkeys((*now, *before)))
    # With only labels changed, services that select both states have nothing to update.
    return [key for key in now if key not in before] + [key for key in before if key not in now]


def _matching_services(services: Informer, pod: ReadOnlyObject) -> list[Key]:
    metadata = pod["metadata"]
    candidates = services.list(metadata["namespace"])
    labels = metadata.get("labels", {})
    return [key_of(service) for service in candidates if selects(service["spec"].get("selector"), labels)]


def _selection_inputs(pod: ReadOnlyObject) -> object:
    return pod["metadata"].get("labels", {}), pod["spec"].get("hostname"), pod["spec"].get("subdomain")


def _endpoint_inputs(pod: ReadOnlyObject) -> object:
    addresses = [one.get("ip") for one in pod.get("status", {}).get("podIPs", ())]
    return pod["metadata"].get("deletionTimestamp"), is_ready(pod), addresses


def belongs_in_endpoints(pod: ReadOnlyObject, *, also_terminating: bool) -> bool:
    """Return whether a pod belongs to the endpoints of services that select it."""
    status = pod.get("status", {})
    if status.get("phase") in FINISHED or not (status.get("podIP") or status.get("podIPs")):
        return False
    return also_terminating or not has_deletion_timestamp(pod)


def addresses(pod: ReadOnlyObject) -> Iterable[Address]:
    """Return the IP addresses of a pod."""
    return [ip_address(one["ip"]) for one in pod.get("status", {}).get("podIPs", ()) if one.get("ip")]


def find_port(pod: ReadOnlyObject, port: ReadOnlyObject) -> int | None:
    """Return the pod's port for a service port; None if no container has a port of that name."""
    target = port.get("targetPort", 0)
    if isinstance(target, int):
        return target
    spec = pod["spec"]
    # Ports of sidecars can be named as targets too, since they run as long as the pod.
    sidecars = (one for one in spec.get("initContainers", ()) if one.get("restartPolicy") == "Always")
    for container in (*spec.get("containers", ()), *sidecars):
        for own in container.get("ports", ()):
            if own.get("name") == target and own.get("protocol") == port.get("protocol"):
                number: int = own["containerPort"]
                return number
    return None


def hostname_for(pod: ReadOnlyObject, service: ReadOnlyObject) -> str:
    """Return the hostname that a headless service publishes for a pod; empty if none."""
    spec = pod["spec"]
    hostname: str = spec.get("hostname", "")
    return hostname if spec.get("subdomain") == service["metadata"]["name"] else ""


def reference_to_pod(pod: ReadOnlyObject) -> dict[str, str]:
    """Return the object reference to a pod, as endpoints contain it."""
    metadata = pod["metadata"]
    return {"kind": "Pod", "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]}
