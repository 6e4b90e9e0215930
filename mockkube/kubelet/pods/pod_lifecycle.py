"""Sync of an admitted pod: a pure decision from the stored pod, the time and the behavior of its containers.

upstream 1.36: pkg/kubelet/kubelet.go (SyncPod)
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import add_seconds, parse_time, render_time
from mockkube.kubelet.containers.container_behavior import ContainerBehavior, ContainerExit, parse_behavior
from mockkube.kubelet.containers.container_exits import FindExit, make_exit_finder
from mockkube.kubelet.containers.container_lifecycle import (
    ContainerSyncInput,
    advance_container,
    is_sidecar,
    restarting_status,
)
from mockkube.kubelet.containers.container_progress import ContainerProgress
from mockkube.kubelet.containers.kubelet_event import KubeletEvent
from mockkube.kubelet.pods.api_pod_status import build_status, get_container_statuses, keep_if_changed
from mockkube.kubelet.pods.mount_errors import find_mount_error
from mockkube.kubelet.pods.pod_status import PENDING, TERMINAL_PHASES, PodStatusFacts, compute_phase, is_initialized
from mockkube.kubelet.pods.sync_result import NOTHING, PodSyncInput, SyncResult
from mockkube.kubelet.pods.termination import fail_for_deadline, find_unreached, stop_containers, terminate_pod

_IMMEDIATE_SUCCESS: Final = ContainerExit()
# Backoff between attempts to mount volumes (upstream: pkg/util/goroutinemap/exponentialbackoff).
_MOUNT_RETRY_SECONDS: Final = 0.5
_MOUNT_RETRY_SECONDS_MAX: Final = 122.0


def sync_pod(pod: ReadOnlyObject, sync_input: PodSyncInput, now: datetime) -> SyncResult:
    """Return the next action for a pod that the kubelet admitted."""
    behavior = parse_behavior(pod)
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp"):
        return terminate_pod(pod, sync_input, behavior, now)
    if status.get("phase") in TERMINAL_PHASES:
        return NOTHING
    # The first status write sets startTime; deadline and start delay count from it.
    if not status.get("startTime"):
        return _start_pod(pod, sync_input, behavior, now)
    if (deadline := _find_deadline(pod)) is not None and deadline <= now:
        return fail_for_deadline(pod, sync_input, now)
    begins = parse_time(status["startTime"]) + timedelta(seconds=behavior.start_seconds)
    if begins > now:
        return SyncResult(next_sync_at=_earliest(begins, deadline))
    if (mount_error := find_mount_error(pod, sync_input.start)) is not None:
        return _wait_for_volumes(pod, mount_error, now, deadline)
    containers = ContainerSyncInput(
        pod,
        behavior,
        now,
        bool(pod["spec"].get("initContainers")),
        sync_input.names_container_in_events,
        sync_input.rules.restart_rules,
        sync_input.applies_resources,
        sync_input.unpullable_images,
        sync_input.start,
        sync_input.prober,
        sync_input.images,
        sync_input.hooks,
        reports_resources=sync_input.rules.container_resources_status,
    )
    return _sync_containers(pod, sync_input, containers, deadline)


def _start_pod(pod: ReadOnlyObject, sync_input: PodSyncInput, script: ContainerBehavior, now: datetime) -> SyncResult:
    """Write the first status: phase Pending, containers waiting."""
    events = tuple(KubeletEvent("Warning", "InvalidAnnotation", text) for text in script.errors)
    status = build_status(pod, sync_input, get_container_statuses(pod), PodStatusFacts(PENDING, has_sandbox=False), now)
    return SyncResult({**status, "startTime": render_time(now)}, events=events, next_sync_at=now)


def _wait_for_volumes(pod: ReadOnlyObject, error: str, now: datetime, deadline: datetime | None) -> SyncResult:
    """Try to mount the volumes again, after twice the time that has passed since the start."""
    waited = (now - parse_time(pod["status"]["startTime"])).total_seconds()
    again = now + timedelta(seconds=min(max(waited, _MOUNT_RETRY_SECONDS), _MOUNT_RETRY_SECONDS_MAX))
    return SyncResult(events=(KubeletEvent("Warning", "FailedMount", error),), next_sync_at=_earliest(again, deadline))


def _find_deadline(pod: ReadOnlyObject) -> datetime | None:
    """Return when activeDeadlineSeconds ends; None without it."""
    seconds, start = pod["spec"].get("activeDeadlineSeconds"), (pod.get("status") or {}).get("startTime")
    return add_seconds(parse_time(start), seconds) if seconds is not None and start else None


def _sync_containers(
    pod: ReadOnlyObject, sync_input: PodSyncInput, container_input: ContainerSyncInput, deadline: datetime | None
) -> SyncResult:
    """Advance the containers of a pod and return the status that results."""
    run = _ContainersSync(pod, container_input)
    restarting = run.mark_restarting_all()
    # Checked before and after: an exit may be in the stored status, or happen in this sync. Containers do not advance
    # in the sync that marks them as restarting, so that watchers observe the state.
    if not restarting:
        run.advance()
        restarting = run.mark_restarting_all()
    phase = compute_phase(pod, run.statuses, container_input.restart_rules, stopped=False)
    statuses, next_at = run.statuses, _earliest(*run.next_times)
    if restarting:
        next_at = container_input.now
    if phase in TERMINAL_PHASES:
        # A pod that fails or succeeds stops its sidecars, and a pod has no deadline after its end.
        statuses = stop_containers(statuses, container_input.now, keep=find_unreached(pod, statuses))
        next_at = deadline = None
    facts = PodStatusFacts(
        phase,
        has_sandbox=phase not in TERMINAL_PHASES,
        pending_resize=sync_input.pending_resize,
        restarts_all=restarting,
    )
    status = keep_if_changed(pod, build_status(pod, sync_input, statuses, facts, container_input.now))
    return SyncResult(status, events=tuple(run.events), next_sync_at=_earliest(next_at, deadline))


class _ContainersSync:
    """One sync of all containers of a pod."""

    def __init__(self, pod: ReadOnlyObject, stage: ContainerSyncInput) -> None:
        self._pod, self._sync_input = pod, stage
        self.statuses = get_container_statuses(pod)
        self.next_times: list[datetime | None] = []
        self.events: list[KubeletEvent] = []

    def mark_restarting_all(self) -> bool:
        """Mark all containers as restarting if the exit of one demands it; return whether it does."""
        spec = self._pod["spec"]
        ends = (
            (one, self.statuses[one["name"]]["state"].get("terminated"))
            for listed in ("initContainers", "containers")
            for one in spec.get(listed) or ()
        )
        if not any(end and self._sync_input.restart_rules.restarts_all(one, end["exitCode"]) for one, end in ends):
            return False
        names = [one["name"] for listed in ("initContainers", "containers") for one in spec.get(listed) or ()]
        self.statuses |= {name: restarting_status(self.statuses[name]) for name in names}
        return True

    def advance(self) -> None:
        """Advance ephemeral containers, then init containers in order, then main containers."""
        behavior = self._sync_input.behavior
        for container in self._pod["spec"].get("ephemeralContainers") or ():
            name = container["name"]
            once = _with_restart_policy(self._sync_input, "Never")
            self._record_progress(
                name, advance_container(container, self.statuses[name], once, self._make_exit_finder(container))
            )
        for container in self._pod["spec"].get("initContainers") or ():
            name, status = container["name"], self.statuses[container["name"]]
            if is_sidecar(container):
                self._record_progress(
                    name, advance_container(container, status, self._sync_input, self._make_exit_finder(container))
                )
            elif not status.get("ready"):
                self._record_progress(name, _advance_init_container(container, status, self._sync_input))
            alone = {**self._pod, "spec": {**self._pod["spec"], "initContainers": [container]}}
            # Sidecars count as soon as they have started; other init containers when they have completed.
            if not is_initialized(alone, self.statuses):
                return
        for container in self._pod["spec"]["containers"]:
            name = container["name"]
            ends = make_exit_finder(
                self._pod, container, behavior.find_exit(name), behavior.default_exit, self._sync_input.start
            )
            self._record_progress(name, advance_container(container, self.statuses[name], self._sync_input, ends))

    def _make_exit_finder(self, container: ReadOnlyObject) -> FindExit:
        """Return how an init or ephemeral container exits: by its own annotation or command only."""
        annotated = self._sync_input.behavior.exits.get(container["name"])
        return make_exit_finder(self._pod, container, annotated, None, self._sync_input.start)

    def _record_progress(self, name: str, progress: ContainerProgress) -> None:
        self.statuses[name] = progress.status
        self.next_times.append(progress.next_at)
        self.events.extend(progress.notes)


def _advance_init_container(
    container: ReadOnlyObject, status: ReadOnlyObject, sync_input: ContainerSyncInput
) -> ContainerProgress:
    """Advance an init container: it succeeds immediately by default, and is ready once it has completed."""
    # Upstream treats restartPolicy Always as OnFailure for init containers.
    once = (
        sync_input
        if sync_input.pod["spec"].get("restartPolicy") == "Never"
        else _with_restart_policy(sync_input, "OnFailure")
    )
    ends = make_exit_finder(
        sync_input.pod,
        container,
        sync_input.behavior.exits.get(container["name"]),
        _IMMEDIATE_SUCCESS,
        sync_input.start,
    )
    progress = advance_container(container, status, once, ends)
    terminated = progress.status["state"].get("terminated")
    done = terminated is not None and terminated["exitCode"] == 0
    # Readiness of an init container means completion, so a running one is not ready.
    if "running" in progress.status["state"]:
        return replace(progress, status={**progress.status, "ready": False})
    return replace(progress, status={**progress.status, "ready": True}) if done else progress


def _with_restart_policy(sync_input: ContainerSyncInput, policy: str) -> ContainerSyncInput:
    return replace(sync_input, pod={**sync_input.pod, "spec": {**sync_input.pod["spec"], "restartPolicy": policy}})


def _earliest(*moments: datetime | None) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)
