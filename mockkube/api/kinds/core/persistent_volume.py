"""PersistentVolume: strategy, defaults and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.persistent_volume_claim_validation import is_attributes_class_enabled
from mockkube.api.kinds.core.persistent_volume_validation import (
    VolumeValidationOptions,
    persistent_volume_warnings,
    validate_mount_options,
    validate_volume_spec,
    validate_volume_update,
    volume_validation_options,
)
from mockkube.api.kinds.core.pod.volumes.defaults import default_persistent_volume_source
from mockkube.api.kinds.core.volume_columns import format_access_modes, format_phase, format_storage_class
from mockkube.api.printers.accessors import name_of, string, value_at
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, UNSET, Cell, Printer, text_column, wide_column
from mockkube.api.quantities.rounding import round_up_resource_list
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.times import render_time
from mockkube.api.validation.extensions import NO_EXTENSIONS, ValidationExtensions
from mockkube.api.validation.metadata import validate_metadata
from mockkube.features.capabilities import Capabilities


def default_persistent_volume(volume: Object, caps: Capabilities) -> None:
    """Default to a retained file system volume in phase Pending."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, SetDefaults_PersistentVolume
    volume.setdefault("status", {}).setdefault("phase", "Pending")
    spec = volume.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    round_up_resource_list(spec.get("capacity"))
    default_persistent_volume_source(spec)


_ATTRIBUTES_CLASS = "volumeAttributesClassName"


class PersistentVolumeStrategy(Strategy):
    """Strategy of PersistentVolume."""

    def __init__(self, extensions: ValidationExtensions = NO_EXTENSIONS) -> None:
        self.extensions = extensions

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Set phase Pending, with the present time."""
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": render_time(context.now)}
        if not is_attributes_class_enabled(context.caps):
            obj.get("spec", {}).pop(_ATTRIBUTES_CLASS, None)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status, or on the status subresource the stored spec."""
        if context.subresource == "status":
            new["spec"] = old.get("spec", {})
            _set_phase_transition_time(new.setdefault("status", {}), old.get("status", {}), context)
            return
        new["status"] = old.get("status", {})
        if not is_attributes_class_enabled(context.caps) and _ATTRIBUTES_CLASS not in old.get("spec", {}):
            new.get("spec", {}).pop(_ATTRIBUTES_CLASS, None)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec and the annotated mount options."""
        options = volume_validation_options(context.caps, self.extensions)
        return validate_volume_spec(obj, options) + validate_mount_options(obj)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the new volume, then the change."""
        if context.subresource == "status":
            # Upstream validates nothing else of a status.
            return [] if new["metadata"].get("resourceVersion") else [required("resourceVersion")]
        options = volume_validation_options(context.caps, self.extensions, old)
        volume_errors = _validate_volume(new, options)
        # Upstream's strategy validates the volume, and so does ValidatePersistentVolumeUpdate: its errors appear twice.
        return volume_errors + validate_mount_options(new) + volume_errors + validate_volume_update(new, old, options)

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about deprecated fields."""
        return [*persistent_volume_warnings(obj)]

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn as on creation; not of a status."""
        return [] if context.subresource == "status" else [*persistent_volume_warnings(new)]


def _validate_volume(volume: ReadOnlyObject, options: VolumeValidationOptions) -> list[FieldError]:
    return validate_metadata(volume, names.check_dns_subdomain, False) + validate_volume_spec(volume, options)


def _set_phase_transition_time(status: Object, before: ReadOnlyObject, context: StrategyContext) -> None:
    """Set lastPhaseTransitionTime when the phase changes, unless the client set it."""
    stored, since = before.get("lastPhaseTransitionTime"), status.get("lastPhaseTransitionTime")
    if before.get("phase") == status.get("phase"):
        if since is None and stored is not None:
            status["lastPhaseTransitionTime"] = stored
    elif since is None or since == stored:
        status["lastPhaseTransitionTime"] = render_time(context.now)


def persistent_volume_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PersistentVolume."""
    claim = [string(obj, "spec", "claimRef", key) for key in ("namespace", "name")]
    return [
        name_of(obj),
        string(obj, "spec", "capacity", "storage", missing="0"),
        format_access_modes(obj, "spec"),
        string(obj, "spec", "persistentVolumeReclaimPolicy"),
        format_phase(obj),
        "" if value_at(obj, "spec", "claimRef") is None else "/".join(claim),
        format_storage_class(obj),
        string(obj, "spec", "volumeAttributesClassName", missing=UNSET),
        string(obj, "status", "reason"),
        format_age(obj, now),
        string(obj, "spec", "volumeMode", missing=UNSET),
    ]


PERSISTENT_VOLUME = Printer(
    (
        NAME_COLUMN,
        text_column("Capacity", "Capacity of the volume."),
        text_column("Access Modes", "Access modes of the volume."),
        text_column("Reclaim Policy", "What happens to the volume when its claim is deleted."),
        text_column("Status", "Phase."),
        text_column("Claim", "The claim that the volume is bound to or reserved for."),
        text_column("StorageClass", "The storage class of the volume."),
        text_column("VolumeAttributesClass", "The class of the volume's mutable attributes."),
        text_column("Reason", "Reason of the status."),
        AGE_COLUMN,
        wide_column("VolumeMode", "Whether the volume is a file system or a raw block device."),
    ),
    persistent_volume_cells,
)

KIND: Final = Kind(
    "",
    "PersistentVolume",
    "persistentvolumes",
    namespaced=False,
    short_names=("pv",),
    subresources=(STATUS,),
    strategy=lambda dependencies: PersistentVolumeStrategy(dependencies.extensions),
    defaults={"v1": default_persistent_volume},
    printer=PERSISTENT_VOLUME,
)
