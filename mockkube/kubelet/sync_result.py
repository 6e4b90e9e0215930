"""Inputs and result of one sync of a pod."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from mockkube.api.types import Object
from mockkube.kubelet.containers import Note
from mockkube.kubelet.pod_status import StatusRules


@dataclass(frozen=True, slots=True)
class Host:
    """Inputs of one sync that come from the pod's node."""

    node_ip: str
    pod_ip: str
    rules: StatusRules
    long_texts: bool = False
    # Whether containers get the resources of the spec.
    resizes: bool = True
    # Reason and message of a resize that is pending.
    pending: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Result of one sync: status patch, deletion, events, time of the next sync."""

    status: Object | None = None
    delete: bool = False
    notes: tuple[Note, ...] = ()
    again_at: datetime | None = None
    # KWOK stages decide about the pod instead of the kubelet.
    staged: bool = False
    # Containers are stopping; its events are recorded once.
    stopping: bool = False
    # Sync again with the node as the API server has it now.
    look_again: bool = False


NOTHING: Final = Plan()
STAGED: Final = Plan(staged=True)
LOOK_AGAIN: Final = Plan(look_again=True)
