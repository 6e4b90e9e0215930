"""Printer columns of Pod: one status out of all container statuses."""

from collections.abc import Sequence
from dataclasses import field
from datetime import datetime

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.accessors import (
    elements,
    has_condition,
    is_deleting,
    name_of,
    number,
    section,
    sections,
    string,
    truth,
    value_at,
)
from mockkube.api.printers.ages import format_age, human_duration, parse_time
from mockkube.api.printers.table import (
    AGE_COLUMN,
    NAME_COLUMN,
    NONE,
    Cell,
    Printer,
    RowCondition,
    text_column,
    wide_column,
)
from mockkube.lazy_dataclasses import dataclass

COLUMNS = (
    NAME_COLUMN,
    text_column("Ready", "Ready containers, of all that should run."),
    text_column("Status", "Status of the pod, from its containers."),
    text_column("Restarts", "Number of container restarts, and the time since the last one."),
    AGE_COLUMN,
    wide_column("IP", "The address of the pod."),
    wide_column("Node", "The node the pod runs on."),
    wide_column("Nominated Node", "The node that the pod is nominated to."),
    wide_column("Readiness Gates", "Readiness gates that are met, of all."),
)

_COMPLETED_CONDITIONS = {
    "Succeeded": [RowCondition(type="Completed", status="True", reason="Succeeded",
                               message="The pod has completed successfully.")],
    "Failed": [RowCondition(type="Completed", status="True", reason="Failed", message="The pod failed.")],
}  # fmt: skip


@dataclass(slots=True)
class RestartCount:
    """Number of restarts, and when the last terminated run ended."""

    count: int = 0
    last: datetime | None = None

    def add(self, status: ReadOnlyObject) -> None:
        """Add the restarts of one container."""
        self.count += number(status, "restartCount")
        ended = parse_time(string(status, "lastState", "terminated", "finishedAt"))
        if ended is not None and (self.last is None or self.last < ended):
            self.last = ended

    def format_count(self, now: datetime) -> str:
        """Return the number, with the time since the last restart if known."""
        if self.count == 0 or self.last is None:
            return str(self.count)
        return f"{self.count} ({human_duration(now - self.last)} ago)"


@dataclass(slots=True)
class PodSummary:
    """Container counts, status and restarts of a pod."""

    reason: str
    ready: int = 0
    restarts: RestartCount = field(default_factory=RestartCount)


def summarize_pod(pod: ReadOnlyObject) -> PodSummary:
    """Summarize the container statuses of a pod."""
    # upstream 1.36: pkg/printers/internalversion/printers.go, printPod
    summary = PodSummary(_reported_reason(pod))
    of_sidecars = RestartCount()
    stuck = _summarize_init_containers(pod, summary, of_sidecars)
    if not stuck or has_condition(pod, "Initialized"):
        # Once the pod is initialized, restarts of finished init containers no longer count.
        summary.restarts = of_sidecars
        _summarize_containers(pod, summary)
    if is_deleting(pod):
        summary.reason = _deletion_reason(pod, summary.reason)
    return summary


