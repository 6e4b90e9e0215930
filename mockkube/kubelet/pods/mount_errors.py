"""Volumes that cannot be mounted because the object that they are made from does not exist."""

from collections.abc import Mapping
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.containers.volumes import VolumeError, VolumeSources, build_volumes

_OBJECT_VOLUMES: Final = ("configMap", "secret", "projected")


def find_mount_error(pod: ReadOnlyObject, start: ContainerStart) -> str | None:
    """Return why a volume of a pod cannot be mounted, None if all can; volumes of a pod that has begun stay mounted."""
    if start.lookup is None or _has_begun(pod):
        return None
    for volume in pod["spec"].get("volumes") or ():
        if not any(field in volume for field in _OBJECT_VOLUMES):
            continue
        only: Mapping[str, object] = {**pod, "spec": {**pod["spec"], "volumes": [volume]}}
        try:
            build_volumes(only, VolumeSources(start.lookup, start.make_token))
        except VolumeError as error:
            return f'MountVolume.SetUp failed for volume "{volume["name"]}" : {error}'
    return None


def _has_begun(pod: ReadOnlyObject) -> bool:
    """Return whether a container of the pod has started."""
    status = pod.get("status") or {}
    listed = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    return any(one.get("containerID") for one in listed)
