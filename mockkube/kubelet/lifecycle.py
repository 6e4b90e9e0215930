"""What a kubelet does with one of its pods next: a pure decision from the pod as stored, the time, and its script."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.times import parse_time, render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.kubelet import containers
from mockkube.kubelet.containers import Note, Progress, Stage, advance, ended, first_status, is_sidecar, lost
from mockkube.kubelet.pod_status import (
    FAILED,
    PENDING,
    TERMINAL,
    StatusRules,
    conditions_of,
    dated,
    is_initialized,
    phase_of,
)
from mockkube.kubelet.script import Exit, Script, read_script

_LISTS: Final = (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses"))
_COMPLETES: Final = Exit()


@dataclass(frozen=True, slots=True)
class Host:
    """What a pod gets from where it runs."""

    node_ip: str
    pod_ip: str
    rules: StatusRules
    long_texts: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do: patch the status (None: it stands), delete the object, tell of events, come back at a moment."""

    status: Object | None = None
    delete: bool = False
    notes: tuple[Note, ...] = ()
    again_at: datetime | None = None
    staged: bool = False
    """It is not for us to say: stages do."""


NOTHING: Final = Plan()
STAGED: Final = Plan(staged=True)


def plan(pod: ReadOnlyObject, host: Host, now: datetime) -> Plan:
    """Decide about a pod that this kubelet has admitted."""
    script = read_script(pod)
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp"):
        return _stop(pod, host, script, now)
    if status.get("phase") in TERMINAL:
        return NOTHING
    if not status.get("startTime"):
        return _accept(pod, host, script, now)
    if (deadline := _deadline(pod)) is not None and deadline <= now:
        return _overdue(pod, host, now)
    begins = parse_time(status["startTime"]) + timedelta(seconds=script.start_seconds)
    if begins > now:
        return Plan(again_at=_earliest(begins, deadline))
    statuses, next_at, notes = _run(pod, Stage(pod, script, now, _initializing(pod), host.long_texts))
    phase = phase_of(pod, statuses, terminal=False)
    if phase in TERMINAL:
        statuses, next_at = _stopped(pod, statuses, script, now), None
    changed = _changed(pod, _status(pod, host, statuses, phase, now, sandbox=phase not in TERMINAL))
    return Plan(changed, notes=notes, again_at=_earliest(next_at, None if phase in TERMINAL else deadline))


def rejected(pod: ReadOnlyObject, reason: str, message: str, now: datetime) -> Plan:
    """Refuse a pod that admission does not let in; it stays bound, failed."""
    status = {"phase": FAILED, "reason": reason, "message": f"Pod was rejected: {message}"}
    if not (pod.get("status") or {}).get("startTime"):
        status["startTime"] = render_time(now)
    return Plan(status, notes=(Note("Warning", reason, message),))


def _accept(pod: ReadOnlyObject, host: Host, script: Script, now: datetime) -> Plan:
    """Show the pod as being created."""
    statuses = _statuses(pod)
    notes = tuple(Note("Warning", "InvalidAnnotation", text) for text in script.complaints)
    status = _status(pod, host, statuses, PENDING, now, sandbox=False)
    return Plan({**status, "startTime": render_time(now)}, notes=notes, again_at=now)


def _deadline(pod: ReadOnlyObject) -> datetime | None:
    seconds, start = pod["spec"].get("activeDeadlineSeconds"), (pod.get("status") or {}).get("startTime")
    return parse_time(start) + timedelta(seconds=seconds) if seconds is not None and start else None


def _overdue(pod: ReadOnlyObject, host: Host, now: datetime) -> Plan:
    reason, message = "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
    statuses = _stopped(pod, _statuses(pod), Script(), now, exit_code=containers.LOST_EXIT_CODE)
    status = {**_status(pod, host, statuses, FAILED, now, sandbox=False), "reason": reason, "message": message}
    return Plan(status, notes=(Note("Normal", reason, message), *_killing(pod)))


def _stop(pod: ReadOnlyObject, host: Host, script: Script, now: datetime) -> Plan:
    """Stop the containers of a pod that is to go, tell how they ended, then let go of the object."""
    status = pod.get("status") or {}
    statuses = _statuses(pod)
    alive = any("terminated" not in one["state"] for one in statuses.values())
    if status.get("phase") in TERMINAL and not (alive and status.get("containerStatuses")):
        return Plan(delete=True)
    metadata = pod["metadata"]
    grace_seconds = metadata.get("deletionGracePeriodSeconds") or 0
    begun = parse_time(metadata["deletionTimestamp"]) - timedelta(seconds=grace_seconds)
    due = begun + timedelta(seconds=min(script.stop_seconds, grace_seconds))
    if due > now:
        return Plan(notes=_killing(pod), again_at=due)
    killed = script.stop_seconds > grace_seconds
    code = containers.LOST_EXIT_CODE if killed else 0
    statuses = _stopped(pod, statuses, script, now, exit_code=code)
    phase = status["phase"] if status.get("phase") in TERMINAL else phase_of(pod, statuses, terminal=True)
    told = () if script.stop_seconds else _killing(pod)
    return Plan(_status(pod, host, statuses, phase, now, sandbox=False), notes=told, again_at=now)


def _killing(pod: ReadOnlyObject) -> tuple[Note, ...]:
    running = [name for name, one in _statuses(pod).items() if "running" in one["state"]]
    return tuple(Note("Normal", "Killing", f"Stopping container {name}", name) for name in running)


