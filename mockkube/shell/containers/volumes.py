"""Volumes of a pod as its containers find them: contents, modes and owners.

upstream 1.36: pkg/volume/{configmap,secret,downwardapi,projected,emptydir}, pkg/volume/volume_linux.go
"""

import base64
import posixpath
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.containers.pod_fields import Lookup, resolve_field, resolve_resource
from mockkube.shell.containers.pod_network_files import render_node_hosts
from mockkube.shell.machine.file_system import SETGID, TMPFS, UNKNOWN, File, Mount, Volume
from mockkube.shell.programs.entrypoints import find_image

MakeToken = Callable[[ReadOnlyObject, ReadOnlyObject], str | None]
"""Returns the token for a pod and a `serviceAccountToken` source; None if there is none."""
_OPEN_DIRECTORY: Final = 0o777
_HOST_DIRECTORY: Final = 0o755
_SYSTEM_DIRECTORIES: Final = (
    "/bin/", "/boot/", "/dev/", "/etc/", "/lib/", "/proc/", "/root/", "/run/", "/sbin/", "/sys/", "/usr/",
    "/var/lib/kubelet/", "/var/log/", "/var/run/",
)  # fmt: skip
_READ_GROUP: Final = 0o440
_WRITE_GROUP: Final = 0o660
_ENTER_GROUP: Final = 0o110
_TOKEN_MODE: Final = 0o600
_DEFAULT_MODE: Final = 0o644
_CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")


class VolumeError(Exception):
    """A volume that cannot be set up, with the kubelet's message."""


@dataclass(frozen=True, slots=True)
class VolumeSources:
    """Objects that volumes are made from; None if they are not known."""

    lookup: Lookup | None = None
    make_token: MakeToken | None = None


def build_volumes(pod: ReadOnlyObject, sources: VolumeSources) -> dict[str, Volume]:
    """Return the volumes of a pod by name; raise VolumeError if one cannot be set up."""
    builder = _VolumeBuilder(pod, sources)
    return {one["name"]: builder.build(one) for one in pod["spec"].get("volumes") or ()}


def iterate_containers(pod: ReadOnlyObject) -> Iterable[ReadOnlyObject]:
    """Return all containers of a pod, init containers first."""
    for listed in _CONTAINER_LISTS:
        yield from pod["spec"].get(listed) or ()


def read_data(obj: ReadOnlyObject) -> dict[str, str]:
    """Return the data of a ConfigMap or, decoded, of a Secret; bytes that are no text are surrogates."""
    if obj.get("kind") == "Secret":
        return {name: decode_bytes(text) for name, text in (obj.get("data") or {}).items()}
    binary = {name: decode_bytes(text) for name, text in (obj.get("binaryData") or {}).items()}
    return {**(obj.get("data") or {}), **binary}


def decode_bytes(text: str) -> str:
    """Decode base64; bytes that are no UTF-8 become surrogates."""
    return base64.b64decode(text).decode(errors="surrogateescape")


