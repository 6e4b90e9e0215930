"""persistentvolume-binder-controller, volumes: sets phases of volumes, releases and reclaims them.

upstream 1.36: pkg/controller/volume/persistentvolume/pv_controller.go
"""

import re
from typing import ClassVar, Final

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult
from mockkube.controllers.volume.bindings import CLAIM, MIGRATED_TO, PROVISIONED_BY, VOLUME, VolumeBindings
from mockkube.matching.csi_migration import migration_of
from mockkube.matching.volumes import has_annotation
from mockkube.runtime.work_queue import WorkQueue

_IN_TREE: Final = "kubernetes.io/"
_HOST_PATH: Final = re.compile("/tmp/.+")  # noqa: S108 - upstream's own rule of what a deleter may touch
_NO_RECYCLER: Final = "No recycler plugin found for the volume!"
_MODES: Final = "due to incompatible volumeMode."
_NO_DELETER: Final = "no deletable volume plugin matched"


class VolumeController(Controller):
    """Controller of volumes; keys are volumes. Claims to be bound or lost are queued for `ClaimBinder`."""

    name: ClassVar[str] = "persistentvolume-binder-controller/volumes"
    event_source: ClassVar[str] = "persistentvolume-controller"
    queue_name: ClassVar[str] = "volumes"

    def __init__(self, dependencies: ControllerDependencies, bindings: VolumeBindings, claims: WorkQueue[Key]) -> None:
        super().__init__(dependencies)
        self.watched_informer(VOLUME, self._on_volume_change)
        self.watched_informer(CLAIM, self._on_claim_change)
        self._bindings, self._claim_queue = bindings, claims

    def _on_volume_change(self, change: ObjectChange) -> None:
        reference = change.object["spec"].get("claimRef")
        if change.type is not WatchEventType.DELETED:
            self.work_queue.add(key_of(change.object))
        elif reference is not None:
            self._claim_queue.add(Key(reference.get("namespace", ""), reference.get("name", "")))

    def _on_claim_change(self, change: ObjectChange) -> None:
        name = change.object["spec"].get("volumeName")
        if change.type is WatchEventType.DELETED and name:
            self.work_queue.add(Key("", name))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Update the phase of a volume, and reclaim it if its claim is gone."""
        volume = self._bindings.volumes.get(key)
        if volume is None:
            return DONE
        if not volume["spec"].get("claimRef", {}).get("uid"):
            await self._bindings.set_phase(volume, "Available")
            return DONE
        claim = await self._find_claim(volume)
        if claim is None:
            await self._release_and_reclaim(volume)
        elif not claim["spec"].get("volumeName"):
            self._queue_unbound_claim(volume, claim)
        elif claim["spec"]["volumeName"] == key.name:
            await self._bindings.set_phase(volume, "Bound")
        # Provisioned for a claim that was bound to another volume meanwhile; no other claim can use it.
        elif has_annotation(volume, PROVISIONED_BY) and _reclaim_policy(volume) == "Delete":
            await self._release_and_reclaim(volume)
        else:
            await self._bindings.unbind(volume)
        return DONE

    async def _find_claim(self, volume: ReadOnlyObject) -> ReadOnlyObject | None:
        """Return the claim a volume is bound to; a missing one is looked up on the server."""
        reference = volume["spec"]["claimRef"]
        key = Key(reference["namespace"], reference["name"])
        claim = self._bindings.claims.get(key)
        # A released volume was checked before, so no request is needed again.
        if claim is None and volume.get("status", {}).get("phase") in ("Released", "Failed"):
            return None
        if claim is None or claim["metadata"]["uid"] != reference["uid"]:
            try:
                claim = await self.client.get(CLAIM, key)
            except NotFound:
                return None
        return claim if claim["metadata"]["uid"] == reference["uid"] else None

    def _queue_unbound_claim(self, volume: ReadOnlyObject, claim: ReadOnlyObject) -> None:
        """Queue the claim that a volume was provisioned or reserved for."""
        modes = [obj["spec"].get("volumeMode", "Filesystem") for obj in (volume, claim)]
        if modes[0] == modes[1]:
            self._claim_queue.add(key_of(claim))
            return
        claim_name, volume_name = claim["metadata"]["name"], volume["metadata"]["name"]
        volume_message = f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{claim_name}" {_MODES}'
        claim_message = f'Cannot bind PersistentVolume "{volume_name}" to requested PersistentVolumeClaim {_MODES}'
        self.events.record(volume, "Warning", "VolumeMismatch", volume_message)
        self.events.record(claim, "Warning", "VolumeMismatch", claim_message)

    async def _release_and_reclaim(self, volume: ReadOnlyObject) -> None:
        """Set phase Released, then retain, recycle or delete the volume by its policy."""
        if volume.get("status", {}).get("phase") not in ("Released", "Failed"):
            volume = await self._bindings.set_phase(volume, "Released")
        # The CSI driver's provisioner deletes migrated volumes.
        if volume["metadata"].get("annotations", {}).get(MIGRATED_TO):
            return
        match _reclaim_policy(volume):
            case "Retain":
                return
            case "Recycle":
                # differs: upstream recycles host paths and NFS with a pod; here nobody can empty a volume
                await self._bindings.set_phase_with_event(volume, "Failed", "VolumeFailedRecycle", _NO_RECYCLER)
            case "Delete":
                await self._delete_volume(volume)
            case _:
                message = "Volume has unrecognized PersistentVolumeReclaimPolicy"
                await self._bindings.set_phase_with_event(volume, "Failed", "VolumeUnknownReclaimPolicy", message)

    async def _delete_volume(self, volume: ReadOnlyObject) -> None:
        if _is_deleted_externally(volume):
            return
        reason = _deletion_error(volume)
        if reason:
            await self._bindings.set_phase_with_event(volume, "Failed", "VolumeFailedDelete", reason)
        else:
            await self.client.delete(VOLUME, key_of(volume))


def _reclaim_policy(volume: ReadOnlyObject) -> str:
    policy: str = volume["spec"].get("persistentVolumeReclaimPolicy", "")
    return policy


def _is_deleted_externally(volume: ReadOnlyObject) -> bool:
    """Return whether an external provisioner deletes the volume."""
    by = volume["metadata"].get("annotations", {}).get(PROVISIONED_BY, "")
    if by:
        return not by.startswith(_IN_TREE)
    return has_annotation(volume, MIGRATED_TO) or "csi" in volume["spec"]


def _deletion_error(volume: ReadOnlyObject) -> str:
    """Return why no plugin can delete the volume's storage; empty if the volume can be deleted."""
    by = volume["metadata"].get("annotations", {}).get(PROVISIONED_BY, "")
    if by:
        return f"no volume plugin matched name: {by}"
    spec = volume["spec"]
    if "hostPath" not in spec or migration_of(spec) is not None:
        return f'error getting deleter volume plugin for volume "{volume["metadata"]["name"]}": {_NO_DELETER}'
    path = spec["hostPath"].get("path", "")
    return "" if _HOST_PATH.search(path) else f"host_path deleter only supports /tmp/.+ but received provided {path}"
