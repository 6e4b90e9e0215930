"""persistentvolume-binder-controller, claims: binds each claim to a volume, or requests one from a provisioner.

upstream 1.36: pkg/controller/volume/persistentvolume/pv_controller.go
"""

from collections.abc import Iterable
from typing import ClassVar, Final

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.persistent_volume_claim_validation import STORAGE_CLASS_ANNOTATION
from mockkube.client.protocol import Key, key_of
from mockkube.controllers.framework.controller import (
    DONE,
    RESYNC,
    Controller,
    ControllerDependencies,
    ReconcileResult,
    Requeue,
)
from mockkube.controllers.pods.by_claim import pods_by_claim
from mockkube.controllers.volume.bindings import CLAIM, VOLUME, VolumeBindings
from mockkube.controllers.volume.volume_choice import (
    find_best_match,
    find_default_class,
    find_mismatch,
    waits_for_consumer,
)
from mockkube.controllers.volume.volume_controller import VolumeController
from mockkube.matching.csi_migration import migration_of_plugin
from mockkube.matching.pods import is_finished
from mockkube.matching.volumes import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    ClaimRequirements,
    SearchConditions,
    has_annotation,
    is_bound_to_claim,
    storage_class_of,
)

IN_TREE: Final = "kubernetes.io/"
_NO_CLASS: Final = "no persistent volumes available for this claim and no storage class is set"
_LOST_REFERENCE: Final = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
_LOST_VOLUME: Final = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
_MISBOUND: Final = "Two claims are bound to the same volume, this one is bound incorrectly"
_EXTERNAL: Final = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
    "administrator. If volume creation is delayed, please verify that the provisioner is running and correctly "
    "registered."
)


