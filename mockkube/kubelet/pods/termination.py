"""Termination of pods: rejected, deadline exceeded, preempted, or deleted with their containers stopped in order.

upstream 1.36: pkg/kubelet/kubelet.go (rejectPod, SyncTerminatingPod), pkg/kubelet/kuberuntime/kuberuntime_container.go
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import add_seconds, parse_time, render_time
from mockkube.kubelet.admission import preemption
from mockkube.kubelet.containers.container_behavior import ContainerBehavior
from mockkube.kubelet.containers.container_lifecycle import is_sidecar, terminated_status, unknown_status
from mockkube.kubelet.containers.hook_runner import PRE_STOP, HookRun, find_longest, has_hook
from mockkube.kubelet.containers.kubelet_event import KubeletEvent
from mockkube.kubelet.containers.restart_rules import LOST_EXIT_CODE
from mockkube.kubelet.pods.api_pod_status import CONTAINER_LISTS, build_status, get_container_statuses
from mockkube.kubelet.pods.pod_status import (
    FAILED,
    OWN_CONDITIONS,
    TERMINAL_PHASES,
    PodStatusFacts,
    build_conditions_patch,
    compute_phase,
    is_initialized,
)
from mockkube.kubelet.pods.sync_result import PodSyncInput, SyncResult

_DEADLINE_EXCEEDED: Final = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
_CLOCK_SKEW_MAX: Final = timedelta(minutes=1)
# upstream 1.36: pkg/kubelet/kuberuntime/kuberuntime_container.go, minimumGracePeriodInSeconds
_STOP_SECONDS_MIN: Final = 2
_CLEARED_FIELDS: Final = ("hostIP", "hostIPs", "podIP", "podIPs", "resources", "allocatedResources")


def reject_pod(pod: ReadOnlyObject, reason: str, message: str, now: datetime) -> SyncResult:
    """Return the failed status of a pod that admission rejects; the pod stays bound."""
    old = pod.get("status") or {}
    status: Object = {"phase": FAILED, "reason": reason, "message": f"Pod was rejected: {message}"}
    if not old.get("startTime"):
        status["startTime"] = render_time(now)
    # As upstream's rejectPod, the status is replaced: fields of an earlier life of the pod are cleared.
    status |= {name: None for name in (*_CLEARED_FIELDS, *(key for _, key in CONTAINER_LISTS)) if name in old}
    owned = [one["type"] for one in old.get("conditions") or () if one["type"] in OWN_CONDITIONS]
    if owned:
        status["conditions"] = [{"$patch": "delete", "type": name} for name in owned]
    return SyncResult(status, events=(KubeletEvent("Warning", reason, message),))


def fail_for_deadline(pod: ReadOnlyObject, sync_input: PodSyncInput, now: datetime) -> SyncResult:
    """Fail a pod that exceeded activeDeadlineSeconds."""
    reason, message = _DEADLINE_EXCEEDED
    statuses = _stop_all_containers(pod, get_container_statuses(pod), now, exit_code=LOST_EXIT_CODE)
    status = {**_build_final_status(pod, sync_input, statuses, FAILED, now), "reason": reason, "message": message}
    return SyncResult(status, events=(KubeletEvent("Normal", reason, message), *_killing_events(pod)))


def preempt_pod(pod: ReadOnlyObject, sync_input: PodSyncInput, now: datetime) -> SyncResult:
    """Fail a pod that is preempted for a critical pod."""
    statuses = _stop_all_containers(pod, get_container_statuses(pod), now)
    status = _build_final_status(pod, sync_input, statuses, FAILED, now)
    target: Object = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "TerminationByKubelet",
        "message": preemption.CONDITION_MESSAGE,
    }
    if generation := status.get("observedGeneration"):
        target["observedGeneration"] = generation
    status["conditions"] += build_conditions_patch([target], pod.get("status") or {}, render_time(now))
    status |= {"reason": preemption.REASON, "message": preemption.MESSAGE}
    return SyncResult(
        status, events=(KubeletEvent("Warning", preemption.REASON, preemption.MESSAGE), *_killing_events(pod))
    )


def terminate_pod(
    pod: ReadOnlyObject, sync_input: PodSyncInput, behavior: ContainerBehavior, now: datetime
) -> SyncResult:
    """Stop the containers of a deleted pod, sidecars last, then write its final status, then delete the object."""
    status = pod.get("status") or {}
    statuses = get_container_statuses(pod)
    unreached = find_unreached(pod, statuses)
    alive = any("terminated" not in one["state"] for name, one in statuses.items() if name not in unreached)
    if status.get("phase") in TERMINAL_PHASES and not (alive and status.get("containerStatuses")):
        return SyncResult(delete=True)
    metadata = pod["metadata"]
    grace_seconds = metadata.get("deletionGracePeriodSeconds") or 0
    # deletionTimestamp is the end of the grace period; the delay counts from its begin.
    begun = add_seconds(parse_time(metadata["deletionTimestamp"]), -grace_seconds)
    if begun > now + _CLOCK_SKEW_MAX:
        # The clock was ahead when the pod was deleted: the delay is over, as no kubelet waits for days.
        begun = now - timedelta(seconds=grace_seconds)
    hooks = _run_pre_stop_hooks(pod, statuses, sync_input, begun) if grace_seconds else {}
    hook_seconds = min(find_longest(hooks.values()), grace_seconds)
    # A container has a little time to stop after a hook that took it all.
    stop_seconds_max = max(grace_seconds - hook_seconds, _STOP_SECONDS_MIN if hooks else 0)
    due = begun + timedelta(seconds=hook_seconds + min(behavior.stop_seconds, stop_seconds_max))
    if due > now:
        return SyncResult(events=_stop_events(pod, hooks), next_sync_at=due, stopping=True)
    code = LOST_EXIT_CODE if behavior.stop_seconds > stop_seconds_max else 0
    # With a delay, the Killing events were recorded when the stop began.
    events = () if behavior.stop_seconds or hook_seconds else _stop_events(pod, hooks)
    sidecars = {one["name"] for one in pod["spec"].get("initContainers") or () if is_sidecar(one)}
    if any("running" in one["state"] for name, one in statuses.items() if name not in sidecars) and any(
        "running" in statuses[name]["state"] for name in sorted(sidecars)
    ):
        statuses = stop_containers(statuses, now, exit_code=code, keep=sidecars | find_unreached(pod, statuses))
        facts = PodStatusFacts(status.get("phase", ""), has_sandbox=True)
        # Upstream stops sidecars after the main containers, so that their status is written in between.
        return SyncResult(
            build_status(pod, sync_input, statuses, facts, now), events=events, next_sync_at=now, stopping=True
        )
    statuses = _stop_all_containers(pod, statuses, now, exit_code=code)
    phase = status.get("phase", "")
    if phase not in TERMINAL_PHASES:
        phase = compute_phase(pod, statuses, sync_input.rules.restart_rules, stopped=True)
    # Containers that never started would leave the pod Pending; upstream deletes no pod before a terminal phase.
    if phase not in TERMINAL_PHASES:
        phase = FAILED
    return SyncResult(
        _build_final_status(pod, sync_input, statuses, phase, now), events=events, next_sync_at=now, stopping=True
    )


def _run_pre_stop_hooks(
    pod: ReadOnlyObject, statuses: Mapping[str, ReadOnlyObject], sync_input: PodSyncInput, began: datetime
) -> dict[str, HookRun]:
    """Run the preStop hooks of the running containers, each once; return them by container."""
    runs = {}
    for listed in ("initContainers", "containers"):
        for container in pod["spec"].get(listed) or ():
            status = statuses[container["name"]]
            if (running := status["state"].get("running")) and has_hook(container, PRE_STOP):
                started = parse_time(running["startedAt"])
                start = replace(sync_input.start, run=status["restartCount"], began=started)
                runs[container["name"]] = sync_input.hooks.run_pre_stop(pod, container, start, began)
    return runs


def _stop_events(pod: ReadOnlyObject, hooks: Mapping[str, HookRun]) -> tuple[KubeletEvent, ...]:
    """Return the events of containers that are stopped, and of preStop hooks that fail."""
    failed = (name for name, one in hooks.items() if one.error)
    errors = (KubeletEvent("Warning", "FailedPreStopHook", "PreStopHook failed", name) for name in failed)
    return (*_killing_events(pod), *errors)


def stop_containers(
    statuses: Mapping[str, ReadOnlyObject], now: datetime, *, exit_code: int = 0, keep: Collection[str] = ()
) -> dict[str, Object]:
    """Return container statuses after all but `keep` have stopped."""
    result: dict[str, Object] = {}
    for name, status in statuses.items():
        if name in keep or "terminated" in status["state"]:
            result[name] = dict(status)
        elif "running" in status["state"]:
            result[name] = terminated_status(status, exit_code, now)
        # A container in backoff has no process to stop: its last termination is final.
        elif last := (status.get("lastState") or {}).get("terminated"):
            result[name] = {**status, "state": {"terminated": last}, "lastState": {}}
        else:
            result[name] = unknown_status(status)
    return result


def find_unreached(pod: ReadOnlyObject, statuses: Mapping[str, ReadOnlyObject]) -> set[str]:
    """Return containers that never got to start: they keep waiting when the pod ends."""
    # upstream 1.36: pkg/kubelet/status/status_manager.go, TerminatePod
    initial = [one["name"] for one in pod["spec"].get("initContainers") or ()]
    main = [one["name"] for one in pod["spec"]["containers"]]
    if not initial or any(_has_started(statuses[name]) for name in main):
        return set()
    begun = [index for index, name in enumerate(initial) if _has_started(statuses[name])]
    waiting = set(initial[max((0, *begun)) + 1 :])
    return waiting if is_initialized(pod, statuses) else waiting | set(main)


def _has_started(status: ReadOnlyObject) -> bool:
    """Return whether a container has started at least once."""
    return "waiting" not in status["state"] or "terminated" in (status.get("lastState") or {})


def _stop_all_containers(
    pod: ReadOnlyObject, statuses: Mapping[str, ReadOnlyObject], now: datetime, *, exit_code: int = 0
) -> dict[str, Object]:
    return stop_containers(statuses, now, exit_code=exit_code, keep=find_unreached(pod, statuses))


def _build_final_status(
    pod: ReadOnlyObject, sync_input: PodSyncInput, statuses: Mapping[str, ReadOnlyObject], phase: str, now: datetime
) -> Object:
    return build_status(pod, sync_input, statuses, PodStatusFacts(phase, has_sandbox=False), now)


def _killing_events(pod: ReadOnlyObject) -> tuple[KubeletEvent, ...]:
    running = [name for name, one in get_container_statuses(pod).items() if "running" in one["state"]]
    return tuple(KubeletEvent("Normal", "Killing", f"Stopping container {name}", name) for name in running)
