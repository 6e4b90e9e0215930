"""Events that kubelets record."""

from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KubeletEvent:
    """Event about a pod, a node or a stage, in upstream's words."""

    type: str
    reason: str
    message: str
    # Name of the container that the event is about; the event's field path refers to it.
    container: str = ""