def _reported_reason(pod: ReadOnlyObject) -> str:
    for condition in sections(pod, "status", "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return string(pod, "status", "reason") or string(pod, "status", "phase")


def _deletion_reason(pod: ReadOnlyObject, reason: str) -> str:
    if string(pod, "status", "reason") == "NodeLost":
        return "Unknown"
    # A finished pod has nothing left to terminate, so it keeps showing its result.
    return reason if string(pod, "status", "phase") in _COMPLETED_CONDITIONS else "Terminating"


def _summarize_init_containers(pod: ReadOnlyObject, summary: PodSummary, of_sidecars: RestartCount) -> bool:
    """Add init containers to the summary; return whether one is unfinished."""
    sidecars = {string(item, "name") for item in _sidecars(pod)}
    total = len(elements(pod, "spec", "initContainers"))
    for index, status in enumerate(sections(pod, "status", "initContainerStatuses")):
        summary.restarts.add(status)
        is_sidecar = string(status, "name") in sidecars
        if is_sidecar:
            of_sidecars.add(status)
        if _has_succeeded(status):
            continue
        # A started sidecar does not hold up the next init container, though it never terminates.
        if is_sidecar and truth(status, "started"):
            summary.ready += truth(status, "ready")
            continue
        summary.reason = f"Init:{_init_reason(status) or f'{index}/{total}'}"
        return True
    return False


def _sidecars(pod: ReadOnlyObject) -> list[ReadOnlyObject]:
    return [item for item in sections(pod, "spec", "initContainers") if item.get("restartPolicy") == "Always"]


def _has_succeeded(status: ReadOnlyObject) -> bool:
    terminated = value_at(status, "state", "terminated")
    return terminated is not None and number(status, "state", "terminated", "exitCode") == 0


def _init_reason(status: ReadOnlyObject) -> str:
    """Return why an init container is not finished; empty while it runs."""
    if value_at(status, "state", "terminated") is not None:
        return _exit_reason(section(status, "state", "terminated"))
    waiting = string(status, "state", "waiting", "reason")
    return "" if waiting == "PodInitializing" else waiting


def _exit_reason(terminated: ReadOnlyObject) -> str:
    if reason := string(terminated, "reason"):
        return reason
    if signal := number(terminated, "signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{number(terminated, 'exitCode')}"


def _summarize_containers(pod: ReadOnlyObject, summary: PodSummary) -> None:
    """Add the regular containers to the summary."""
    error, is_running = "", False
    # Upstream visits them from the last to the first and overwrites the reason: the first container in trouble wins.
    for status in reversed(sections(pod, "status", "containerStatuses")):
        summary.restarts.add(status)
        state = section(status, "state")
        if waiting := string(state, "waiting", "reason"):
            summary.reason = waiting
        elif state.get("terminated") is not None:
            summary.reason = _exit_reason(section(state, "terminated"))
            error = summary.reason if number(state, "terminated", "exitCode") else error
        elif truth(status, "ready") and state.get("running") is not None:
            is_running = True
            summary.ready += 1
    if summary.reason == "Completed":
        summary.reason = _reason_after_completion(pod, error, is_running=is_running)


def _reason_after_completion(pod: ReadOnlyObject, error: str, *, is_running: bool) -> str:
    """Return the status of a pod in which the last visited container completed."""
    if is_running and any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in sections(pod, "status", "conditions")
    ):
        return "Running"
    return error or ("NotReady" if is_running else "Completed")


def _format_readiness_gates(pod: ReadOnlyObject) -> str:
    gates = sections(pod, "spec", "readinessGates")
    met = sum(has_condition(pod, string(gate, "conditionType")) for gate in gates)
    return f"{met}/{len(gates)}" if gates else NONE


def _pod_ip(pod: ReadOnlyObject) -> str:
    addresses = sections(pod, "status", "podIPs")
    return string(pod, "status", "podIP") or (string(addresses[0], "ip") if addresses else "")


def pod_cells(pod: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a pod."""
    summary = summarize_pod(pod)
    total = len(elements(pod, "spec", "containers")) + len(_sidecars(pod))
    return [
        name_of(pod),
        f"{summary.ready}/{total}",
        summary.reason,
        summary.restarts.format_count(now),
        format_age(pod, now),
        _pod_ip(pod) or NONE,
        string(pod, "spec", "nodeName") or NONE,
        string(pod, "status", "nominatedNodeName") or NONE,
        _format_readiness_gates(pod),
    ]


def pod_conditions(pod: ReadOnlyObject) -> Sequence[RowCondition]:
    """Return the row condition of a pod that succeeded or failed."""
    return _COMPLETED_CONDITIONS.get(string(pod, "status", "phase"), ())


POD = Printer(COLUMNS, pod_cells, pod_conditions)
