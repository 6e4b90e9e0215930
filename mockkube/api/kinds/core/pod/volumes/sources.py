"""Validate volume sources of pods and persistent volumes.

A check takes the source and its field path. Errors come in upstream's order, under upstream's paths.
"""

# upstream 1.36: pkg/apis/core/validation/validation.go, validateVolumeSource and ValidatePersistentVolumeSpec

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.validation.formats import validate_csi_driver_name
from mockkube.api.validation.paths import (
    validate_file_mode,
    validate_local_descending_path,
    validate_local_non_reserved_path,
    validate_path_no_backsteps,
)
from mockkube.lazy_dataclasses import dataclass

SourceCheck = Callable[[ReadOnlyObject, str], list[FieldError]]
_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_PARTITION_DETAIL: Final = names.format_range_error(1, 255)
_LUN_DETAIL: Final = names.format_range_error(0, 255)
_MORE_THAN_ONE_DETAIL: Final = "may not specify more than 1 volume type"
# The patterns are upstream's: the dots after `eui` and `naa` match any character.
_ISCSI_NAME_FORMATS: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}
_TENANT_LENGTH_MAX: Final = 64
_HOST_PORT_DETAIL: Final = "must be a host:port pair or multiple pairs separated by commas"
_HOST_PORT_RE: Final = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*")
_AZURE_MANAGED_URI: Final = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
)
_AZURE_BLOB_URI: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


@dataclass(frozen=True, slots=True)
class VolumeSource:
    """Kind of volume source: its field, its check, and paths that differ from the field."""

    field: str
    check: SourceCheck
    at: str = ""
    second_at: str = ""
    # Checked even if it is not the first source: upstream lacks the test for a second source there.
    always_checked: bool = False


def validate_sources(holder: ReadOnlyObject, sources: Iterable[VolumeSource], at: str) -> list[FieldError]:
    """Validate the first source of a volume and reject all others."""
    errors: list[FieldError] = []
    given = 0
    for source in sources:
        value = holder.get(source.field)
        if value is None:
            continue
        given += 1
        if given == 1 or source.always_checked:
            errors += source.check(value, f"{at}.{source.at or source.field}")
        else:
            errors.append(forbidden(f"{at}.{source.second_at or source.field}", _MORE_THAN_ONE_DETAIL))
    return errors if given else [*errors, required(at, "must specify a volume type")]


def require_fields(*fields: str) -> SourceCheck:
    """Return a check that requires fields and nothing else."""

    def check(source: ReadOnlyObject, at: str) -> list[FieldError]:
        return [required(f"{at}.{name}") for name in fields if not source.get(name)]

    return check


