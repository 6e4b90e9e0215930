"""fake-provisioner: provisions and deletes volumes for storage classes of provisioner `mockkube.dev/fake`.

It acts like an external provisioner, the sidecar of a CSI driver, on the annotations that the volume binder writes. Its
volumes hold no data. differs: upstream's controller manager has no such controller.
"""

from typing import ClassVar, Final

from mockkube.api.errors import AlreadyExists, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.events import reference_to
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.controller import DONE, RESYNC, Controller, ControllerDependencies, ReconcileResult
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp
from mockkube.controllers.volume.bindings import CLAIM, PROVISIONED_BY, PROVISIONER, VOLUME
from mockkube.controllers.volume.protection import without_finalizer
from mockkube.controllers.volume.volume_choice import waits_for_consumer
from mockkube.matching.volumes import SELECTED_NODE, has_annotation, storage_class_of

PROVISIONER_NAME: Final = "mockkube.dev/fake"
_DRIVER: Final = "fake.mockkube.dev"
_FINALIZER: Final = "external-provisioner.volume.kubernetes.io/finalizer"
_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"


class FakeProvisioner(Controller):
    """Provisioner; keys are claims without a volume, and released volumes (without a namespace)."""

    name: ClassVar[str] = "fake-provisioner"
    event_source: ClassVar[str] = PROVISIONER_NAME

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.claims = self.watched_informer(CLAIM, self._on_claim_change)
        self.volumes = self.watched_informer(VOLUME, self._on_volume_change)
        self.classes = self.informer("StorageClass")
        self._default_class = dependencies.options.default_storage_class
        if self._default_class:
            self.work_queue.add(RESYNC)

    def _on_claim_change(self, change: ObjectChange) -> None:
        if change.type is not WatchEventType.DELETED and _needs_provisioning(change.object):
            self.work_queue.add(key_of(change.object))

    def _on_volume_change(self, change: ObjectChange) -> None:
        if change.type is not WatchEventType.DELETED and _is_released(change.object):
            self.work_queue.add(key_of(change.object))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Create the volume of a claim, or delete a released volume."""
        if key == RESYNC:
            await self._ensure_default_class()
        elif key.namespace:
            await self._provision(key)
        else:
            await self._delete_volume(key)
        return DONE

    async def _ensure_default_class(self) -> None:
        metadata = {"name": self._default_class, "annotations": {_DEFAULT: "true"}}
        storage_class: Object = {"metadata": metadata, "provisioner": PROVISIONER_NAME}
        try:
            await self.client.create("StorageClass", storage_class)
        except AlreadyExists:
            return

    async def _provision(self, key: Key) -> None:
        """Create the volume of a claim, with the events of an external provisioner."""
        claim = self.claims.get(key)
        storage_class = None if claim is None else self.classes.get(Key("", storage_class_of(claim)))
        if claim is None or storage_class is None or not _needs_provisioning(claim):
            return
        if waits_for_consumer(claim, storage_class) and not has_annotation(claim, SELECTED_NODE):
            return
        # The name derives from the claim's uid, so a retry cannot create a second volume.
        volume = new_volume(claim, storage_class)
        name = volume["metadata"]["name"]
        if self.volumes.get(Key("", name)) is not None:
            return
        message = f'External provisioner is provisioning volume for claim "{key}"'
        self.events.record(claim, "Normal", "Provisioning", message)
        try:
            await self.client.create(VOLUME, volume)
        except AlreadyExists:
            return
        self.events.record(claim, "Normal", "ProvisioningSucceeded", f"Successfully provisioned volume {name}")

    async def _delete_volume(self, key: Key) -> None:
        """Delete a released volume and remove its finalizer."""
        volume = self.volumes.get(key)
        if volume is None or not _is_released(volume):
            return
        try:
            # As external provisioners do: the volume is deleted first, and then released by removing the finalizer.
            if not has_deletion_timestamp(volume):
                await self.client.delete(VOLUME, key)
            volume = await self.client.get(VOLUME, key)
            if _FINALIZER in volume["metadata"].get("finalizers", ()):
                await self.client.update(VOLUME, without_finalizer(volume, _FINALIZER))
        except NotFound:
            return


def new_volume(claim: ReadOnlyObject, storage_class: ReadOnlyObject) -> Object:
    """Return the volume for a claim: of the requested size, with the claim as claimRef."""
    spec, name = claim["spec"], f"pvc-{claim['metadata']['uid']}"
    policy = storage_class.get("reclaimPolicy", "Delete")
    metadata: Object = {"name": name, "annotations": {PROVISIONED_BY: PROVISIONER_NAME}}
    if policy == "Delete":
        metadata["finalizers"] = [_FINALIZER]
    volume: Object = {
        "accessModes": spec.get("accessModes", []),
        "capacity": {"storage": spec["resources"]["requests"]["storage"]},
        "claimRef": reference_to(claim),
        "csi": {"driver": _DRIVER, "volumeHandle": name},
        "persistentVolumeReclaimPolicy": policy,
        "storageClassName": storage_class_of(claim),
        "volumeMode": spec.get("volumeMode", "Filesystem"),
    }
    if options := storage_class.get("mountOptions"):
        volume["mountOptions"] = options
    if attributes := spec.get("volumeAttributesClassName"):
        volume["volumeAttributesClassName"] = attributes
    return {"metadata": metadata, "spec": volume}


def _needs_provisioning(claim: ReadOnlyObject) -> bool:
    by = claim["metadata"].get("annotations", {}).get(PROVISIONER)
    return by == PROVISIONER_NAME and not claim["spec"].get("volumeName") and not has_deletion_timestamp(claim)


def _is_released(volume: ReadOnlyObject) -> bool:
    by = volume["metadata"].get("annotations", {}).get(PROVISIONED_BY)
    phase, policy = volume.get("status", {}).get("phase"), volume["spec"].get("persistentVolumeReclaimPolicy")
    return bool(by == PROVISIONER_NAME and phase == "Released" and policy == "Delete")
