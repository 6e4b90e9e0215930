"""Admitted pods, as far as the admission of further pods needs to know them."""

from collections.abc import Iterator
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.pod_requests import PodResourcesOptions, calculate_pod_requests
from mockkube.api.quantities.resources import Resources
from mockkube.client.protocol import Key, key_of
from mockkube.lazy_dataclasses import dataclass

MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
CONFIG_SOURCE_ANNOTATION: Final = "kubernetes.io/config.source"
CRITICAL_PRIORITY: Final = 2_000_000_000

# Host address, protocol and number.
HostPort = tuple[str, str, int]
# Shared by nearly all pods: an empty set takes 216 bytes.
_NO_PORTS: Final[frozenset[HostPort]] = frozenset()


@dataclass(frozen=True, slots=True)
class AdmittedPod:
    """Requests, host ports and priority of an admitted pod."""

    key: Key
    uid: str
    requests: Resources
    ports: frozenset[HostPort]
    critical: bool
    priority: int | None
    qos: str

    @classmethod
    def from_object(cls, pod: ReadOnlyObject, requests: PodResourcesOptions) -> "AdmittedPod":
        """Build from a pod."""
        return cls(
            key_of(pod),
            pod["metadata"].get("uid", ""),
            calculate_pod_requests(pod, requests),
            frozenset(_find_host_ports(pod)) or _NO_PORTS,
            is_critical(pod),
            pod["spec"].get("priority"),
            (pod.get("status") or {}).get("qosClass", ""),
        )


def is_critical(pod: ReadOnlyObject) -> bool:
    """Return whether other pods may be preempted so that the pod fits (upstream: IsCriticalPod)."""
    return is_static(pod) or pod["spec"].get("priority", 0) >= CRITICAL_PRIORITY


def is_mirror(pod: ReadOnlyObject) -> bool:
    """Return whether the pod mirrors a static pod of its node."""
    return MIRROR_ANNOTATION in (pod["metadata"].get("annotations") or {})


def is_static(pod: ReadOnlyObject) -> bool:
    """Return whether the pod is a static pod, or mirrors one."""
    return is_mirror(pod) or (pod["metadata"].get("annotations") or {}).get(CONFIG_SOURCE_ANNOTATION, "api") != "api"


def _find_host_ports(pod: ReadOnlyObject) -> Iterator[HostPort]:
    """Return all host ports of a pod's main containers and sidecars."""
    spec = pod["spec"]
    # Other init containers have ended before the main containers start, so their ports conflict with nothing.
    sidecars = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    for container in (*sidecars, *spec["containers"]):
        for port in container.get("ports") or ():
            if number := port.get("hostPort"):
                yield port.get("hostIP", ""), port.get("protocol", "TCP"), number
