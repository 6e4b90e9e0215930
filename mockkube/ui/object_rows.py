"""Rows of the page: what it shows of a node, a pod or a component without the object itself.

A row is a JSON array, so that 20,000 of them are small. `ui/src/model.ts` reads them.
"""

from collections.abc import Mapping
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject

# Longest message in a row; the object itself has the rest.
MESSAGE_MAX: Final = 300
Row = list[Any]

_READY: Final = "Ready"


def make_node_row(node: ReadOnlyObject) -> Row:
    """Return state, tone, taints, pods it may run, kubelet version and whether it is cordoned."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    ready: ReadOnlyObject = next((one for one in status.get("conditions") or () if one.get("type") == _READY), {})
    is_ready = ready.get("status") == "True"
    cordoned = bool(spec.get("unschedulable"))
    state = _READY if is_ready else "NotReady"
    taints = [[one["key"], one.get("value", ""), one["effect"]] for one in spec.get("taints") or ()]
    pods_max = int((status.get("allocatable") or {}).get("pods") or 0)
    version = (status.get("nodeInfo") or {}).get("kubeletVersion", "")
    return [
        f"{state},SchedulingDisabled" if cordoned else state,
        "good" if is_ready and not cordoned else "wait" if is_ready else "bad",
        taints,
        pods_max,
        version,
    ]


def make_pod_row(pod: ReadOnlyObject) -> Row:
    """Return state, tone, node, reason, message and owner of a pod."""
    spec, status, metadata = pod.get("spec") or {}, pod.get("status") or {}, pod["metadata"]
    state, tone, reason, message = _describe_pod(pod, status, spec.get("nodeName", ""))
    owner = next((one for one in metadata.get("ownerReferences") or () if one.get("controller")), None)
    return [
        state,
        tone,
        spec.get("nodeName", ""),
        reason,
        message[:MESSAGE_MAX],
        "" if owner is None else f"{owner['kind']}/{owner['name']}",
    ]


def _describe_pod(pod: ReadOnlyObject, status: ReadOnlyObject, node: str) -> tuple[str, str, str, str]:
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    phase, reason = status.get("phase", "Pending"), status.get("reason", "")
    disrupted = conditions.get("DisruptionTarget", {})
    # Before phase and deletion: an evicted pod has the condition first, then fails or is deleted.
    if disrupted.get("status") == "True":
        return "Evicted", "bad", disrupted.get("reason", ""), disrupted.get("message", "")
    if phase == "Failed":
        return "Failed", "bad", reason, status.get("message", "")
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating", "terminating", reason, ""
    if phase == "Pending" and not node:
        scheduled = conditions.get("PodScheduled", {})
        return "Pending", "wait", scheduled.get("reason", ""), scheduled.get("message", "")
    waiting = _find_waiting(status)
    if waiting is not None:
        return phase, "wait", waiting.get("reason", ""), waiting.get("message", "")
    if phase == "Running" and conditions.get("Ready", {}).get("status") == "False":
        return "NotReady", "wait", conditions["Ready"].get("reason", ""), conditions["Ready"].get("message", "")
    return phase, "good" if phase in ("Running", "Succeeded") else "wait", reason, ""


def _find_waiting(status: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return why the first container waits, if that is a problem."""
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    for one in containers:
        waiting = (one.get("state") or {}).get("waiting")
        if waiting is not None and waiting.get("reason") not in ("ContainerCreating", "PodInitializing"):
            return dict(waiting)
    return None


def make_component_row(component: ReadOnlyObject) -> Row:
    """Return state, tone, version, gates of the spec, trouble and URL of a component."""
    spec, status = component.get("spec") or {}, component.get("status") or {}
    phase = status.get("phase", "Stopped")
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    trouble = _list_trouble(phase, conditions)
    tone = {"Running": "wait" if trouble else "good", "Stopped": "idle"}.get(phase, "bad")
    version = status.get("version") or spec.get("version", "")
    return [phase, tone, version, dict(spec.get("featureGates") or {}), trouble, status.get("url", "")]


def _list_trouble(phase: str, conditions: Mapping[str, ReadOnlyObject]) -> list[str]:
    """Return the problems of a component, named as kubectl's column TROUBLE does, each with its message."""
    supported, server = conditions.get("Supported", {}), conditions.get("ServerReady", {})
    looping, running = conditions.get("Looping", {}), conditions.get("Running", {})
    found = []
    if supported.get("status") == "False":
        found.append(f"{supported['reason']}: {supported.get('message', '')}")
    if server.get("status") == "False":
        found.append(f"Server{server['reason']}: {server.get('message', '')}")
    if looping.get("status") == "True":
        found.append(f"Looping: {looping.get('message', '')}")
    if phase == "Failed":
        found.append(running.get("message", ""))
    return found