def check_host_path(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate a hostPath source."""
    path = source.get("path")
    if not path:
        return [required(f"{at}.path")]
    errors = validate_path_no_backsteps(path, f"{at}.path")
    if source.get("type", "") not in _HOST_PATH_TYPES:
        errors.append(not_supported(f"{at}.type", source["type"], _HOST_PATH_TYPES))
    return errors


def check_git_repo(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate a gitRepo source."""
    errors = require_fields("repository")(source, at)
    return errors + validate_local_descending_path(source.get("directory", ""), f"{at}.directory")


def _disk_check(name: str) -> SourceCheck:
    def check(source: ReadOnlyObject, at: str) -> list[FieldError]:
        errors = require_fields(name)(source, at)
        partition = source.get("partition", 0)
        if not 0 <= partition <= 255:
            errors.append(invalid(f"{at}.partition", partition, _PARTITION_DETAIL))
        return errors

    return check


check_gce: Final = _disk_check("pdName")
check_aws: Final = _disk_check("volumeID")


def check_secret(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate a Secret source."""
    return require_fields("secretName")(source, at) + _check_file_items(source, at)


def check_config_map(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate a ConfigMap source."""
    return require_fields("name")(source, at) + _check_file_items(source, at)


def _check_file_items(source: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = validate_file_mode(source.get("defaultMode"), f"{at}.defaultMode")
    for i, item in enumerate(source.get("items", ())):
        errors += check_key_to_path(item, f"{at}.items[{i}]")
    return errors


def check_key_to_path(item: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the file that a key of a Secret or ConfigMap becomes."""
    errors = require_fields("key", "path")(item, at)
    errors += validate_local_non_reserved_path(item.get("path", ""), f"{at}.path")
    return errors + validate_file_mode(item.get("mode"), f"{at}.mode")


def check_nfs(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate an NFS source."""
    errors = require_fields("server", "path")(source, at)
    path = source.get("path", "")
    if not path.startswith("/"):
        errors.append(invalid(f"{at}.path", path, "must be an absolute path"))
    return errors


def check_iscsi(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the iSCSI source of a pod."""
    unknown_text = "must be valid format starting with iqn, eui, or naa"
    return require_fields("targetPortal")(source, at) + _check_iscsi_disk(source, at, unknown_text)


def make_iscsi_volume_check(name: str) -> SourceCheck:
    """Return the check of an iSCSI source for the persistent volume `name`."""

    def check(source: ReadOnlyObject, at: str) -> list[FieldError]:
        portal = source.get("targetPortal", "")
        errors = require_fields("targetPortal")(source, at)
        if text := find_iscsi_name_error(source, name):
            errors.append(invalid(f"{at}.targetportal", portal, text))
        return errors + _check_iscsi_disk(source, at, "must be valid format")

    return check


def find_iscsi_name_error(source: ReadOnlyObject, name: str) -> str:
    """Return the error for a volume name and portal that are too long together."""
    if "initiatorName" not in source or names.byte_length(f"{name}:{source.get('targetPortal', '')}") <= 64:
        return ""
    return (
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
        "if iscsi.initiatorName is specified."
    )


def _check_iscsi_disk(source: ReadOnlyObject, at: str, unknown_text: str) -> list[FieldError]:
    name = source.get("iqn", "")
    errors = _check_iscsi_name(name, f"{at}.iqn", unknown_text) if name else [required(f"{at}.iqn")]
    lun = source.get("lun", 0)
    if not 0 <= lun <= 255:
        errors.append(invalid(f"{at}.lun", lun, _LUN_DETAIL))
    secret = source.get("secretRef")
    if secret is None and (source.get("chapAuthDiscovery") or source.get("chapAuthSession")):
        errors.append(required(f"{at}.secretRef"))
    # Only upstream's check for persistent volumes, which uses this text, asks for the secret's name.
    if unknown_text == "must be valid format" and secret is not None and not secret.get("name"):
        errors.append(required(f"{at}.secretRef.name"))
    if "initiatorName" in source:
        errors += _check_iscsi_name(source["initiatorName"], f"{at}.initiatorname", unknown_text)
    return errors


def _check_iscsi_name(name: str, at: str, unknown_text: str) -> list[FieldError]:
    form = _ISCSI_NAME_FORMATS.get(name[:3])
    if form is None:
        return [invalid(at, name, unknown_text)]
    return [] if form.search(name) else [invalid(at, name, "must be valid format")]


def check_glusterfs_persistent_volume(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the GlusterFS source of a persistent volume."""
    errors = require_fields("endpoints", "path")(source, at)
    namespace = source.get("endpointsNamespace")
    if namespace is None:
        return errors
    here = f"{at}.endpointsNamespace"
    if not namespace:
        text = "if the endpointnamespace is set, it must be a valid namespace name"
        return [*errors, invalid(here, namespace, text)]
    return errors + [invalid(here, namespace, text) for text in names.check_dns_label(namespace)]


def check_flocker(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate a Flocker source."""
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID", "")
    errors = []
    if not name and not uuid:
        errors.append(required(at, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        text = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(invalid(at, "resource", text))
    if "/" in name:
        errors.append(invalid(f"{at}.datasetName", name, "must not contain '/'"))
    return errors


def check_quobyte(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate a Quobyte source."""
    registry = source.get("registry", "")
    errors = []
    if not registry:
        errors.append(required(f"{at}.registry", _HOST_PORT_DETAIL))
    elif names.byte_length(source.get("tenant", "")) > _TENANT_LENGTH_MAX:
        text = f"must be a UUID and may not exceed a length of {_TENANT_LENGTH_MAX} characters"
        errors.append(required(f"{at}.tenant", text))
    else:
        pairs = registry.split(",")
        errors += [
            invalid(f"{at}.registry", registry, _HOST_PORT_DETAIL)
            for pair in pairs
            if not _HOST_PORT_RE.fullmatch(pair)
        ]
    return errors + require_fields("volume")(source, at)


def check_fc(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate a Fibre Channel source."""
    targets, lun = source.get("targetWWNs", ()), source.get("lun")
    errors = []
    if not targets and not source.get("wwids"):
        errors.append(required(f"{at}.targetWWNs", "must specify either targetWWNs or wwids, but not both"))
    if targets and source.get("wwids"):
        text = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(invalid(f"{at}.targetWWNs", targets, text))
    # A LUN is needed only with target WWNs: a wwid identifies the disk itself.
    if not targets:
        return errors
    if lun is None:
        errors.append(required(f"{at}.lun", "lun is required if targetWWNs is specified"))
    elif not 0 <= lun <= 255:
        errors.append(invalid(f"{at}.lun", lun, _LUN_DETAIL))
    return errors


def check_flex(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate a FlexVolume source; its options must not use Kubernetes' domains."""
    errors = require_fields("driver")(source, at)
    options: Mapping[str, str] = source.get("options", {})
    for key in options:
        namespace = f".{key.partition('/')[0].lower()}"
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid(f"{at}.options[{key}]", key, text))
    return errors


def check_cinder(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the Cinder source of a pod."""
    return require_fields("volumeID")(source, at) + _check_secret_ref(source, at, ("name",))


def check_cinder_persistent_volume(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the Cinder source of a persistent volume."""
    return require_fields("volumeID")(source, at) + _check_secret_ref(source, at, ("name", "namespace"))


def _check_secret_ref(source: ReadOnlyObject, at: str, fields: Sequence[str]) -> list[FieldError]:
    secret = source.get("secretRef")
    return [] if secret is None else require_fields(*fields)(secret, f"{at}.secretRef")


def check_azure_file_persistent_volume(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the Azure File source of a persistent volume."""
    errors = require_fields("secretName", "shareName")(source, at)
    if source.get("secretNamespace") == "":
        errors.append(required(f"{at}.secretNamespace"))
    return errors


def check_azure_disk(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate an Azure Disk source."""
    errors = require_fields("diskName", "diskURI")(source, at)
    caching = ("None", "ReadOnly", "ReadWrite")
    if source.get("cachingMode", "None") not in caching:
        errors.append(not_supported(f"{at}.cachingMode", source["cachingMode"], caching))
    kind, uri = source.get("kind"), source.get("diskURI", "")
    kinds = ("Dedicated", "Managed", "Shared")
    if kind is not None and kind not in kinds:
        errors.append(not_supported(f"{at}.kind", kind, kinds))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        errors.append(not_supported(f"{at}.diskURI", uri, (_AZURE_MANAGED_URI,)))
    # Managed disks are named by resource id, all others by the URL of a blob.
    if kind not in (None, "Managed") and not uri.startswith("https://"):
        errors.append(not_supported(f"{at}.diskURI", uri, (_AZURE_BLOB_URI,)))
    return errors


def check_local(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate a local source."""
    path = source.get("path")
    return validate_path_no_backsteps(path, f"{at}.path") if path else [required(f"{at}.path")]


def check_storage_os(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the StorageOS source of a pod."""
    return _check_storage_os_names(source, at) + _check_secret_ref(source, at, ("name",))


def check_storage_os_persistent_volume(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the StorageOS source of a persistent volume."""
    return _check_storage_os_names(source, at) + _check_secret_ref(source, at, ("name", "namespace"))


def _check_storage_os_names(source: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = require_fields("volumeName")(source, at)
    for field in ("volumeName", "volumeNamespace"):
        if name := source.get(field):
            errors += [invalid(f"{at}.{field}", name, text) for text in names.check_dns_label(name)]
    return errors


def check_csi(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the inline CSI source of a pod."""
    errors = validate_csi_driver_name(source.get("driver", ""), f"{at}.driver")
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return errors
    name = secret.get("name")
    if not name:
        return [*errors, required(f"{at}.nodePublishSecretRef.name")]
    # The path lacks `nodePublishSecretRef`, as upstream's does.
    return errors + [invalid(f"{at}.name", name, text) for text in names.check_dns_subdomain(name)]


def check_csi_persistent_volume(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the CSI source of a persistent volume."""
    errors = validate_csi_driver_name(source.get("driver", ""), f"{at}.driver")
    errors += require_fields("volumeHandle")(source, at)
    for field in _CSI_SECRET_FIELDS:
        if field in source:
            errors += _check_secret_reference(source[field], f"{at}.{field}")
    return errors


_CSI_SECRET_FIELDS: Final = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def _check_secret_reference(secret: ReadOnlyObject, at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field, check in (("name", names.check_dns_subdomain), ("namespace", names.check_dns_label)):
        if value := secret.get(field):
            errors += [invalid(f"{at}.{field}", value, text) for text in check(value)]
        else:
            errors.append(required(f"{at}.{field}"))
    return errors
