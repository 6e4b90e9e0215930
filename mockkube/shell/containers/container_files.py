"""Files that one run of a container starts with, and what other containers of its pod write beside it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.containers.environment import expand_sub_path
from mockkube.shell.containers.pod_fields import get_hostname
from mockkube.shell.containers.pod_network_files import render_hosts, render_resolv_conf
from mockkube.shell.containers.volumes import VolumeSources, build_mounts, build_volumes
from mockkube.shell.machine.cgroup_files import render_cgroup_files
from mockkube.shell.machine.file_system import File, FileSystem, FileWrite, User
from mockkube.shell.programs.entrypoints import find_image

MESSAGE_PATH: Final = "/dev/termination-log"
_MESSAGE_MODE: Final = 0o666


@dataclass(frozen=True, slots=True)
class OtherWrites:
    """Writes to a container's volumes from outside, and the volumes that others may have written unknown files to."""

    writes: tuple[FileWrite, ...] = ()
    unknown_volumes: frozenset[str] = frozenset()


def build_files(
    pod: ReadOnlyObject,
    container: ReadOnlyObject,
    start: ContainerStart,
    variables: Mapping[str, str],
    others: OtherWrites,
) -> FileSystem:
    """Return the files of a container at its start; raise VolumeError if a volume cannot be mounted."""
    volumes = build_volumes(pod, VolumeSources(start.lookup, start.make_token))
    for name in others.unknown_volumes & volumes.keys():
        volumes[name].is_known = False
    mounts = build_mounts(container, volumes, lambda text: expand_sub_path(text, variables))
    security: ReadOnlyObject = container.get("securityContext") or {}
    return FileSystem(
        mounts,
        root=_kubelet_files(pod, container, start),
        user=find_user(pod, container),
        is_read_only=bool(security.get("readOnlyRootFilesystem")),
        working_directory=container.get("workingDir") or find_image(container.get("image", "")).working_directory,
        pending=others.writes,
    )


def _kubelet_files(pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart) -> dict[str, File]:
    """Return the files that the kubelet and the container runtime mount, and those known to be in the image."""
    files = {
        "/etc/hostname": File(f"{get_hostname(pod)}\n"),
        "/etc/hosts": File(render_hosts(pod)),
        "/etc/resolv.conf": File(render_resolv_conf(pod, start.lookup)),
    }
    path = container.get("terminationMessagePath") or MESSAGE_PATH
    own = {path: File(text) for path, text in find_image(container.get("image", "")).files}
    cgroup = {path: File(text) for path, text in render_cgroup_files(pod, container).items()}
    return own | cgroup | files | {path: File(mode=_MESSAGE_MODE)}


def find_user(pod: ReadOnlyObject, container: ReadOnlyObject) -> User:
    """Return the user and the groups that a container runs as."""
    pod_security: ReadOnlyObject = pod["spec"].get("securityContext") or {}
    security = {**pod_security, **(container.get("securityContext") or {})}
    groups = set(pod_security.get("supplementalGroups") or ())
    if (group := pod_security.get("fsGroup")) is not None:
        groups.add(group)
    image = find_image(container.get("image", ""))
    uid = security.get("runAsUser", image.uid)
    return User(uid, security.get("runAsGroup", image.gid), frozenset(groups))


def shared_volumes(pod: ReadOnlyObject, container: ReadOnlyObject) -> frozenset[str]:
    """Return the emptyDir volumes of a container that other containers of its pod may write to, too."""
    volumes = {one["name"] for one in pod["spec"].get("volumes") or () if "emptyDir" in one}
    return frozenset(one["name"] for one in container.get("volumeMounts") or () if one["name"] in volumes)


def may_write(container: ReadOnlyObject, volumes: frozenset[str]) -> bool:
    """Return whether a container mounts one of these volumes for writing."""
    return any(one["name"] in volumes and not one.get("readOnly") for one in container.get("volumeMounts") or ())


def shift(writes: Iterable[FileWrite], seconds: float, volumes: frozenset[str]) -> list[FileWrite]:
    """Return the writes to some volumes in the time of another container."""
    return [replace(one, at=one.at + seconds) for one in writes if one.volume in volumes]


def seconds_between(pod: ReadOnlyObject, name: str, start: ContainerStart) -> float:
    """Return how long after the start of a run another container of the pod started."""
    status = pod.get("status") or {}
    for key in ("containerStatuses", "initContainerStatuses"):
        for one in status.get(key) or ():
            state = one.get("state") or {}
            shown = state.get("running") or state.get("terminated") or {}
            if one["name"] == name and shown.get("startedAt") and start.began is not None:
                return (parse_time(shown["startedAt"]) - start.began).total_seconds()
    return 0.0
