"""Next status of one container: from its previous status, its behavior and the time.

upstream 1.36: pkg/kubelet/kubelet_pods.go, pkg/kubelet/kuberuntime/kuberuntime_manager.go (doBackOff)
"""

from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import parse_time, render_time
from mockkube.kubelet.containers.container_behavior import ContainerBehavior
from mockkube.kubelet.containers.container_exits import FindExit
from mockkube.kubelet.containers.container_progress import ContainerProgress, waiting_status
from mockkube.kubelet.containers.hook_runner import POST_START, HookRun, HookRunner, has_hook
from mockkube.kubelet.containers.image_puller import ImagePuller
from mockkube.kubelet.containers.images import ImagePullError, find_pull_error, image_id, make_digest
from mockkube.kubelet.containers.kubelet_event import KubeletEvent
from mockkube.kubelet.containers.prober import NO_PROBES, PodProber, ProbeResults, has_probes
from mockkube.kubelet.containers.restart_rules import LOST_EXIT_CODE, RESTARTING_ALL, RestartRules
from mockkube.kubelet.containers.start_checks import find_config_error
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.containers.container_start import ContainerStart

# Time after which a container that could not be configured is tried again (upstream: backOffPeriod of pod workers).
_CONFIG_RETRY: Final = timedelta(seconds=10)
_SHORT_MESSAGES: Final = ("Container created", "Container started")
_ALLOCATED_FIELDS: Final = ("resources", "allocatedResources")
_RESTARTING_MESSAGE: Final = "The container is removed because RestartAllContainers in place"


@dataclass(frozen=True, slots=True)
class ContainerSyncInput:
    """Inputs of one sync of a container."""

    pod: ReadOnlyObject
    behavior: ContainerBehavior
    now: datetime
    # Whether the pod has init containers; selects the waiting reason before the first start.
    initializing: bool
    # Whether event messages name the container, as before 1.35.
    names_container_in_events: bool
    restart_rules: RestartRules = field(default_factory=RestartRules)
    # Whether containers get the resources of the spec; False while a resize is pending.
    applies_resources: bool = True
    # Patterns of images that the node cannot pull.
    unpullable_images: tuple[str, ...] = ()
    # What containers know about other objects when they start.
    start: ContainerStart = field(default_factory=ContainerStart)
    prober: PodProber = field(default_factory=PodProber)
    images: ImagePuller = field(default_factory=ImagePuller)
    hooks: HookRunner = field(default_factory=HookRunner)
    # Whether statuses show allocated resources.
    reports_resources: bool = True


def is_sidecar(container: ReadOnlyObject) -> bool:
    """Return whether an init container keeps running beside the main containers."""
    return bool(container.get("restartPolicy") == "Always")


def new_container_status(container: ReadOnlyObject, *, initializing: bool) -> Object:
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
        status["volumeMounts"] = [_volume_mount_status(mount) for mount in mounts]
    return status


def _volume_mount_status(mount: ReadOnlyObject) -> Object:
    """Return a volume mount as container statuses list it."""
    shown = {"name": mount["name"], "mountPath": mount["mountPath"]}
    if mount.get("readOnly"):
        shown |= {"readOnly": True, "recursiveReadOnly": "Disabled"}
    return shown


def advance_container(
    container: ReadOnlyObject, old: ReadOnlyObject, sync_input: ContainerSyncInput, find_exit: FindExit
) -> ContainerProgress:
    """Return the progress of a container that may run; `find_exit` returns how it exits."""
    state = old["state"]
    if terminated := state.get("terminated"):
        return _advance_terminated(container, old, terminated, sync_input, find_exit)
    if running := state.get("running"):
        return _advance_running(container, old, parse_time(running["startedAt"]), sync_input, find_exit)
    # Waiting with a terminated last state: the container is in CrashLoopBackOff, or all containers restart.
    if terminated := (old.get("lastState") or {}).get("terminated"):
        return _advance_terminated(container, old, terminated, sync_input, find_exit)
    return _start(container, old, sync_input, find_exit, restarts=0)


