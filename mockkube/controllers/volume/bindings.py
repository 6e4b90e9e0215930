"""Volume bindings: volumes and claims with own writes, and the writes that bind and unbind them.

upstream 1.36: pkg/controller/volume/persistentvolume/pv_controller.go
"""

from collections.abc import Sequence
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.informer import Informer
from mockkube.client.protocol import Client
from mockkube.controllers.framework.write_through_cache import WriteThroughCache
from mockkube.features.capabilities import Capabilities
from mockkube.matching.volumes import BIND_COMPLETED, BOUND_BY_CONTROLLER, bind_to_claim, has_annotation

CLAIM: Final = "PersistentVolumeClaim"
VOLUME: Final = "PersistentVolume"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
MIGRATED_TO: Final = "pv.kubernetes.io/migrated-to"
PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
PROVISIONER_BETA: Final = "volume.beta.kubernetes.io/storage-provisioner"
ATTRIBUTES_GATE: Final = "VolumeAttributesClass"
_PRE_RESIZE: Final = "volume.alpha.kubernetes.io/pre-resize-capacity"


class VolumeBindings:
    """Newest known volumes and claims, and the writes that both halves of the binder share."""

    def __init__(
        self, client: Client, events: EventRecorder, capabilities: Capabilities, volumes: Informer, claims: Informer
    ) -> None:
        self.client, self.events = client, events
        self.volumes, self.claims = WriteThroughCache(volumes), WriteThroughCache(claims)
        self.has_attributes_classes = capabilities.enabled(ATTRIBUTES_GATE)

    async def write_claim(self, claim: Object, *, status: bool = False) -> ReadOnlyObject:
        """Update a claim, or its status."""
        return self.claims.record_write(await self.client.update(CLAIM, claim, subresource="status" if status else ""))

    async def write_volume(self, volume: Object, *, status: bool = False) -> ReadOnlyObject:
        """Update a volume, or its status."""
        return self.volumes.record_write(
            await self.client.update(VOLUME, volume, subresource="status" if status else "")
        )

    async def set_phase(self, volume: ReadOnlyObject, phase: str, message: str = "") -> ReadOnlyObject:
        """Set the phase of a volume if it differs."""
        status = volume.get("status", {})
        if status.get("phase") == phase:
            return volume
        changed: Object = {**status, "phase": phase, "message": message}
        return await self.write_volume({**volume, "status": changed}, status=True)

    async def set_phase_with_event(self, volume: ReadOnlyObject, phase: str, reason: str, message: str) -> None:
        """Set the phase of a volume and record an event, if the phase differs."""
        if volume.get("status", {}).get("phase") != phase:
            written = await self.set_phase(volume, phase, message)
            self.events.record(written, "Warning", reason, message)

    async def set_claim_phase(
        self, claim: ReadOnlyObject, phase: str, volume: ReadOnlyObject | None = None
    ) -> ReadOnlyObject:
        """Set phase, access modes and capacity of a claim if they differ; `volume` is its volume."""
        old = claim.get("status", {})
        new = _unbound_status(old, phase) if volume is None else self._bound_status(old, phase, volume)
        return claim if new == old else await self.write_claim({**claim, "status": new}, status=True)

    async def mark_lost(self, claim: ReadOnlyObject, reason: str, message: str) -> None:
        """Set a claim's phase to Lost and record an event, unless it is Lost."""
        if claim.get("status", {}).get("phase") != "Lost":
            written = await self.set_claim_phase(claim, "Lost")
            self.events.record(written, "Warning", reason, message)

    def _bound_status(self, old: ReadOnlyObject, phase: str, volume: ReadOnlyObject) -> Object:
        spec = volume["spec"]
        new: Object = {**old, "phase": phase, "accessModes": spec.get("accessModes", [])}
        # As upstream, capacity is taken over once: later it is the business of the resizer.
        if old.get("phase") != phase:
            _set_capacity(new, volume)
        attributes = spec.get("volumeAttributesClassName")
        becomes_bound = old.get("phase") == "Pending" and phase == "Bound"
        if self.has_attributes_classes and becomes_bound and attributes != old.get("currentVolumeAttributesClassName"):
            new["currentVolumeAttributesClassName"] = attributes
        return new

    async def bind(self, volume: ReadOnlyObject, claim: ReadOnlyObject) -> None:
        """Bind volume and claim to each other, the volume first; skip writes that are done already."""
        # The volume comes first: its claimRef reserves it, so a crash before the claim is written leaves a state that
        # can be completed.
        changed = bind_to_claim(volume, claim)
        if changed is not None:
            volume = await self.write_volume(changed)
        volume = await self.set_phase(volume, "Bound")
        claim = await self._bind_claim_to_volume(claim, volume["metadata"]["name"])
        await self.set_claim_phase(claim, "Bound", volume)

    async def _bind_claim_to_volume(self, claim: ReadOnlyObject, name: str) -> ReadOnlyObject:
        wanted, marks = dict(claim["spec"]), {}
        if claim["spec"].get("volumeName", "") != name:
            wanted["volumeName"] = name
            # Marks a choice of the controller, which may be undone; a volume that the user named stays.
            marks[BOUND_BY_CONTROLLER] = "yes"
        marks[BIND_COMPLETED] = "yes"
        missing = {mark: value for mark, value in marks.items() if not has_annotation(claim, mark)}
        if wanted == claim["spec"] and not missing:
            return claim
        return await self.write_claim({**annotate(claim, missing), "spec": wanted})

    async def unbind(self, volume: ReadOnlyObject) -> None:
        """Remove a volume's claim; one pre-bound by a user stays reserved for a claim of that name."""
        spec, metadata = dict(volume["spec"]), dict(volume["metadata"])
        if has_annotation(volume, BOUND_BY_CONTROLLER):
            del spec["claimRef"]
            metadata["annotations"] = without_fields(metadata["annotations"], BOUND_BY_CONTROLLER)
        else:
            spec["claimRef"] = without_fields(spec["claimRef"], "uid")
        written = await self.write_volume({**volume, "metadata": metadata, "spec": spec})
        await self.set_phase(written, "Available")

    async def set_claim_provisioner(self, claim: ReadOnlyObject, provisioner: str) -> ReadOnlyObject:
        """Annotate a claim with its provisioner."""
        if claim["metadata"].get("annotations", {}).get(PROVISIONER) == provisioner:
            return claim
        return await self.write_claim(annotate(claim, {PROVISIONER_BETA: provisioner, PROVISIONER: provisioner}))


