"""Next status of one container: from its previous status, its behavior and the time.

upstream 1.36: pkg/kubelet/kubelet_pods.go, pkg/kubelet/kuberuntime/kuberuntime_manager.go (doBackOff)
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.times import parse_time, render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.kubelet.commands import Ends
from mockkube.kubelet.container_behavior import Script
from mockkube.kubelet.images import digest_of, image_id
from mockkube.kubelet.restart_rules import LOST_EXIT_CODE, RESTARTING_ALL, RestartRules

_REMOVED: Final = "The container is removed because RestartAllContainers in place"


@dataclass(frozen=True, slots=True)
class Note:
    """Event about a pod, a node or a stage, in upstream's words."""

    type: str
    reason: str
    message: str
    # Name of the container that the event is about; the event's field path refers to it.
    container: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """New status of a container, when it changes next (None: never), and events."""

    status: Object
    next_at: datetime | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """Inputs of one sync of a container."""

    pod: ReadOnlyObject
    script: Script
    now: datetime
    # Whether the pod has init containers; selects the waiting reason before the first start.
    initializing: bool
    # Whether event messages name the container, as before 1.35.
    long_texts: bool
    restarts: RestartRules = field(default_factory=RestartRules)
    # Whether containers get the resources of the spec; False while a resize is pending.
    resizes: bool = True


def is_sidecar(container: ReadOnlyObject) -> bool:
    """Return whether an init container keeps running beside the main containers."""
    return bool(container.get("restartPolicy") == "Always")


def first_status(container: ReadOnlyObject, *, initializing: bool) -> Object:
    """Return the status of a container that has not started."""
    status = {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "state": {"waiting": {"reason": "PodInitializing" if initializing else "ContainerCreating"}},
        "lastState": {},
        "ready": False,
        "restartCount": 0,
        "started": False,
    }
    if mounts := container.get("volumeMounts"):
        status["volumeMounts"] = [_mounted(mount) for mount in mounts]
    return status


def _mounted(mount: ReadOnlyObject) -> Object:
    """Return a volume mount as container statuses list it."""
    shown = {"name": mount["name"], "mountPath": mount["mountPath"]}
    if mount.get("readOnly"):
        shown |= {"readOnly": True, "recursiveReadOnly": "Disabled"}
    return shown


def advance(container: ReadOnlyObject, old: ReadOnlyObject, stage: Stage, ends: Ends) -> Progress:
    """Return the progress of a container that may run; `find_exit` returns how it exits."""
    state = old["state"]
    if terminated := state.get("terminated"):
        return _after_end(container, old, terminated, stage, ends)
    if running := state.get("running"):
        return _running(container, old, parse_time(running["startedAt"]), stage, ends)
    # Waiting with a terminated last state: the container is in CrashLoopBackOff, or all containers restart.
    if terminated := (old.get("lastState") or {}).get("terminated"):
        return _after_end(container, old, terminated, stage, ends)
    return _start(container, old, stage, ends, restarts=0)


def _start(container: ReadOnlyObject, old: ReadOnlyObject, stage: Stage, ends: Ends, *, restarts: int) -> Progress:
    name, image = container["name"], container["image"]
    if not stage.script.is_pullable(name):
        return _unpullable(old, image, name)
    identity = _container_id(stage.pod, name, restarts)
    status: Object = {
        **old,
        "image": image,
        "imageID": image_id(image),
        "containerID": identity,
        "state": {"running": {"startedAt": render_time(stage.now)}},
        "ready": stage.script.is_ready(name),
        "restartCount": restarts,
        "started": True,
    }
    status |= _given(container)
    notes = (
        Note("Normal", "Pulled", f'Container image "{image}" already present on machine', name),
        Note("Normal", "Created", f"Created container: {name}" if stage.long_texts else "Container created", name),
        Note("Normal", "Started", f"Started container {name}" if stage.long_texts else "Container started", name),
    )
    # A container that exits after zero seconds terminates in the sync that starts it.
    progress = _running(container, status, stage.now, stage, ends)
    return Progress(progress.status, progress.next_at, (*notes, *progress.notes))


def _unpullable(old: ReadOnlyObject, image: str, name: str) -> Progress:
    waiting = old["state"].get("waiting") or {}
    if waiting.get("reason") == "ImagePullBackOff":
        # Time alone changes nothing: only a change of the annotation lets the pull succeed.
        return Progress(dict(old))
    message = f'Back-off pulling image "{image}"'
    status = {**old, "state": {"waiting": {"reason": "ImagePullBackOff", "message": message}}}
    notes = (
        Note("Normal", "Pulling", f'Pulling image "{image}"', name),
        Note("Warning", "Failed", f'Failed to pull image "{image}": not found', name),
        Note("Warning", "Failed", "Error: ErrImagePull", name),
        Note("Normal", "BackOff", message, name),
    )
    return Progress(status, None, notes)


def _running(container: ReadOnlyObject, status: ReadOnlyObject, since: datetime, stage: Stage, ends: Ends) -> Progress:
    # Resources that need a restart are compared first: the restarted container gets all new resources together.
    if stage.resizes and _is_resized_by_restart(container, status):
        return _restarted(container, status, stage, ends)
    shown = {**status, "ready": stage.script.is_ready(container["name"])}
    if stage.resizes:
        shown |= _given(container)
    end = ends(status["restartCount"], since)
    if end is None:
        return Progress(shown)
    due = since + timedelta(seconds=end.after_seconds)
    if due > stage.now:
        return Progress(shown, due)
    again = stage.restarts.may_restart(container, stage.pod, end.code)
    return Progress(ended(status, end.code, due, end.message), stage.now if again else None)


