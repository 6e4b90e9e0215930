"""What has become of a pod, and who did it: read from its status, never from texts of events."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.controllers.pods.status_writer import DISRUPTION_TARGET
from mockkube.explain.components import Team
from mockkube.explain.pod_history import Memory
from mockkube.explain.scheduling import state_of


class Fate(StrEnum):
    """What has become of a pod, as far as it decides whom to ask about it."""

    UNBOUND = "unbound"
    ARRIVING = "arriving"
    """Bound; its containers have not started."""
    RUNNING = "running"
    REFUSED = "refused"
    """By the kubelet, when it came."""
    EVICTED = "evicted"
    """For a taint of its node."""
    PREEMPTED = "preempted"
    """By the scheduler, for another pod."""
    DISPLACED = "displaced"
    """By the kubelet, for another pod."""
    DELETED = "deleted"
    """Nothing says by whom; its containers were stopped for that."""
    ENDED = "ended"


TURNED_AWAY: Final = (Fate.REFUSED, Fate.EVICTED, Fate.PREEMPTED, Fate.DISPLACED)
"""The ends that a component has put to a pod; it does not come back from there."""
_DISRUPTED: Final[Mapping[str, tuple[Fate, str]]] = {
    "PreemptionByScheduler": (Fate.PREEMPTED, "{scheduler} preempted it for a pod of higher priority"),
    "DeletionByTaintManager": (Fate.EVICTED, "{manager} (taint-eviction-controller) evicted it"),
    "DeletionByPodGC": (Fate.ENDED, "{manager} (pod-garbage-collector) deleted it"),
    "EvictionByEvictionAPI": (Fate.ENDED, "somebody evicted it through the Eviction API, as kubectl drain does"),
    "TerminationByKubelet": (Fate.DISPLACED, "{kubelet} ended it for a critical pod, or for want of room"),
}


def disruption_of(pod: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the condition that says why a pod is made to go."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == DISRUPTION_TARGET and one["status"] == "True"), None)


def fate_of(pod: ReadOnlyObject) -> Fate:
    """Return what has become of a pod."""
    status = pod.get("status") or {}
    if (said := disruption_of(pod)) is not None and said.get("reason") in _DISRUPTED:
        return _DISRUPTED[said["reason"]][0]
    if not pod["spec"].get("nodeName"):
        return Fate.UNBOUND
    started = bool(status.get("containerStatuses"))
    match status.get("phase"):
        case "Failed" if status.get("reason") and not started:
            return Fate.REFUSED
        case _ if pod["metadata"].get("deletionTimestamp"):
            return Fate.DELETED
        case "Failed" | "Succeeded":
            return Fate.ENDED
        case "Running":
            return Fate.RUNNING
    return Fate.ARRIVING


def state_text(memory: Memory) -> str:
    """Return what has become of a pod, in a line."""
    pod = memory.pod
    if pod is None:
        return "is gone"
    if not memory.gone:
        return state_of(pod)
    status, node = pod.get("status") or {}, pod["spec"].get("nodeName", "")
    reason = status.get("reason") or (disruption_of(pod) or {}).get("reason", "")
    where = f"it was on {node}" if node else "it was on no node"
    return f"is gone; {where}, {status.get('phase', '')}{f': {reason}' if reason else ''}"


def deeds(memory: Memory, team: Team) -> Iterator[str]:
    """Yield who did what to a pod, and what follows."""
    pod = memory.pod
    if pod is None:
        yield "The server does not remember it any more; its events say what happened."
        return
    node, fate = pod["spec"].get("nodeName", ""), fate_of(pod)
    told = {"scheduler": team.scheduler.told(), "manager": team.manager.told(), "kubelet": team.kubelet(node).told()}
    if (said := disruption_of(pod)) is not None:
        who = (
            _DISRUPTED[said["reason"]][1].format(**told) if said.get("reason") in _DISRUPTED else "somebody evicted it"
        )
        yield f"Who: {who}: {said.get('message', '')}"
    elif fate is Fate.REFUSED:
        yield f"Who: {told['kubelet']} refused it on {node}; a pod that was refused stays Failed and never starts."
    elif fate is Fate.ENDED:
        yield f"Its containers have ended on {node}; nobody turned it away."
    elif memory.gone:
        yield "Who: it was deleted; nothing in its status says that a component wanted that."
    if pod["metadata"].get("deletionTimestamp") and not memory.gone:
        held = ", ".join(pod["metadata"].get("finalizers") or ())
        yield f"It is being deleted since {pod['metadata']['deletionTimestamp']}{f', held by {held}' if held else ''}."