def annotate(obj: ReadOnlyObject, annotations: ReadOnlyObject) -> Object:
    """Return an object with annotations added."""
    if not annotations:
        return dict(obj)
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **annotations}}}


def without_fields(obj: ReadOnlyObject, *names: str) -> Object:
    """Return an object without some of its fields."""
    return {name: value for name, value in obj.items() if name not in names}


def _unbound_status(old: ReadOnlyObject, phase: str) -> Object:
    return {**without_fields(old, "accessModes", "capacity", "currentVolumeAttributesClassName"), "phase": phase}


def _set_capacity(status: Object, volume: ReadOnlyObject) -> None:
    capacity = volume["spec"].get("capacity", {})
    before_resize = volume["metadata"].get("annotations", {}).get(_PRE_RESIZE)
    if before_resize is not None:
        status["capacity"] = {**status.get("capacity", {}), "storage": before_resize}
    elif not _is_same_quantity(status.get("capacity", {}).get("storage"), capacity.get("storage")):
        status["capacity"] = capacity


def _is_same_quantity(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and parse(one) == parse(other)


def access_modes(volume: ReadOnlyObject) -> Sequence[str]:
    """Return the access modes of a volume, each once, in upstream's order."""
    present = volume["spec"].get("accessModes", ())
    order = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
    return [mode for mode in order if mode in present]
