"""Pods that keep their node from being removed, and why.

autoscaler 1.35: cluster-autoscaler/simulator/drainability/rules
"""

from collections.abc import Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.selectors.errors import BadSelector
from mockkube.api.selectors.labels import from_label_selector
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_finished

SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_SAFE_VOLUMES: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
_MIRROR: Final = "kubernetes.io/config.mirror"
_SYSTEM: Final = "kube-system"


@dataclass(frozen=True, slots=True)
class NodePods:
    """Pods of a node: those to move before it is removed, and why it cannot be (empty: it can)."""

    movable: tuple[ReadOnlyObject, ...] = ()
    blocker: str = ""


def sort_pods(pods: Sequence[ReadOnlyObject], budgets: Sequence[ReadOnlyObject]) -> NodePods:
    """Return the pods of a node that have to move, or why one of them cannot."""
    movable = []
    for pod in pods:
        if is_finished(pod) or is_of_node(pod) or pod["metadata"].get("deletionTimestamp"):
            continue
        if reason := find_blocker(pod, budgets):
            metadata = pod["metadata"]
            return NodePods(blocker=f"{metadata['namespace']}/{metadata['name']}: {reason}")
        movable.append(pod)
    return NodePods(tuple(movable))


def find_blocker(pod: ReadOnlyObject, budgets: Sequence[ReadOnlyObject]) -> str:
    """Return why a pod may not be moved; empty if it may."""
    metadata = pod["metadata"]
    annotations = metadata.get("annotations") or {}
    matching = find_selecting(budgets, pod)
    if any((budget.get("status") or {}).get("disruptionsAllowed", 0) < 1 for budget in matching):
        return "not enough pod disruption budget to move it"
    match annotations.get(SAFE_TO_EVICT):
        case "true":
            return ""
        case "false":
            return "annotated as not safe to evict"
    if find_controller(pod) is None:
        return "not replicated"
    if metadata.get("namespace") == _SYSTEM and not matching:
        return "in the namespace kube-system without a pod disruption budget"
    safe = [name.strip() for name in annotations.get(_SAFE_VOLUMES, "").split(",")]
    for volume in pod["spec"].get("volumes") or ():
        if _is_local(volume) and volume["name"] not in safe:
            return f"has local storage: volume {volume['name']}"
    return ""


def find_selecting(budgets: Sequence[ReadOnlyObject], pod: ReadOnlyObject) -> list[ReadOnlyObject]:
    """Return the PodDisruptionBudgets that select a pod."""
    return [budget for budget in budgets if _selects(budget, pod)]


def find_controller(pod: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the reference to a pod's controller; None if it has none."""
    return next((one for one in pod["metadata"].get("ownerReferences") or () if one.get("controller")), None)


def is_daemon_pod(pod: ReadOnlyObject) -> bool:
    """Return whether a DaemonSet controls a pod."""
    controller = find_controller(pod)
    return controller is not None and bool(controller.get("kind") == "DaemonSet")


def is_of_node(pod: ReadOnlyObject) -> bool:
    """Return whether a pod goes with its node: a mirror pod, or one of a DaemonSet."""
    return _MIRROR in (pod["metadata"].get("annotations") or {}) or is_daemon_pod(pod)


def _is_local(volume: ReadOnlyObject) -> bool:
    empty = volume.get("emptyDir")
    return "hostPath" in volume or (empty is not None and empty.get("medium") != "Memory")


def _selects(budget: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
    if budget["metadata"].get("namespace") != pod["metadata"].get("namespace"):
        return False
    try:
        selector = from_label_selector(budget["spec"].get("selector"))
    except BadSelector:
        return False
    return selector.matches(pod["metadata"].get("labels") or {})
