"""PersistentVolumeClaim: strategy, defaults and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.persistent_volume_claim_validation import (
    STORAGE_CLASS_ANNOTATION,
    claim_validation_options,
    is_attributes_class_enabled,
    validate_claim_spec,
    validate_claim_status,
    validate_claim_update,
)
from mockkube.api.kinds.core.pod.volumes.warnings import claim_spec_warnings
from mockkube.api.kinds.core.volume_columns import format_access_modes, format_phase, format_storage_class
from mockkube.api.printers.accessors import name_of, string
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, UNSET, Cell, Printer, text_column, wide_column
from mockkube.api.quantities.rounding import round_up_resource_list, round_up_resources
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.metadata import validate_metadata
from mockkube.features.capabilities import Capabilities


def default_claim(claim: Object, caps: Capabilities) -> None:
    """Default to a file system volume and phase Pending."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, SetDefaults_PersistentVolumeClaim
    status = claim.setdefault("status", {})
    status.setdefault("phase", "Pending")
    round_up_resource_list(status.get("capacity"))
    round_up_resource_list(status.get("allocatedResources"))
    default_claim_spec(claim.setdefault("spec", {}))


def default_claim_spec(spec: Object) -> None:
    """Default the spec of a claim or of a claim template."""
    spec.setdefault("volumeMode", "Filesystem")
    round_up_resources(spec.get("resources"))


_ATTRIBUTES_CLASS: Final = "volumeAttributesClassName"
_SOURCE_FIELDS: Final = ("kind", "name", "apiGroup")


class PersistentVolumeClaimStrategy(Strategy):
    """Strategy of PersistentVolumeClaim."""

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Set phase Pending and align `dataSource` with `dataSourceRef`."""
        obj["status"] = {"phase": "Pending"}
        _prepare_spec(obj.get("spec", {}), {}, context)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status, or on the status subresource the stored spec."""
        if context.subresource == "status":
            new["spec"] = old.get("spec", {})
            _drop_disabled_status(new.get("status", {}), old.get("status", {}), context)
            return
        new["status"] = old.get("status", {})
        _prepare_spec(new.get("spec", {}), old.get("spec", {}), context)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec."""
        return validate_claim_spec(obj.get("spec", {}), "spec", claim_validation_options(context.caps))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the new claim and the change, or the status."""
        options = claim_validation_options(context.caps, old)
        if context.subresource == "status":
            return validate_claim_status(new, options)
        # The generic update has validated the metadata already; upstream does so again, and reports its errors twice.
        errors = validate_metadata(new, names.check_dns_subdomain, True)
        errors += validate_claim_spec(new.get("spec", {}), "spec", options)
        return errors + validate_claim_update(new, old, options)

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about the deprecated annotation and fractional byte amounts."""
        warnings = []
        if STORAGE_CLASS_ANNOTATION in obj["metadata"].get("annotations", ()):
            text = 'deprecated since v1.8; use "storageClassName" attribute instead'
            warnings.append(f"metadata.annotations[{STORAGE_CLASS_ANNOTATION}]: {text}")
        return [*warnings, *claim_spec_warnings(obj.get("spec", {}), "spec")]

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn as on creation; not of a status."""
        return [] if context.subresource == "status" else self.warnings_on_create(new, context)


def _prepare_spec(spec: Object, before: ReadOnlyObject, context: StrategyContext) -> None:
    if not is_attributes_class_enabled(context.caps) and _ATTRIBUTES_CLASS not in before:
        spec.pop(_ATTRIBUTES_CLASS, None)
    other_namespace = spec.get("dataSourceRef", {}).get("namespace")
    if other_namespace and "dataSourceRef" not in before and not context.caps.enabled("CrossNamespaceVolumeDataSource"):
        del spec["dataSourceRef"]
    keep_source = "dataSource" in before or "dataSourceRef" in before or "dataSourceRef" in spec
    # A dataSource of another kind never worked and is dropped; dataSourceRef is the field that rejects it with an
    # error.
    if not keep_source and not _is_volume_or_snapshot(spec.get("dataSource", {})):
        spec.pop("dataSource", None)
    _sync_data_sources(spec)


def _is_volume_or_snapshot(source: ReadOnlyObject) -> bool:
    return (source.get("kind"), source.get("apiGroup") or "") in (
        ("PersistentVolumeClaim", ""),
        ("VolumeSnapshot", "snapshot.storage.k8s.io"),
    )


def _sync_data_sources(spec: Object) -> None:
    """Copy `dataSource` to `dataSourceRef` or the other way round, whichever is missing."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = {name: source[name] for name in _SOURCE_FIELDS if name in source}
    # A reference into another namespace has no equivalent in dataSource.
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {name: reference[name] for name in _SOURCE_FIELDS if name in reference}


def _drop_disabled_status(status: Object, before: ReadOnlyObject, context: StrategyContext) -> None:
    if is_attributes_class_enabled(context.caps):
        return
    for field in ("currentVolumeAttributesClassName", "modifyVolumeStatus"):
        if field not in before:
            status.pop(field, None)


def persistent_volume_claim_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PersistentVolumeClaim; capacity and modes appear once it is bound."""
    volume = string(obj, "spec", "volumeName")
    return [
        name_of(obj),
        format_phase(obj),
        volume,
        string(obj, "status", "capacity", "storage", missing="0") if volume else "",
        format_access_modes(obj, "status") if volume else "",
        format_storage_class(obj),
        string(obj, "spec", "volumeAttributesClassName", missing=UNSET),
        format_age(obj, now),
        string(obj, "spec", "volumeMode", missing=UNSET),
    ]


PERSISTENT_VOLUME_CLAIM = Printer(
    (
        NAME_COLUMN,
        text_column("Status", "Phase."),
        text_column("Volume", "The bound volume."),
        text_column("Capacity", "Capacity of the bound volume."),
        text_column("Access Modes", "Access modes of the bound volume."),
        text_column("StorageClass", "The requested storage class."),
        text_column("VolumeAttributesClass", "The class of the volume's mutable attributes."),
        AGE_COLUMN,
        wide_column("VolumeMode", "Whether a file system or a raw block device is requested."),
    ),
    persistent_volume_claim_cells,
)

KIND: Final = Kind(
    "",
    "PersistentVolumeClaim",
    "persistentvolumeclaims",
    short_names=("pvc",),
    subresources=(STATUS,),
    strategy=lambda _: PersistentVolumeClaimStrategy(),
    defaults={"v1": default_claim},
    printer=PERSISTENT_VOLUME_CLAIM,
)
