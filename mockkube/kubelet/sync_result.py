"""What a kubelet decides about a pod, and what it decides from beside the pod itself."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from mockkube.api.types import Object
from mockkube.kubelet.containers import Note
from mockkube.kubelet.pod_status import StatusRules


@dataclass(frozen=True, slots=True)
class Host:
    """What a pod gets from where it runs."""

    node_ip: str
    pod_ip: str
    rules: StatusRules
    long_texts: bool = False
    resizes: bool = True
    """Whether containers get what the spec says by now."""
    pending: tuple[str, str] | None = None
    """Why not: reason and message, if that is to be told."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do: patch the status (None: it stands), delete the object, tell of events, come back at a moment."""

    status: Object | None = None
    delete: bool = False
    notes: tuple[Note, ...] = ()
    again_at: datetime | None = None
    staged: bool = False
    """It is not for us to say: stages do."""
    stopping: bool = False
    """It waits for its containers to stop, which is told once."""
    look_again: bool = False
    """It is decided once more, by the node as it is at the server now."""


NOTHING: Final = Plan()
STAGED: Final = Plan(staged=True)
LOOK_AGAIN: Final = Plan(look_again=True)
