"""Validate volume mounts and volume devices of containers."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidateVolumeMounts and ValidateVolumeDevices

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from mockkube.api.fields import FieldError, forbidden, invalid, not_found, not_supported, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.validation.paths import validate_local_descending_path, validate_path_no_backsteps

_PROPAGATION_MODES: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE_READ_ONLY_MODES: Final = ("Disabled", "Enabled", "IfPossible")
Volumes = Mapping[str, ReadOnlyObject]


def validate_volume_mounts(
    mounts: Sequence[ReadOnlyObject], at: str, container: ReadOnlyObject, volumes: Volumes
) -> list[FieldError]:
    """Validate mounts against the pod's volumes and the container's devices."""
    devices = {device.get("name", ""): device.get("devicePath", "") for device in container.get("volumeDevices", ())}
    device_paths = set(devices.values())
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, mount in enumerate(mounts):
        name, path = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(required(f"{at}[{i}].name"))
        if name not in volumes:
            errors.append(not_found(f"{at}[{i}].name", name))
        if not path:
            errors.append(required(f"{at}[{i}].mountPath"))
        if path in seen:
            errors.append(invalid(f"{at}[{i}].mountPath", path, "must be unique"))
        seen.add(path)
        if devices:
            errors += _validate_not_taken(devices, device_paths, name, path, f"{at}[{i}].mountPath", "volumeDevices")
        # A mount with nothing but name and path, by far the most common, needs no further checks.
        if len(mount) > 2:
            errors += _validate_mount_options(mount, at, f"{at}[{i}]", container)
    return errors


def _validate_not_taken(
    others: Mapping[str, str], other_paths: Collection[str], name: str, path: str, at: str, other_field: str
) -> list[FieldError]:
    """Reject a name or path that a device (or, for devices, a mount) already has."""
    errors = []
    if name in others:
        errors.append(invalid(f"{at.rpartition('.')[0]}.name", name, f"must not already exist in {other_field}"))
    if path in other_paths:
        errors.append(invalid(at, path, f"must not already exist as a path in {other_field}"))
    return errors


def _validate_mount_options(mount: ReadOnlyObject, at: str, here: str, container: ReadOnlyObject) -> list[FieldError]:
    """Validate subPath, propagation and recursiveReadOnly of a mount."""
    errors: list[FieldError] = []
    if path := mount.get("subPath"):
        # Upstream reports these errors at the path of the list, without the index of the mount.
        errors += validate_local_descending_path(path, f"{at}.subPath")
    if expression := mount.get("subPathExpr"):
        if mount.get("subPath"):
            text = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid(f"{here}.subPathExpr", expression, text))
        errors += validate_local_descending_path(expression, f"{at}.subPathExpr")
    if "mountPropagation" in mount:
        errors += _validate_propagation(mount["mountPropagation"], f"{at}.mountPropagation", container)
    if "recursiveReadOnly" in mount:
        errors += _validate_recursive_read_only(mount, f"{at}.recursiveReadOnly")
    return errors


def _validate_propagation(propagation: str, at: str, container: ReadOnlyObject) -> list[FieldError]:
    if propagation not in _PROPAGATION_MODES:
        return [not_supported(at, propagation, _PROPAGATION_MODES)]
    if propagation == "Bidirectional" and not container.get("securityContext", {}).get("privileged"):
        return [forbidden(at, "Bidirectional mount propagation is available only to privileged containers")]
    return []


def _validate_recursive_read_only(mount: ReadOnlyObject, at: str) -> list[FieldError]:
    value = mount["recursiveReadOnly"]
    if value not in _RECURSIVE_READ_ONLY_MODES:
        return [not_supported(at, value, _RECURSIVE_READ_ONLY_MODES)]
    if value == "Disabled":
        return []
    errors = []
    if not mount.get("readOnly"):
        errors.append(forbidden(at, "may only be specified when readOnly is true"))
    # Propagated mounts would appear below the mount without being read-only.
    if mount.get("mountPropagation", "None") != "None":
        errors.append(forbidden(at, "may only be specified when mountPropagation is None or not specified"))
    return errors


def validate_volume_devices(
    devices: Sequence[ReadOnlyObject], at: str, container: ReadOnlyObject, volumes: Volumes
) -> list[FieldError]:
    """Validate raw devices against the pod's volumes and the container's mounts."""
    mounts = {mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts", ())}
    errors: list[FieldError] = []
    mount_paths = set(mounts.values())
    seen_names: set[str] = set()
    seen_paths: set[str] = set()
    for i, device in enumerate(devices):
        here, name, path = f"{at}[{i}]", device.get("name", ""), device.get("devicePath", "")
        errors += _validate_device_name(name, here, volumes, seen_names)
        if not path:
            errors.append(required(f"{here}.devicePath"))
        if path in seen_paths:
            errors.append(invalid(f"{here}.devicePath", path, "must be unique"))
        if validate_path_no_backsteps(path, here):
            errors.append(invalid(f"{here}.devicePath", path, "can not contain backsteps ('..')"))
        else:
            seen_paths.add(path)
        errors += _validate_not_taken(mounts, mount_paths, name, path, f"{here}.devicePath", "volumeMounts")
        if name:
            seen_names.add(name)
    return errors


def _validate_device_name(name: str, at: str, volumes: Volumes, seen: set[str]) -> list[FieldError]:
    errors = []
    if not name:
        errors.append(required(f"{at}.name"))
    if name in seen:
        errors.append(invalid(f"{at}.name", name, "must be unique"))
    volume = volumes.get(name)
    if volume is None:
        errors.append(not_found(f"{at}.name", name))
    elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
        text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        errors.append(invalid(f"{at}.name", name, text))
    return errors