class ClaimBinder(Controller):
    """Controller of claims; keys are claims. All claims are queued again periodically."""

    name: ClassVar[str] = "persistentvolume-binder-controller"
    event_source: ClassVar[str] = "persistentvolume-controller"
    queue_name: ClassVar[str] = "claims"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        claims, volumes = self.watched_informer(CLAIM), self.informer(VOLUME)
        self.bindings = VolumeBindings(self.client, self.events, dependencies.capabilities, volumes, claims)
        self.classes = self.informer("StorageClass")
        self._pods_by_claim = pods_by_claim(self.informer("Pod"))
        self.volume_controller = VolumeController(dependencies, self.bindings, self.work_queue)
        self._sync_seconds = dependencies.options.volume_sync_seconds
        self.work_queue.add(RESYNC)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Bind a claim to a volume, or wait for one."""
        if key == RESYNC:
            return self._resync()
        claim = self.bindings.claims.get(key)
        if claim is None:
            return DONE
        # The annotation distinguishes a claim that was bound from one that only names its volume.
        if has_annotation(claim, BIND_COMPLETED):
            await self._sync_bound_claim(claim)
        elif name := claim["spec"].get("volumeName"):
            await self._sync_claim_with_volume(claim, name)
        else:
            await self._sync_unbound_claim(claim)
        return DONE

    def _resync(self) -> ReconcileResult:
        # A claim is not queued when a volume that would fit appears; upstream resyncs every 15 s for this, too.
        for claim in self.bindings.claims.all():
            self.work_queue.add(key_of(claim))
        for volume in self.bindings.volumes.all():
            self.volume_controller.work_queue.add(key_of(volume))
        return Requeue(after=self._sync_seconds)

    def _record_event(self, claim: ReadOnlyObject, event_type: str, reason: str, message: str) -> None:
        self.events.record(claim, event_type, reason, message)

    async def _sync_bound_claim(self, claim: ReadOnlyObject) -> None:
        name = claim["spec"].get("volumeName")
        volume = self.bindings.volumes.get(Key("", name)) if name else None
        if not name:
            await self.bindings.mark_lost(claim, "ClaimLost", _LOST_REFERENCE)
        elif volume is None:
            await self.bindings.mark_lost(claim, "ClaimLost", _LOST_VOLUME)
        elif volume["spec"].get("claimRef", {}).get("uid", claim["metadata"]["uid"]) == claim["metadata"]["uid"]:
            await self.bindings.bind(volume, claim)
        else:
            await self.bindings.mark_lost(claim, "ClaimMisbound", _MISBOUND)

    async def _sync_claim_with_volume(self, claim: ReadOnlyObject, name: str) -> None:
        """Bind a claim to the volume it names, if the volume is free or reserved for it."""
        volume = self.bindings.volumes.get(Key("", name))
        if volume is None:
            await self.bindings.set_claim_phase(claim, "Pending")
        elif "claimRef" not in volume["spec"]:
            reason = find_mismatch(volume, claim, attributes_classes=self.bindings.has_attributes_classes)
            if not reason:
                await self.bindings.bind(volume, claim)
                return
            self._record_event(
                claim, "Warning", "VolumeMismatch", f'Cannot bind to requested volume "{name}": {reason}'
            )
            await self.bindings.set_claim_phase(claim, "Pending")
        # The volume is reserved for this claim, by a user or by a binding that was interrupted.
        elif is_bound_to_claim(volume, claim):
            await self.bindings.bind(volume, claim)
        else:
            await self._reject_taken_volume(claim, volume)

    async def _reject_taken_volume(self, claim: ReadOnlyObject, volume: ReadOnlyObject) -> None:
        name, reference = volume["metadata"]["name"], volume["spec"]["claimRef"]
        self._record_event(claim, "Warning", "FailedBinding", f'volume "{name}" already bound to a different claim.')
        # This controller chose the volume itself, and nobody else should take it: it is an error that is retried.
        if has_annotation(claim, BOUND_BY_CONTROLLER):
            other = f"{reference.get('namespace', '')}/{reference.get('name', '')}"
            raise ApiError(
                f'invalid binding of claim "{key_of(claim)}" to volume "{name}": volume already claimed by "{other}"'
            )
        await self.bindings.set_claim_phase(claim, "Pending")

    async def _sync_unbound_claim(self, claim: ReadOnlyObject) -> None:
        """Bind a claim to the best matching volume, or wait for one."""
        storage_class = self._find_class(claim)
        delayed = waits_for_consumer(claim, storage_class)
        terms = SearchConditions(delayed=delayed, attributes_classes=self.bindings.has_attributes_classes)
        try:
            volume = find_best_match(ClaimRequirements.from_object(claim), self.bindings.volumes.all(), terms)
        except ValueError as error:
            raise ApiError(f'error finding PV for claim "{key_of(claim)}": {error}') from error
        if volume is not None:
            await self.bindings.bind(volume, claim)
        elif not await self._assign_default_class(claim):
            await self._wait_or_provision(claim, storage_class, delayed=delayed)

    def _find_class(self, claim: ReadOnlyObject) -> ReadOnlyObject | None:
        name = storage_class_of(claim)
        return self.classes.get(Key("", name)) if name else None

    async def _assign_default_class(self, claim: ReadOnlyObject) -> bool:
        """Set the default class on a claim without a class; return whether there was one."""
        if has_annotation(claim, STORAGE_CLASS_ANNOTATION) or claim["spec"].get("storageClassName") is not None:
            return False
        default = find_default_class(self.classes.list())
        if default is None:
            return False
        await self.bindings.write_claim(
            {**claim, "spec": {**claim["spec"], "storageClassName": default["metadata"]["name"]}}
        )
        return True

    async def _wait_or_provision(
        self, claim: ReadOnlyObject, storage_class: ReadOnlyObject | None, *, delayed: bool
    ) -> None:
        # With WaitForFirstConsumer the scheduler chooses the node first; provisioning starts with its annotation.
        if delayed and not has_annotation(claim, SELECTED_NODE):
            self._record_waiting_for_consumer(claim)
        elif storage_class_of(claim):
            await self._provision(claim, storage_class)
            return
        else:
            self._record_event(claim, "Normal", "FailedBinding", _NO_CLASS)
        await self.bindings.set_claim_phase(claim, "Pending")

    def _record_waiting_for_consumer(self, claim: ReadOnlyObject) -> None:
        pods = [pod for pod in self._pods_by_claim.get(str(key_of(claim))) if _is_unscheduled(pod)]
        names = [pod["metadata"]["name"] for pod in pods]
        if not names:
            message = "waiting for first consumer to be created before binding"
            self._record_event(claim, "Normal", "WaitForFirstConsumer", message)
            return
        waited_for = f"pods {','.join(names)}" if len(names) > 1 else f"pod {names[0]}"
        self._record_event(claim, "Normal", "WaitForPodScheduled", f"waiting for {waited_for} to be scheduled")

    async def _provision(self, claim: ReadOnlyObject, storage_class: ReadOnlyObject | None) -> None:
        """Request a volume from the provisioner of the claim's class."""
        if storage_class is None:
            message = f'storageclass.storage.k8s.io "{storage_class_of(claim)}" not found'
            self._record_event(claim, "Warning", "ProvisioningFailed", message)
            return
        provisioner: str = storage_class["provisioner"]
        migration = migration_of_plugin(provisioner)
        if migration is not None:
            provisioner = migration.driver
        # The plugin was removed from Kubernetes and has no CSI driver to migrate to.
        elif provisioner.startswith(IN_TREE):
            self._record_event(claim, "Warning", "ProvisioningFailed", f"no volume plugin matched name: {provisioner}")
            return
        # External provisioners act on this annotation.
        claim = await self.bindings.set_claim_provisioner(claim, provisioner)
        self._record_event(claim, "Normal", "ExternalProvisioning", _EXTERNAL.format(provisioner))


def _is_unscheduled(pod: ReadOnlyObject) -> bool:
    return not pod["spec"].get("nodeName") and not is_finished(pod)


def build(dependencies: ControllerDependencies) -> Iterable[Controller]:
    """Return the controller of claims and the controller of volumes."""
    binder = ClaimBinder(dependencies)
    yield binder
    yield binder.volume_controller