def _start(
    container: ReadOnlyObject,
    old: ReadOnlyObject,
    sync_input: ContainerSyncInput,
    find_exit: FindExit,
    *,
    restarts: int,
) -> ContainerProgress:
    name = container["name"]
    if (hook := sync_input.hooks.find_post_start(sync_input.pod, name, restarts)) is not None:
        return _finish_start(container, old, sync_input, find_exit, restarts=restarts, hook=hook)
    uid, error = sync_input.pod["metadata"]["uid"], _find_pull_error(container, sync_input)
    pull = sync_input.images.pull(uid, container, old, error, sync_input.now)
    if isinstance(pull, ContainerProgress):
        return pull
    if (message := find_config_error(sync_input.pod, container, sync_input.start)) is not None:
        return _fail_configuration(old, name, message, sync_input.now)
    notes = (*pull, *_start_events(name, named=sync_input.names_container_in_events))
    hook = None
    if has_hook(container, POST_START):
        start = replace(sync_input.start, run=restarts)
        hook = sync_input.hooks.run_post_start(sync_input.pod, container, start, sync_input.now)
    progress = _finish_start(container, old, sync_input, find_exit, restarts=restarts, hook=hook)
    return replace(progress, notes=(*notes, *progress.notes))


def _start_events(name: str, *, named: bool) -> tuple[KubeletEvent, KubeletEvent]:
    created, started = (f"Created container: {name}", f"Started container {name}") if named else _SHORT_MESSAGES
    return KubeletEvent("Normal", "Created", created, name), KubeletEvent("Normal", "Started", started, name)


def _finish_start(
    container: ReadOnlyObject,
    old: ReadOnlyObject,
    sync_input: ContainerSyncInput,
    find_exit: FindExit,
    *,
    restarts: int,
    hook: HookRun | None,
) -> ContainerProgress:
    """Let a started container run once its postStart hook has succeeded; until then its status does not change."""
    name, image = container["name"], container["image"]
    began = sync_input.now if hook is None else hook.began
    if hook is not None and (hook.ends_at is None or hook.ends_at > sync_input.now):
        return ContainerProgress(dict(old), hook.ends_at)
    status: Object = {
        **old,
        "image": image,
        "imageID": image_id(image),
        "containerID": _container_id(sync_input.pod, name, restarts),
        "state": {"running": {"startedAt": render_time(began)}},
        "ready": sync_input.behavior.is_ready(name) and "readinessProbe" not in container,
        "restartCount": restarts,
        "started": "startupProbe" not in container,
    }
    status = _show_allocated_resources(container, status, sync_input)
    if hook is not None and hook.error:
        return _kill_after_failed_hook(container, status, hook, sync_input)
    # A container that exits after zero seconds terminates in the sync that starts it.
    return _advance_running(container, status, began, sync_input, find_exit)


def _kill_after_failed_hook(
    container: ReadOnlyObject, status: ReadOnlyObject, hook: HookRun, sync_input: ContainerSyncInput
) -> ContainerProgress:
    """Kill a container whose postStart hook failed; it restarts if its policy says so."""
    name = container["name"]
    # The message of the hook may contain secrets, so events do not.
    notes = (
        KubeletEvent("Warning", "FailedPostStartHook", "PostStartHook failed", name),
        KubeletEvent("Normal", "Killing", "FailedPostStartHook", name),
    )
    ended = terminated_status(status, LOST_EXIT_CODE, hook.ends_at or sync_input.now)
    if not sync_input.restart_rules.may_restart(container, sync_input.pod, LOST_EXIT_CODE):
        return ContainerProgress(ended, None, notes)
    waits = waiting_status({**ended, "lastState": ended["state"]}, "PostStartHookError", hook.error)
    return ContainerProgress(waits, sync_input.now, notes)


def _find_pull_error(container: ReadOnlyObject, sync_input: ContainerSyncInput) -> ImagePullError | None:
    """Return why the image of a container cannot be pulled: because the pod, the node, or its name says so."""
    pullable = sync_input.behavior.is_pullable(container["name"])
    if pullable:
        return None
    policy = container.get("imagePullPolicy", "")
    return find_pull_error(container["image"], policy, sync_input.unpullable_images, missing=pullable is not None)


