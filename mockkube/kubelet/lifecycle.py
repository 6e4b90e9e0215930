"""Sync of an admitted pod: a pure decision from the stored pod, the time and the behavior of its containers.

upstream 1.36: pkg/kubelet/kubelet.go (SyncPod)
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.times import add_seconds, parse_time, render_time
from mockkube.api.types import ReadOnlyObject
from mockkube.kubelet.commands import Ends, ends_of
from mockkube.kubelet.container_behavior import Exit, Script, read_script
from mockkube.kubelet.containers import Note, Progress, Stage, advance, is_sidecar, removed
from mockkube.kubelet.pod_status import PENDING, TERMINAL, Facts, is_initialized, phase_of
from mockkube.kubelet.status_report import changed, status_of, statuses_of
from mockkube.kubelet.sync_result import NOTHING, Host, Plan
from mockkube.kubelet.termination import overdue, stop, stopped, unreached

_COMPLETES: Final = Exit()


def plan(pod: ReadOnlyObject, host: Host, now: datetime) -> Plan:
    """Return the next action for a pod that the kubelet admitted."""
    script = read_script(pod)
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp"):
        return stop(pod, host, script, now)
    if status.get("phase") in TERMINAL:
        return NOTHING
    # The first status write sets startTime; deadline and start delay count from it.
    if not status.get("startTime"):
        return _accept(pod, host, script, now)
    if (deadline := _deadline(pod)) is not None and deadline <= now:
        return overdue(pod, host, now)
    begins = parse_time(status["startTime"]) + timedelta(seconds=script.start_seconds)
    if begins > now:
        return Plan(again_at=_earliest(begins, deadline))
    return _live(pod, host, Stage(
        pod, script, now, bool(pod["spec"].get("initContainers")), host.long_texts, host.rules.restarts, host.resizes
    ), deadline)  # fmt: skip


def _accept(pod: ReadOnlyObject, host: Host, script: Script, now: datetime) -> Plan:
    """Write the first status: phase Pending, containers waiting."""
    notes = tuple(Note("Warning", "InvalidAnnotation", text) for text in script.complaints)
    status = status_of(pod, host, statuses_of(pod), Facts(PENDING, sandbox=False), now)
    return Plan({**status, "startTime": render_time(now)}, notes=notes, again_at=now)


def _deadline(pod: ReadOnlyObject) -> datetime | None:
    """Return when activeDeadlineSeconds ends; None without it."""
    seconds, start = pod["spec"].get("activeDeadlineSeconds"), (pod.get("status") or {}).get("startTime")
    return add_seconds(parse_time(start), seconds) if seconds is not None and start else None


def _live(pod: ReadOnlyObject, host: Host, stage: Stage, deadline: datetime | None) -> Plan:
    """Advance the containers of a pod and return the status that results."""
    run = _Run(pod, stage)
    restarting = run.restarts_all()
    # Checked before and after: an exit may be in the stored status, or happen in this sync. Containers do not advance
    # in the sync that marks them as restarting, so that watchers observe the state.
    if not restarting:
        run.advance()
        restarting = run.restarts_all()
    phase = phase_of(pod, run.statuses, stage.restarts, terminal=False)
    statuses, next_at = run.statuses, _earliest(*run.moments)
    if restarting:
        next_at = stage.now
    if phase in TERMINAL:
        # A pod that fails or succeeds stops its sidecars, and a pod has no deadline after its end.
        statuses = stopped(statuses, stage.now, beside=unreached(pod, statuses))
        next_at = deadline = None
    facts = Facts(phase, sandbox=phase not in TERMINAL, pending=host.pending, restarting=restarting)
    status = changed(pod, status_of(pod, host, statuses, facts, stage.now))
    return Plan(status, notes=tuple(run.notes), again_at=_earliest(next_at, deadline))


class _Run:
    """One sync of all containers of a pod."""

    def __init__(self, pod: ReadOnlyObject, stage: Stage) -> None:
        self._pod, self._stage = pod, stage
        self.statuses = statuses_of(pod)
        self.moments: list[datetime | None] = []
        self.notes: list[Note] = []

    def restarts_all(self) -> bool:
        """Mark all containers as restarting if the exit of one demands it; return whether it does."""
        spec = self._pod["spec"]
        ends = (
            (one, self.statuses[one["name"]]["state"].get("terminated"))
            for listed in ("initContainers", "containers")
            for one in spec.get(listed) or ()
        )
        if not any(end and self._stage.restarts.restarts_all(one, end["exitCode"]) for one, end in ends):
            return False
        names = [one["name"] for listed in ("initContainers", "containers") for one in spec.get(listed) or ()]
        self.statuses |= {name: removed(self.statuses[name]) for name in names}
        return True

    def advance(self) -> None:
        """Advance ephemeral containers, then init containers in order, then main containers."""
        script = self._stage.script
        for container in self._pod["spec"].get("ephemeralContainers") or ():
            name = container["name"]
            once = _with_policy(self._stage, "Never")
            self._take(name, advance(container, self.statuses[name], once, self._ends(container)))
        for container in self._pod["spec"].get("initContainers") or ():
            name, status = container["name"], self.statuses[container["name"]]
            if is_sidecar(container):
                self._take(name, advance(container, status, self._stage, self._ends(container)))
            elif not status.get("ready"):
                self._take(name, _initialize(container, status, self._stage))
            alone = {**self._pod, "spec": {**self._pod["spec"], "initContainers": [container]}}
            # Sidecars count as soon as they have started; other init containers when they have completed.
            if not is_initialized(alone, self.statuses):
                return
        for container in self._pod["spec"]["containers"]:
            name = container["name"]
            ends = ends_of(self._pod, container, script.exit_of(name), script.unsaid)
            self._take(name, advance(container, self.statuses[name], self._stage, ends))

    def _ends(self, container: ReadOnlyObject) -> Ends:
        """Return how an init or ephemeral container exits: by its own annotation or command only."""
        return ends_of(self._pod, container, self._stage.script.exits.get(container["name"]), None)

    def _take(self, name: str, progress: Progress) -> None:
        self.statuses[name] = progress.status
        self.moments.append(progress.next_at)
        self.notes.extend(progress.notes)


def _initialize(container: ReadOnlyObject, status: ReadOnlyObject, stage: Stage) -> Progress:
    """Advance an init container: it succeeds immediately by default, and is ready once it has completed."""
    # Upstream treats restartPolicy Always as OnFailure for init containers.
    once = stage if stage.pod["spec"].get("restartPolicy") == "Never" else _with_policy(stage, "OnFailure")
    ends = ends_of(stage.pod, container, stage.script.exits.get(container["name"]), _COMPLETES)
    progress = advance(container, status, once, ends)
    terminated = progress.status["state"].get("terminated")
    done = terminated is not None and terminated["exitCode"] == 0
    # Readiness of an init container means completion, so a running one is not ready.
    if "running" in progress.status["state"]:
        return replace(progress, status={**progress.status, "ready": False})
    return replace(progress, status={**progress.status, "ready": True}) if done else progress


def _with_policy(stage: Stage, policy: str) -> Stage:
    return replace(stage, pod={**stage.pod, "spec": {**stage.pod["spec"], "restartPolicy": policy}})


def _earliest(*moments: datetime | None) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)
