"""Defaults of volume sources in pods and PersistentVolumes."""

from collections.abc import Callable, Mapping
from typing import Final

from mockkube.api.json_objects import Object
from mockkube.api.kinds.core.persistent_volume_claim import default_claim_spec
from mockkube.api.kinds.core.pod.containers.defaults import default_field_reference
from mockkube.api.kinds.core.pod.containers.images import default_pull_policy
from mockkube.features.capabilities import Capabilities

_FILE_MODE_DEFAULT: Final = 0o644


def default_volume(volume: Object, caps: Capabilities) -> None:
    """Default a volume of a pod; one without a source becomes an emptyDir."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, SetDefaults_Volume
    # `emptyDir` is the only source that may be left out.
    if len(volume) - ("name" in volume) == 0:
        volume["emptyDir"] = {}
        return
    for source, body in volume.items():
        fill = _POD_SOURCE_DEFAULTS.get(source)
        if fill is not None:
            fill(body)
        elif source == "image" and "pullPolicy" not in body and caps.enabled("ImageVolume"):
            body["pullPolicy"] = default_pull_policy(body.get("reference", ""))


def default_persistent_volume_source(source: Object) -> None:
    """Default the source in the spec of a PersistentVolume."""
    for name, fill in _SHARED_SOURCE_DEFAULTS.items():
        if name in source:
            fill(source[name])


def _default_host_path(body: Object) -> None:
    body.setdefault("type", "")


def _default_iscsi(body: Object) -> None:
    body.setdefault("iscsiInterface", "default")


def _default_rbd(body: Object) -> None:
    body.setdefault("pool", "rbd")
    body.setdefault("user", "admin")
    body.setdefault("keyring", "/etc/ceph/keyring")


def _default_azure_disk(body: Object) -> None:
    body.setdefault("cachingMode", "ReadWrite")
    body.setdefault("fsType", "ext4")
    body.setdefault("readOnly", False)
    body.setdefault("kind", "Shared")


def _default_scale_io(body: Object) -> None:
    body.setdefault("storageMode", "ThinProvisioned")
    body.setdefault("fsType", "xfs")


def _default_files(body: Object) -> None:
    body.setdefault("defaultMode", _FILE_MODE_DEFAULT)


def _default_downward_api(body: Object) -> None:
    body.setdefault("defaultMode", _FILE_MODE_DEFAULT)
    for item in body.get("items", ()):
        default_field_reference(item)


def _default_projected(body: Object) -> None:
    body.setdefault("defaultMode", _FILE_MODE_DEFAULT)
    for source in body.get("sources") or ():
        if "serviceAccountToken" in source:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
        if "downwardAPI" in source:
            for item in source["downwardAPI"].get("items", ()):
                default_field_reference(item)


def _default_ephemeral(body: Object) -> None:
    if "volumeClaimTemplate" in body:
        default_claim_spec(body["volumeClaimTemplate"].setdefault("spec", {}))


_SHARED_SOURCE_DEFAULTS: Final[Mapping[str, Callable[[Object], None]]] = {
    "hostPath": _default_host_path,
    "rbd": _default_rbd,
    "iscsi": _default_iscsi,
    "azureDisk": _default_azure_disk,
    "scaleIO": _default_scale_io,
}
_POD_SOURCE_DEFAULTS: Final[Mapping[str, Callable[[Object], None]]] = {
    **_SHARED_SOURCE_DEFAULTS,
    "secret": _default_files,
    "configMap": _default_files,
    "downwardAPI": _default_downward_api,
    "projected": _default_projected,
    "ephemeral": _default_ephemeral,
}