def _fail_configuration(old: ReadOnlyObject, name: str, message: str, now: datetime) -> ContainerProgress:
    """Let a container wait that cannot be configured; it is tried again after a while."""
    note = KubeletEvent("Warning", "Failed", f"Error: {message}", name)
    return ContainerProgress(waiting_status(old, "CreateContainerConfigError", message), now + _CONFIG_RETRY, (note,))


def _advance_running(
    container: ReadOnlyObject,
    status: ReadOnlyObject,
    since: datetime,
    sync_input: ContainerSyncInput,
    find_exit: FindExit,
) -> ContainerProgress:
    # Resources that need a restart are compared first: the restarted container gets all new resources together.
    resizes = sync_input.applies_resources and sync_input.reports_resources
    if resizes and _needs_restart_to_resize(container, status):
        return _restart_for_resize(container, status, sync_input, find_exit)
    probes = _probe(container, status, since, sync_input) if has_probes(container) else NO_PROBES
    is_ready = sync_input.behavior.is_ready(container["name"]) and probes.ready
    shown = {**status, "ready": is_ready, "started": probes.started}
    if sync_input.applies_resources:
        shown = _show_allocated_resources(container, shown, sync_input)
    end = find_exit(status["restartCount"], since)
    due = None if end is None else since + timedelta(seconds=end.after_seconds)
    # Whatever comes first: a failed probe, or the end of its command.
    if probes.failed_at is not None and (due is None or probes.failed_at < due):
        return _kill_unhealthy(container, status, probes, sync_input)
    if end is None or due is None:
        return ContainerProgress(shown, probes.next_at, probes.notes)
    if due > sync_input.now:
        return ContainerProgress(shown, due if probes.next_at is None else min(due, probes.next_at), probes.notes)
    again = sync_input.restart_rules.may_restart(container, sync_input.pod, end.code)
    ended = terminated_status(status, end.code, due, end.message)
    return ContainerProgress(ended, sync_input.now if again else None, probes.notes)


def _probe(
    container: ReadOnlyObject, status: ReadOnlyObject, since: datetime, sync_input: ContainerSyncInput
) -> ProbeResults:
    """Take the probes of a running container that are due."""
    start = replace(sync_input.start, run=status["restartCount"], began=since)
    return sync_input.prober.probe(sync_input.pod, container, status, start, sync_input.now)


def _kill_unhealthy(
    container: ReadOnlyObject, status: ReadOnlyObject, probes: ProbeResults, sync_input: ContainerSyncInput
) -> ContainerProgress:
    """Kill a container whose liveness or startup probe failed; it restarts if its policy says so."""
    assert probes.failed is not None, "the caller has found a failed probe"
    assert probes.failed_at is not None, "the caller has found a failed probe"
    again = sync_input.restart_rules.may_restart(container, sync_input.pod, LOST_EXIT_CODE)
    # upstream 1.36: pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions)
    text = f"Container {container['name']} failed {probes.failed.lower()} probe"
    note = KubeletEvent("Normal", "Killing", f"{text}, will be restarted" if again else text, container["name"])
    ended = terminated_status(status, LOST_EXIT_CODE, probes.failed_at)
    return ContainerProgress(ended, sync_input.now if again else None, (*probes.notes, note))


def _needs_restart_to_resize(container: ReadOnlyObject, status: ReadOnlyObject) -> bool:
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


def _restart_for_resize(
    container: ReadOnlyObject, status: ReadOnlyObject, sync_input: ContainerSyncInput, find_exit: FindExit
) -> ContainerProgress:
    """Stop a container and start it with the resources of the spec."""
    name = container["name"]
    last = terminated_status(status, 0, sync_input.now)["state"]
    progress = _start(
        container, {**status, "lastState": last}, sync_input, find_exit, restarts=status["restartCount"] + 1
    )
    note = KubeletEvent("Normal", "Killing", f"Container {name} resize requires restart", name)
    return replace(progress, notes=(note, *progress.notes))


