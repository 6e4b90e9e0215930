"""Result of one sync of a container."""

from datetime import datetime

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.kubelet.containers.kubelet_event import KubeletEvent
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContainerProgress:
    """New status of a container, when it changes next (None: never), and events."""

    status: Object
    next_at: datetime | None = None
    notes: tuple[KubeletEvent, ...] = ()


def waiting_status(old: ReadOnlyObject, reason: str, message: str) -> Object:
    """Return the status of a container that waits for a reason."""
    return {**old, "state": {"waiting": {"reason": reason, "message": message}}}
