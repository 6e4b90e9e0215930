"""The pods a kubelet has let in, as far as admission of the next one looks at them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mockkube.api.requests import RequestRules, pod_requests
from mockkube.api.resources import Resources
from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import Key, key_of

MIRROR: Final = "kubernetes.io/config.mirror"
CONFIG_SOURCE: Final = "kubernetes.io/config.source"
CRITICAL_PRIORITY: Final = 2_000_000_000

Port = tuple[str, str, int]
"""Address, protocol and number."""


@dataclass(frozen=True, slots=True)
class Guest:
    """What a pod takes of its node, and what it is worth."""

    key: Key
    uid: str
    requests: Resources
    ports: frozenset[Port]
    critical: bool
    priority: int | None
    qos: str

    @classmethod
    def of(cls, pod: ReadOnlyObject, requests: RequestRules) -> "Guest":
        """Read a pod."""
        return cls(
            key_of(pod),
            pod["metadata"].get("uid", ""),
            pod_requests(pod, requests),
            frozenset(_host_ports(pod)),
            is_critical(pod),
            pod["spec"].get("priority"),
            (pod.get("status") or {}).get("qosClass", ""),
        )


def is_critical(pod: ReadOnlyObject) -> bool:
    """Whether room is made for the pod whatever else must go."""
    return is_static(pod) or pod["spec"].get("priority", 0) >= CRITICAL_PRIORITY


def is_mirror(pod: ReadOnlyObject) -> bool:
    """Whether the pod only shows one that runs from a file of its node."""
    return MIRROR in (pod["metadata"].get("annotations") or {})


def is_static(pod: ReadOnlyObject) -> bool:
    """Whether the pod runs from a file of its node, or shows one that does."""
    return is_mirror(pod) or (pod["metadata"].get("annotations") or {}).get(CONFIG_SOURCE, "api") != "api"


def _host_ports(pod: ReadOnlyObject) -> Iterator[Port]:
    """Return everything that listens on the node itself."""
    spec = pod["spec"]
    sidecars = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    for container in (*sidecars, *spec["containers"]):
        for port in container.get("ports") or ():
            if number := port.get("hostPort"):
                yield port.get("hostIP", ""), port.get("protocol", "TCP"), number