def _initializing(pod: ReadOnlyObject) -> bool:
    return bool(pod["spec"].get("initContainers"))


def _statuses(pod: ReadOnlyObject) -> dict[str, Object]:
    """Return the statuses there are, and first ones for the containers that have none; init containers first."""
    known = {one["name"]: one for _, key in _LISTS for one in (pod.get("status") or {}).get(key) or ()}
    initializing = _initializing(pod)
    return {
        one["name"]: {"lastState": {}, **known[one["name"]]}
        if one["name"] in known
        else first_status(one, initializing=initializing)
        for listed, _ in _LISTS
        for one in pod["spec"].get(listed) or ()
    }


def _run(pod: ReadOnlyObject, stage: Stage) -> tuple[dict[str, Object], datetime | None, tuple[Note, ...]]:
    """Let every container run that may: init containers one after the other, then all others."""
    statuses = _statuses(pod)
    moments: list[datetime | None] = []
    notes: list[Note] = []

    def take(name: str, progress: Progress) -> None:
        statuses[name] = progress.status
        moments.append(progress.next_at)
        notes.extend(progress.notes)

    for container in pod["spec"].get("initContainers") or ():
        name = container["name"]
        if is_sidecar(container):
            take(name, advance(container, statuses[name], stage, stage.script.exits.get(name)))
        elif not statuses[name].get("ready"):
            take(name, _initialize(container, statuses[name], stage))
        if not is_initialized({**pod, "spec": {**pod["spec"], "initContainers": [container]}}, statuses):
            return statuses, _earliest(*moments), tuple(notes)
    for container in pod["spec"]["containers"]:
        name = container["name"]
        take(name, advance(container, statuses[name], stage, stage.script.exit_of(name)))
    return statuses, _earliest(*moments), tuple(notes)


def _initialize(container: ReadOnlyObject, status: ReadOnlyObject, stage: Stage) -> Progress:
    """Run an init container: it succeeds at once unless its own script says otherwise."""
    once = {**container, "restartPolicy": container.get("restartPolicy") or _initial_policy(stage.pod)}
    progress = advance(once, status, stage, stage.script.exits.get(container["name"], _COMPLETES))
    terminated = progress.status["state"].get("terminated")
    done = terminated is not None and terminated["exitCode"] == 0
    if "running" in progress.status["state"]:
        return replace(progress, status={**progress.status, "ready": False})
    return replace(progress, status={**progress.status, "ready": True}) if done else progress


def _initial_policy(pod: ReadOnlyObject) -> str:
    """An init container that succeeded is done even where others are restarted for ever."""
    return "Never" if pod["spec"].get("restartPolicy") == "Never" else "OnFailure"


def _stopped(
    pod: ReadOnlyObject, statuses: Mapping[str, ReadOnlyObject], script: Script, now: datetime, *, exit_code: int = 0
) -> dict[str, Object]:
    """Return the statuses once nothing of the pod runs any more."""
    result: dict[str, Object] = {}
    for name, status in statuses.items():
        if "running" in status["state"]:
            result[name] = ended(status, exit_code, now)
        elif "terminated" in status["state"]:
            result[name] = dict(status)
        elif last := (status.get("lastState") or {}).get("terminated"):
            result[name] = {**status, "state": {"terminated": last}, "lastState": {}}
        else:
            result[name] = lost(status)
    return result


def _status(
    pod: ReadOnlyObject, host: Host, statuses: Mapping[str, ReadOnlyObject], phase: str, now: datetime, *, sandbox: bool
) -> Object:
    """Return the part of the status that is the kubelet's."""
    old = pod.get("status") or {}
    on_host = pod["spec"].get("hostNetwork")
    conditions = conditions_of(pod, statuses, phase, host.rules, sandbox=sandbox)
    status: Object = {
        "phase": phase,
        "conditions": dated(conditions, old, render_time(now)),
        "hostIP": host.node_ip,
        "hostIPs": [{"ip": host.node_ip}],
    }
    if host.rules.observed_generation and (generation := pod["metadata"].get("generation")):
        status["observedGeneration"] = generation
    pod_ip = old.get("podIP") or (host.node_ip if on_host else host.pod_ip if sandbox else "")
    if pod_ip:
        status |= {"podIP": pod_ip, "podIPs": [{"ip": pod_ip}]}
    for listed, key in _LISTS:
        if names := [one["name"] for one in pod["spec"].get(listed) or ()]:
            status[key] = [statuses[name] for name in names]
    return status


def _changed(pod: ReadOnlyObject, status: Object) -> Object | None:
    """Return the status if it says anything that the stored one does not."""
    old = pod.get("status") or {}
    conditions = {one["type"]: one for one in old.get("conditions") or ()}
    for condition in status["conditions"]:
        known = conditions.get(condition["type"], {})
        if any(known.get(name) != value for name, value in condition.items() if name != "lastProbeTime"):
            return status
    same = all(_plain(old.get(name)) == _plain(value) for name, value in status.items() if name != "conditions")
    return None if same else status


def _plain(value: object) -> object:
    """Return a value as it comes back from the API: without what is empty."""
    if isinstance(value, dict):
        return {name: plain for name, one in value.items() if (plain := _plain(one)) not in (None, "", {}, [])}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value


def _earliest(*moments: datetime | None) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)
