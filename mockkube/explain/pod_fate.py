"""State of a pod and the component that caused it, read from its status and never from messages of events."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.controllers.pods.status_writer import DISRUPTION_TARGET
from mockkube.explain.components import Team
from mockkube.explain.pod_history import Memory
from mockkube.explain.scheduling import state_of


class Fate(StrEnum):
    """State of a pod, as far as it determines which component to ask."""

    UNBOUND = "unbound"
    # Bound; its containers have not started.
    ARRIVING = "arriving"
    RUNNING = "running"
    # Rejected by the kubelet before it started.
    REFUSED = "refused"
    # Evicted for a taint of its node.
    EVICTED = "evicted"
    # Preempted by the scheduler.
    PREEMPTED = "preempted"
    # Preempted by the kubelet.
    DISPLACED = "displaced"
    # Deleted by an unknown client while its containers ran.
    DELETED = "deleted"
    ENDED = "ended"


# States that a component caused and that the pod does not leave.
TURNED_AWAY: Final = (Fate.REFUSED, Fate.EVICTED, Fate.PREEMPTED, Fate.DISPLACED)
_DISRUPTED: Final[Mapping[str, tuple[Fate, str]]] = {
    "PreemptionByScheduler": (Fate.PREEMPTED, "{scheduler} preempted it for a pod of higher priority"),
    "DeletionByTaintManager": (Fate.EVICTED, "{manager} (taint-eviction-controller) evicted it"),
    "DeletionByPodGC": (Fate.ENDED, "{manager} (pod-garbage-collector) deleted it"),
    "EvictionByEvictionAPI": (Fate.ENDED, "somebody evicted it through the Eviction API, as kubectl drain does"),
    "TerminationByKubelet": (Fate.DISPLACED, "{kubelet} ended it for a critical pod, or because resources ran out"),
}


def disruption_of(pod: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the DisruptionTarget condition of a pod; None without one."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == DISRUPTION_TARGET and one["status"] == "True"), None)


def fate_of(pod: ReadOnlyObject) -> Fate:
    """Return the state of a pod."""
    status = pod.get("status") or {}
    # The condition stays on the pod when it ends, so it names the cause more exactly than phase and reason do.
    if (disruption := disruption_of(pod)) is not None and disruption.get("reason") in _DISRUPTED:
        return _DISRUPTED[disruption["reason"]][0]
    if not pod["spec"].get("nodeName"):
        return Fate.UNBOUND
    started = bool(status.get("containerStatuses"))
    match status.get("phase"):
        # A pod that its kubelet rejected has a reason but no container statuses: no container was ever created.
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
    """Return the state of a pod, alive or gone, in one line."""
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
    """Yield which component did what to a pod, and what follows."""
    pod = memory.pod
    if pod is None:
        yield "The server no longer has its last state; its events say what happened."
        return
    node, fate = pod["spec"].get("nodeName", ""), fate_of(pod)
    names = {"scheduler": team.scheduler.told(), "manager": team.manager.told(), "kubelet": team.kubelet(node).told()}
    if (disruption := disruption_of(pod)) is not None:
        action = (
            _DISRUPTED[disruption["reason"]][1].format(**names)
            if disruption.get("reason") in _DISRUPTED
            else "somebody evicted it"
        )
        yield f"Who: {action}: {disruption.get('message', '')}"
    elif fate is Fate.REFUSED:
        yield f"Who: {names['kubelet']} refused it on {node}; a pod that was refused stays Failed and never starts."
    elif fate is Fate.ENDED:
        yield f"Its containers have ended on {node}; no component stopped it."
    elif memory.gone:
        yield "Who: it was deleted; nothing in its status says that a component wanted that."
    if pod["metadata"].get("deletionTimestamp") and not memory.gone:
        finalizers = ", ".join(pod["metadata"].get("finalizers") or ())
        since = pod["metadata"]["deletionTimestamp"]
        yield f"It is being deleted since {since}{f', held by {finalizers}' if finalizers else ''}."