def _show_allocated_resources(container: ReadOnlyObject, status: Object, sync_input: ContainerSyncInput) -> Object:
    """Return the status with the container's allocated resources; without them if the kubelet does not report any."""
    if not sync_input.reports_resources:
        return {name: value for name, value in status.items() if name not in _ALLOCATED_FIELDS}
    resources = container.get("resources") or {}
    if not resources:
        return status
    shown = {**status, "resources": resources}
    if requests := resources.get("requests"):
        shown["allocatedResources"] = requests
    return shown


def terminated_status(status: ReadOnlyObject, exit_code: int, at: datetime, message: str = "") -> Object:
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


def unknown_status(status: ReadOnlyObject) -> Object:
    """Return the terminated status of a container that never ran in a pod that ended."""
    terminated = {
        "exitCode": LOST_EXIT_CODE,
        "reason": "ContainerStatusUnknown",
        "message": "The container could not be located when the pod was terminated",
        "startedAt": None,
        "finishedAt": None,
    }
    return {**status, "state": {"terminated": terminated}, "ready": False, "started": False}


def restarting_status(status: ReadOnlyObject) -> Object:
    """Return the status of a container while all containers of its pod restart."""
    last = {"exitCode": LOST_EXIT_CODE, "reason": RESTARTING_ALL, "message": _RESTARTING_MESSAGE,
            "startedAt": None, "finishedAt": None}  # fmt: skip
    waiting = {"reason": RESTARTING_ALL, "message": _RESTARTING_MESSAGE}
    return {
        # The next start writes a new ID; upstream's runtime has no container under the old one any more.
        **{name: value for name, value in status.items() if name != "containerID"},
        "state": {"waiting": waiting},
        "lastState": {"terminated": last},
        "ready": False,
        "started": False,
        "restartCount": status["restartCount"] + 1,
    }


def _advance_terminated(
    container: ReadOnlyObject,
    status: ReadOnlyObject,
    terminated: ReadOnlyObject,
    sync_input: ContainerSyncInput,
    find_exit: FindExit,
) -> ContainerProgress:
    """Keep a terminated container, let it wait in CrashLoopBackOff, or restart it."""
    if terminated.get("reason") == RESTARTING_ALL:
        # `restarting_status` has incremented the restart count already, and this restart has no backoff.
        return _start(container, status, sync_input, find_exit, restarts=status["restartCount"])
    if not sync_input.restart_rules.may_restart(container, sync_input.pod, terminated["exitCode"]):
        return ContainerProgress(dict(status))
    wait_seconds = sync_input.restart_rules.get_backoff_seconds(status["restartCount"])
    finished = terminated.get("finishedAt")
    # Statuses written by others (users, KWOK stages) may lack finishedAt.
    due = (parse_time(finished) if finished else sync_input.now) + timedelta(seconds=wait_seconds)
    last = {"terminated": dict(terminated)}
    if due <= sync_input.now:
        return _start(
            container, {**status, "lastState": last}, sync_input, find_exit, restarts=status["restartCount"] + 1
        )
    if (status["state"].get("waiting") or {}).get("reason") == "CrashLoopBackOff":
        return ContainerProgress(dict(status), due)
    metadata, name = sync_input.pod["metadata"], container["name"]
    place = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
    message = f"back-off {_format_seconds(wait_seconds)} restarting failed container={name} pod={place}"
    note = KubeletEvent("Warning", "BackOff", f"Back-off restarting failed container {name} in pod {place}", name)
    waiting = {"reason": "CrashLoopBackOff", "message": message}
    waits = {**status, "state": {"waiting": waiting}, "lastState": last, "ready": False, "started": False}
    return ContainerProgress(waits, due, (note,))


def _format_seconds(seconds: int) -> str:
    """Return a backoff as Go prints a duration: 10s, 1m20s."""
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _container_id(pod: ReadOnlyObject, name: str, restarts: int) -> str:
    uid = pod["metadata"]["uid"]
    return f"containerd://{make_digest(f'{uid}/{name}/{restarts}')}"
