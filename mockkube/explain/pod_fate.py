"""State of a pod and the component that caused it, read from its status and never from messages of events."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.explain.components import ClusterComponents
from mockkube.explain.pod_history import PodHistory
from mockkube.explain.scheduling import describe_state
from mockkube.matching.pods import DISRUPTION_TARGET


class PodFate(StrEnum):
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
ENDED_BY_COMPONENT: Final = (PodFate.REFUSED, PodFate.EVICTED, PodFate.PREEMPTED, PodFate.DISPLACED)
_DISRUPTION_REASONS: Final[Mapping[str, tuple[PodFate, str]]] = {
    "PreemptionByScheduler": (PodFate.PREEMPTED, "{scheduler} preempted it for a pod of higher priority"),
    "DeletionByTaintManager": (PodFate.EVICTED, "{manager} (taint-eviction-controller) evicted it"),
    "DeletionByPodGC": (PodFate.ENDED, "{manager} (pod-garbage-collector) deleted it"),
    "EvictionByEvictionAPI": (PodFate.ENDED, "somebody evicted it through the Eviction API, as kubectl drain does"),
    "TerminationByKubelet": (PodFate.DISPLACED, "{kubelet} ended it for a critical pod, or because resources ran out"),
}


def find_disruption(pod: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the DisruptionTarget condition of a pod; None without one."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == DISRUPTION_TARGET and one["status"] == "True"), None)


def get_fate(pod: ReadOnlyObject) -> PodFate:
    """Return the state of a pod."""
    status = pod.get("status") or {}
    # The condition stays on the pod when it ends, so it names the cause more exactly than phase and reason do.
    if (disruption := find_disruption(pod)) is not None and disruption.get("reason") in _DISRUPTION_REASONS:
        return _DISRUPTION_REASONS[disruption["reason"]][0]
    if not pod["spec"].get("nodeName"):
        return PodFate.UNBOUND
    started = bool(status.get("containerStatuses"))
    match status.get("phase"):
        # A pod that its kubelet rejected has a reason but no container statuses: no container was ever created.
        case "Failed" if status.get("reason") and not started:
            return PodFate.REFUSED
        case _ if pod["metadata"].get("deletionTimestamp"):
            return PodFate.DELETED
        case "Failed" | "Succeeded":
            return PodFate.ENDED
        case "Running":
            return PodFate.RUNNING
    return PodFate.ARRIVING


def describe_fate(history: PodHistory) -> str:
    """Return the state of a pod, alive or gone, in one line."""
    pod = history.pod
    if pod is None:
        return "is gone"
    if not history.is_gone:
        return describe_state(pod)
    status, node = pod.get("status") or {}, pod["spec"].get("nodeName", "")
    reason = status.get("reason") or (find_disruption(pod) or {}).get("reason", "")
    where = f"it was on {node}" if node else "it was on no node"
    return f"is gone; {where}, {status.get('phase', '')}{f': {reason}' if reason else ''}"


def describe_actions(history: PodHistory, components: ClusterComponents) -> Iterator[str]:
    """Yield which component did what to a pod, and what follows."""
    pod = history.pod
    if pod is None:
        yield "The server no longer has its last state; its events say what happened."
        return
    node, fate = pod["spec"].get("nodeName", ""), get_fate(pod)
    names = {
        "scheduler": components.scheduler.describe(),
        "manager": components.manager.describe(),
        "kubelet": components.kubelet(node).describe(),
    }
    if (disruption := find_disruption(pod)) is not None:
        action = (
            _DISRUPTION_REASONS[disruption["reason"]][1].format(**names)
            if disruption.get("reason") in _DISRUPTION_REASONS
            else "somebody evicted it"
        )
        yield f"Who: {action}: {disruption.get('message', '')}"
    elif fate is PodFate.REFUSED:
        yield f"Who: {names['kubelet']} rejected it on {node}; a rejected pod stays Failed and never starts."
    elif fate is PodFate.ENDED:
        yield f"Its containers have ended on {node}; no component stopped it."
    elif history.is_gone:
        yield "Who: it was deleted; nothing in its status says that a component wanted that."
    if pod["metadata"].get("deletionTimestamp") and not history.is_gone:
        finalizers = ", ".join(pod["metadata"].get("finalizers") or ())
        since = pod["metadata"]["deletionTimestamp"]
        yield f"It is being deleted since {since}{f', held by {finalizers}' if finalizers else ''}."