def _is_resized_by_restart(container: ReadOnlyObject, status: ReadOnlyObject) -> bool:
    """Return whether a resource changed whose resize policy is RestartContainer."""
    policies = {one["resourceName"]: one.get("restartPolicy") for one in container.get("resizePolicy") or ()}
    if "RestartContainer" not in policies.values():
        return False
    wanted, given = container.get("resources") or {}, status.get("resources") or {}
    return any(
        (wanted.get(side) or {}).get(name) != (given.get(side) or {}).get(name)
        for side in ("limits", "requests")
        for name, policy in policies.items()
        if policy == "RestartContainer"
    )


def _restarted(container: ReadOnlyObject, status: ReadOnlyObject, stage: Stage, ends: Ends) -> Progress:
    """Stop a container and start it with the resources of the spec."""
    name = container["name"]
    last = ended(status, 0, stage.now)["state"]
    progress = _start(container, {**status, "lastState": last}, stage, ends, restarts=status["restartCount"] + 1)
    note = Note("Normal", "Killing", f"Container {name} resize requires restart", name)
    return replace(progress, notes=(note, *progress.notes))


def _given(container: ReadOnlyObject) -> Object:
    """Return the status fields that show a container's allocated resources."""
    resources = container.get("resources") or {}
    if not resources:
        return {}
    given: Object = {"resources": resources}
    if requests := resources.get("requests"):
        given["allocatedResources"] = requests
    return given


def ended(status: ReadOnlyObject, exit_code: int, at: datetime, message: str = "") -> Object:
    """Return the status of a running container after its exit."""
    terminated = {
        "exitCode": exit_code,
        "reason": "Completed" if exit_code == 0 else "Error",
        "startedAt": status["state"]["running"]["startedAt"],
        "finishedAt": render_time(at),
        "containerID": status["containerID"],
    }
    if message:
        terminated["message"] = message
    return {**status, "state": {"terminated": terminated}, "ready": False, "started": False}


def lost(status: ReadOnlyObject) -> Object:
    """Return the terminated status of a container that never ran in a pod that ended."""
    terminated = {
        "exitCode": LOST_EXIT_CODE,
        "reason": "ContainerStatusUnknown",
        "message": "The container could not be located when the pod was terminated",
        "startedAt": None,
        "finishedAt": None,
    }
    return {**status, "state": {"terminated": terminated}, "ready": False, "started": False}


def removed(status: ReadOnlyObject) -> Object:
    """Return the status of a container while all containers of its pod restart."""
    last = {"exitCode": LOST_EXIT_CODE, "reason": RESTARTING_ALL, "message": _REMOVED,
            "startedAt": None, "finishedAt": None}  # fmt: skip
    waiting = {"reason": RESTARTING_ALL, "message": _REMOVED}
    return {
        # The next start writes a new ID; upstream's runtime has no container under the old one any more.
        **{name: value for name, value in status.items() if name != "containerID"},
        "state": {"waiting": waiting},
        "lastState": {"terminated": last},
        "ready": False,
        "started": False,
        "restartCount": status["restartCount"] + 1,
    }


def _after_end(
    container: ReadOnlyObject, status: ReadOnlyObject, terminated: ReadOnlyObject, stage: Stage, ends: Ends
) -> Progress:
    """Keep a terminated container, let it wait in CrashLoopBackOff, or restart it."""
    if terminated.get("reason") == RESTARTING_ALL:
        # `restarting_status` has incremented the restart count already, and this restart has no backoff.
        return _start(container, status, stage, ends, restarts=status["restartCount"])
    if not stage.restarts.may_restart(container, stage.pod, terminated["exitCode"]):
        return Progress(dict(status))
    wait_seconds = stage.restarts.wait_seconds(status["restartCount"])
    finished = terminated.get("finishedAt")
    # Statuses written by others (users, KWOK stages) may lack finishedAt.
    due = (parse_time(finished) if finished else stage.now) + timedelta(seconds=wait_seconds)
    last = {"terminated": dict(terminated)}
    if due <= stage.now:
        return _start(container, {**status, "lastState": last}, stage, ends, restarts=status["restartCount"] + 1)
    if (status["state"].get("waiting") or {}).get("reason") == "CrashLoopBackOff":
        return Progress(dict(status), due)
    metadata, name = stage.pod["metadata"], container["name"]
    place = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
    message = f"back-off {_span(wait_seconds)} restarting failed container={name} pod={place}"
    note = Note("Warning", "BackOff", f"Back-off restarting failed container {name} in pod {place}", name)
    waiting = {"reason": "CrashLoopBackOff", "message": message}
    waits = {**status, "state": {"waiting": waiting}, "lastState": last, "ready": False, "started": False}
    return Progress(waits, due, (note,))


def _span(seconds: int) -> str:
    """Return a backoff as Go prints a duration: 10s, 1m20s."""
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _container_id(pod: ReadOnlyObject, name: str, restarts: int) -> str:
    uid = pod["metadata"]["uid"]
    return f"containerd://{digest_of(f'{uid}/{name}/{restarts}')}"