class _VolumeBuilder:
    """Builds the volumes of one pod."""

    def __init__(self, pod: ReadOnlyObject, sources: VolumeSources) -> None:
        self._pod, self._sources = pod, sources
        security: ReadOnlyObject = pod["spec"].get("securityContext") or {}
        self._group: int | None = security.get("fsGroup")
        self._user = _common_user(pod)

    def build(self, volume: ReadOnlyObject) -> Volume:
        """Build one volume."""
        if (source := volume.get("emptyDir")) is not None:
            in_memory = source.get("medium") == "Memory"
            return self._finish(
                Volume(volume["name"], file_system=TMPFS, survives=True)
                if in_memory
                else Volume(volume["name"], survives=True)
            )
        for kind, build in (
            ("configMap", self._config_map_files),
            ("secret", self._secret_files),
            ("downwardAPI", self._downward_files),
            ("projected", self._projected_files),
        ):
            if (source := volume.get(kind)) is not None:
                files = build(source, source.get("defaultMode", _DEFAULT_MODE))
                known = files is not None
                made = Volume(volume["name"], is_known=known, is_writable=False, file_system=TMPFS)
                for path, file in (files or {}).items():
                    made.add(path, file)
                return self._finish(made)
        if (source := volume.get("image")) is not None:
            made = Volume(volume["name"], is_known=False, is_writable=False)
            for name, text in find_image(source.get("reference", "")).files:
                made.add(name.removeprefix("/"), File(text))
            return made
        if (source := volume.get("hostPath")) is not None:
            # A simulated node has the directories of its system, and besides only what pods have written.
            path = posixpath.normpath(source.get("path", ""))
            if path == "/etc/hosts":
                return Volume(volume["name"], {"": File(render_node_hosts(self._pod))})
            is_system = path == "/" or any(f"{path}/".startswith(one) for one in _SYSTEM_DIRECTORIES)
            root = {"": File(mode=_HOST_DIRECTORY, is_directory=True)}
            return Volume(volume["name"], root, is_known=not is_system)
        return Volume(volume["name"], is_known=False)

    def _finish(self, volume: Volume) -> Volume:
        """Give a volume the group of the pod, as SetVolumeOwnership does."""
        volume.files.setdefault("", File(mode=_OPEN_DIRECTORY, is_directory=True))
        if self._group is None:
            return volume
        added = _WRITE_GROUP if volume.is_writable else _READ_GROUP
        for path, file in volume.files.items():
            mode = file.mode | added | (SETGID | _ENTER_GROUP if file.is_directory else 0)
            volume.files[path] = File(file.text, mode, file.uid, self._group, file.is_directory)
        return volume

    def _config_map_files(self, source: ReadOnlyObject, mode: int) -> dict[str, File] | None:
        return self._object_files("ConfigMap", source.get("name", ""), source, mode)

    def _secret_files(self, source: ReadOnlyObject, mode: int) -> dict[str, File] | None:
        return self._object_files("Secret", source.get("secretName", source.get("name", "")), source, mode)

    def _object_files(self, kind: str, name: str, source: ReadOnlyObject, mode: int) -> dict[str, File] | None:
        if self._sources.lookup is None:
            return None
        found = self._sources.lookup(kind, self._pod["metadata"]["namespace"], name)
        optional = source.get("optional", False)
        if found is None and not optional:
            resource = "configmap" if kind == "ConfigMap" else "secret"
            raise VolumeError(f'{resource} "{name}" not found')
        data = read_data({**found, "kind": kind}) if found is not None else {}
        items = source.get("items")
        if not items:
            return {key: File(text, mode) for key, text in data.items()}
        files = {}
        for item in items:
            if item["key"] not in data:
                if optional:
                    continue
                # Upstream uses the same words for both kinds: they differ in one of them.
                subject = "configmap" if kind == "ConfigMap" else "secret"
                raise VolumeError(f"{'references non-existent ' + subject} key: {item['key']}")
            files[_clean(item["path"])] = File(data[item["key"]], item.get("mode", mode))
        return files

    def _downward_files(self, source: ReadOnlyObject, mode: int) -> dict[str, File] | None:
        files = {}
        for item in source.get("items") or ():
            if (field := item.get("fieldRef")) is not None:
                text = resolve_field(self._pod, field["fieldPath"])
            else:
                text = self._resource_text(item["resourceFieldRef"])
            files[_clean(item["path"])] = File(text, item.get("mode", mode))
        return files

    def _resource_text(self, source: ReadOnlyObject) -> str:
        wanted = source.get("containerName", "")
        container = next((one for one in iterate_containers(self._pod) if one["name"] == wanted), None)
        return UNKNOWN if container is None else resolve_resource(self._pod, container, source, self._sources.lookup)

    def _projected_files(self, source: ReadOnlyObject, mode: int) -> dict[str, File] | None:
        files: dict[str, File] = {}
        known = True
        errors = []
        for part in source.get("sources") or ():
            try:
                added = self._project(part, mode)
            except VolumeError as error:
                errors.append(str(error))
                continue
            known = known and added is not None
            files |= added or {}
        if errors:
            raise VolumeError(errors[0] if len(errors) == 1 else f"[{', '.join(dict.fromkeys(errors))}]")
        return files if known else None

    def _project(self, part: ReadOnlyObject, mode: int) -> dict[str, File] | None:
        """Return the files of one source of a projected volume; None if they are not known."""
        if (source := part.get("configMap")) is not None:
            return self._config_map_files(source, mode)
        if (source := part.get("secret")) is not None:
            return self._secret_files(source, mode)
        if (source := part.get("downwardAPI")) is not None:
            return self._downward_files(source, mode)
        if (source := part.get("serviceAccountToken")) is not None:
            token = None if self._sources.make_token is None else self._sources.make_token(self._pod, source)
            owned = self._group is not None or self._user is not None
            file = File(UNKNOWN if token is None else token, _TOKEN_MODE if owned else mode, self._user or 0)
            return {_clean(source["path"]): file}
        return None


def _common_user(pod: ReadOnlyObject) -> int | None:
    """Return the user that all containers of a pod run as; None if they differ or none is named."""
    # upstream 1.36: pkg/volume/util/util.go, FsUserFrom
    pod_user = (pod["spec"].get("securityContext") or {}).get("runAsUser")
    users = {
        (one.get("securityContext") or {}).get("runAsUser", pod_user)
        for listed in _CONTAINER_LISTS[:2]
        for one in pod["spec"].get(listed) or ()
    }
    return users.pop() if len(users) == 1 else None


def _clean(path: str) -> str:
    return posixpath.normpath(path)


def build_mounts(
    container: ReadOnlyObject, volumes: Mapping[str, Volume], expand: Callable[[str], str]
) -> tuple[Mount, ...]:
    """Return the mounts of a container; `expand` expands a `subPathExpr`, or raises VolumeError."""
    mounts = []
    for mount in container.get("volumeMounts") or ():
        volume = volumes.get(mount["name"]) or Volume(mount["name"], is_known=False)
        sub_path = _clean_sub_path(expand(mount["subPathExpr"]) if mount.get("subPathExpr") else mount.get("subPath"))
        if sub_path and volume.is_known and sub_path not in volume.files:
            volume.add(sub_path, File(mode=volume.root().mode, gid=volume.root().gid, is_directory=True))
        path = posixpath.normpath(f"/{mount['mountPath']}").replace("//", "/")
        mounts.append(Mount(path.rstrip("/") or "/", volume, sub_path, bool(mount.get("readOnly"))))
    return tuple(mounts)


def _clean_sub_path(path: str | None) -> str:
    if not path:
        return ""
    if path.startswith("/"):
        raise VolumeError(f"error SubPath `{path}` must not be an absolute path")
    if ".." in path.split("/"):
        raise VolumeError(f"unable to provision SubPath `{path}`: must not contain '..'")
    cleaned = posixpath.normpath(path)
    return "" if cleaned == "." else cleaned


def mounts_writable(container: ReadOnlyObject, names: Iterable[str]) -> bool:
    """Return whether a container mounts one of these volumes for writing."""
    wanted = set(names)
    return any(one["name"] in wanted and not one.get("readOnly") for one in container.get("volumeMounts") or ())
