"""Defaults of storage.k8s.io kinds and PersistentVolumes."""

from typing import Final

from mockkube.api.defaults.resource_lists import round_up
from mockkube.api.kinds.core.pod.volumes.defaults import default_persistent_source
from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

_MISSING_DRIVERS: Final = Version(1, 36)
"""First version in which a driver can prevent scheduling to nodes without it; the gate is older."""


def default_persistent_volume(volume: Object, caps: Capabilities) -> None:
    """Default to a retained file system volume in phase Pending."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, SetDefaults_PersistentVolume
    volume.setdefault("status", {}).setdefault("phase", "Pending")
    spec = volume.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    round_up(spec.get("capacity"))
    default_persistent_source(spec)


def default_volume_attachment(attachment: Object, caps: Capabilities) -> None:
    """Fill in an inline volume."""
    # upstream 1.36: pkg/apis/storage/v1/zz_generated.defaults.go
    volume = attachment.get("spec", {}).get("source", {}).get("inlineVolumeSpec")
    if volume:
        round_up(volume.get("capacity"))
        default_persistent_source(volume)


def default_storage_class(storage_class: Object, caps: Capabilities) -> None:
    """Default to immediate binding and the reclaim policy Delete."""
    # upstream 1.36: pkg/apis/storage/v1/defaults.go
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def default_csi_driver(driver: Object, caps: Capabilities) -> None:
    """Default to attachment, persistent mode, and no pod information on mount."""
    spec = driver.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    spec.setdefault("podInfoOnMount", False)
    spec.setdefault("storageCapacity", False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec.setdefault("requiresRepublish", False)
    spec.setdefault("volumeLifecycleModes", ["Persistent"])
    if caps.enabled("SELinuxMountReadWriteOncePod"):
        spec.setdefault("seLinuxMount", False)
    if caps.version >= _MISSING_DRIVERS and caps.enabled("VolumeLimitScaling"):
        spec.setdefault("preventPodSchedulingIfMissing", False)
