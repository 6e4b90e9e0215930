"""Termination of pods: rejected, deadline exceeded, preempted, or deleted with their containers stopped in order.

upstream 1.36: pkg/kubelet/kubelet.go (rejectPod, SyncTerminatingPod), pkg/kubelet/kuberuntime/kuberuntime_container.go
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

from mockkube.api.times import add_seconds, parse_time, render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.kubelet import preemption
from mockkube.kubelet.container_behavior import Script
from mockkube.kubelet.containers import Note, ended, is_sidecar, lost
from mockkube.kubelet.pod_status import FAILED, OWN_CONDITIONS, TERMINAL, Facts, dated, is_initialized, phase_of
from mockkube.kubelet.restart_rules import LOST_EXIT_CODE
from mockkube.kubelet.status_report import LISTS, status_of, statuses_of
from mockkube.kubelet.sync_result import Host, Plan

_OVERDUE: Final = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
_GIVEN: Final = ("hostIP", "hostIPs", "podIP", "podIPs", "resources", "allocatedResources")


def rejected(pod: ReadOnlyObject, reason: str, message: str, now: datetime) -> Plan:
    """Return the failed status of a pod that admission rejects; the pod stays bound."""
    old = pod.get("status") or {}
    status: Object = {"phase": FAILED, "reason": reason, "message": f"Pod was rejected: {message}"}
    if not old.get("startTime"):
        status["startTime"] = render_time(now)
    # As upstream's rejectPod, the status is replaced: fields of an earlier life of the pod are cleared.
    status |= {name: None for name in (*_GIVEN, *(key for _, key in LISTS)) if name in old}
    owned = [one["type"] for one in old.get("conditions") or () if one["type"] in OWN_CONDITIONS]
    if owned:
        status["conditions"] = [{"$patch": "delete", "type": name} for name in owned]
    return Plan(status, notes=(Note("Warning", reason, message),))


def overdue(pod: ReadOnlyObject, host: Host, now: datetime) -> Plan:
    """Fail a pod that exceeded activeDeadlineSeconds."""
    reason, message = _OVERDUE
    statuses = _all_stopped(pod, statuses_of(pod), now, exit_code=LOST_EXIT_CODE)
    status = {**_final(pod, host, statuses, FAILED, now), "reason": reason, "message": message}
    return Plan(status, notes=(Note("Normal", reason, message), *_killing(pod)))


def preempted(pod: ReadOnlyObject, host: Host, now: datetime) -> Plan:
    """Fail a pod that is preempted for a critical pod."""
    statuses = _all_stopped(pod, statuses_of(pod), now)
    status = _final(pod, host, statuses, FAILED, now)
    target: Object = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "TerminationByKubelet",
        "message": preemption.CONDITION_MESSAGE,
    }
    if generation := status.get("observedGeneration"):
        target["observedGeneration"] = generation
    status["conditions"] += dated([target], pod.get("status") or {}, render_time(now))
    status |= {"reason": preemption.REASON, "message": preemption.MESSAGE}
    return Plan(status, notes=(Note("Warning", preemption.REASON, preemption.MESSAGE), *_killing(pod)))


def stop(pod: ReadOnlyObject, host: Host, script: Script, now: datetime) -> Plan:
    """Stop the containers of a deleted pod, sidecars last, then write its final status, then delete the object."""
    status = pod.get("status") or {}
    statuses = statuses_of(pod)
    alive = any("terminated" not in one["state"] for one in statuses.values())
    if status.get("phase") in TERMINAL and not (alive and status.get("containerStatuses")):
        return Plan(delete=True)
    metadata = pod["metadata"]
    grace_seconds = metadata.get("deletionGracePeriodSeconds") or 0
    # deletionTimestamp is the end of the grace period; the delay counts from its begin.
    begun = add_seconds(parse_time(metadata["deletionTimestamp"]), -grace_seconds)
    due = add_seconds(begun, min(script.stop_seconds, grace_seconds))
    if due > now:
        return Plan(notes=_killing(pod), again_at=due, stopping=True)
    code = LOST_EXIT_CODE if script.stop_seconds > grace_seconds else 0
    # With a delay, the Killing events were recorded when the stop began.
    events = () if script.stop_seconds else _killing(pod)
    sidecars = {one["name"] for one in pod["spec"].get("initContainers") or () if is_sidecar(one)}
    if any("running" in one["state"] for name, one in statuses.items() if name not in sidecars) and any(
        "running" in statuses[name]["state"] for name in sorted(sidecars)
    ):
        statuses = stopped(statuses, now, exit_code=code, beside=sidecars | unreached(pod, statuses))
        facts = Facts(status.get("phase", ""), sandbox=True)
        # Upstream stops sidecars after the main containers, so that their status is written in between.
        return Plan(status_of(pod, host, statuses, facts, now), notes=events, again_at=now, stopping=True)
    statuses = _all_stopped(pod, statuses, now, exit_code=code)
    phase = status["phase"] if status.get("phase") in TERMINAL else _last_phase(pod, statuses, host)
    return Plan(_final(pod, host, statuses, phase, now), notes=events, again_at=now, stopping=True)


def stopped(
    statuses: Mapping[str, ReadOnlyObject], now: datetime, *, exit_code: int = 0, beside: Collection[str] = ()
) -> dict[str, Object]:
    """Return container statuses after all but `keep` have stopped."""
    result: dict[str, Object] = {}
    for name, status in statuses.items():
        if name in beside or "terminated" in status["state"]:
            result[name] = dict(status)
        elif "running" in status["state"]:
            result[name] = ended(status, exit_code, now)
        # A container in backoff has no process to stop: its last termination is final.
        elif last := (status.get("lastState") or {}).get("terminated"):
            result[name] = {**status, "state": {"terminated": last}, "lastState": {}}
        else:
            result[name] = lost(status)
    return result


def unreached(pod: ReadOnlyObject, statuses: Mapping[str, ReadOnlyObject]) -> set[str]:
    """Return containers that never got to start: they keep waiting when the pod ends."""
    # upstream 1.36: pkg/kubelet/status/status_manager.go, TerminatePod
    initial = [one["name"] for one in pod["spec"].get("initContainers") or ()]
    main = [one["name"] for one in pod["spec"]["containers"]]
    if not initial or any(_has_begun(statuses[name]) for name in main):
        return set()
    begun = [index for index, name in enumerate(initial) if _has_begun(statuses[name])]
    waiting = set(initial[max((0, *begun)) + 1 :])
    return waiting if is_initialized(pod, statuses) else waiting | set(main)


def _has_begun(status: ReadOnlyObject) -> bool:
    """Return whether a container has started at least once."""
    return "waiting" not in status["state"] or "terminated" in (status.get("lastState") or {})


def _all_stopped(
    pod: ReadOnlyObject, statuses: Mapping[str, ReadOnlyObject], now: datetime, *, exit_code: int = 0
) -> dict[str, Object]:
    return stopped(statuses, now, exit_code=exit_code, beside=unreached(pod, statuses))


def _last_phase(pod: ReadOnlyObject, statuses: Mapping[str, ReadOnlyObject], host: Host) -> str:
    return phase_of(pod, statuses, host.rules.restarts, terminal=True)


def _final(
    pod: ReadOnlyObject, host: Host, statuses: Mapping[str, ReadOnlyObject], phase: str, now: datetime
) -> Object:
    return status_of(pod, host, statuses, Facts(phase, sandbox=False), now)


def _killing(pod: ReadOnlyObject) -> tuple[Note, ...]:
    running = [name for name, one in statuses_of(pod).items() if "running" in one["state"]]
    return tuple(Note("Normal", "Killing", f"Stopping container {name}", name) for name in running)
