"""VolumeAttachment: strategy, defaults, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, forbidden, invalid, required, too_long
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.persistent_volume_claim_validation import validate_access_modes
from mockkube.api.kinds.core.pod.volumes.defaults import default_persistent_volume_source
from mockkube.api.kinds.core.pod.volumes.sources import check_csi_persistent_volume
from mockkube.api.printers.accessors import name_of, string, truth
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Column, Printer, boolean_column, text_column
from mockkube.api.quantities.rounding import round_up_resource_list
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.validation.formats import validate_csi_driver_name, validate_subdomain
from mockkube.api.validation.internal_form import InternalShape, to_internal
from mockkube.api.validation.status_metadata import reset_metadata_for_status
from mockkube.features.capabilities import Capabilities


def default_volume_attachment(attachment: Object, caps: Capabilities) -> None:
    """Default an inline volume."""
    # upstream 1.36: pkg/apis/storage/v1/zz_generated.defaults.go
    volume = attachment.get("spec", {}).get("source", {}).get("inlineVolumeSpec")
    if volume:
        round_up_resource_list(volume.get("capacity"))
        default_persistent_volume_source(volume)


ATTACHMENT_METADATA_BYTES_MAX: Final = 256 * 1024
ERROR_MESSAGE_BYTES_MAX: Final = 1024
_SOURCE: Final[InternalShape] = (
    ("PersistentVolumeName", "persistentVolumeName", None),
    ("InlineVolumeSpec", "inlineVolumeSpec", None),
)
_SPEC: Final[InternalShape] = (
    ("Attacher", "attacher", ""),
    ("Source", "source", _SOURCE),
    ("NodeName", "nodeName", ""),
)
_ONE_SOURCE_DETAIL: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
_FORBIDDEN_INLINE_FIELDS: Final = ("claimRef", "capacity")
_ERROR_FIELDS: Final = ("attachError", "detachError")


class VolumeAttachmentStrategy(StatusStrategy):
    """Strategy of VolumeAttachment; its spec is immutable."""

    tracks_generation = False
    allow_unconditional_update = False

    def empty_status(self) -> Object:
        """Return the status of a new attachment: not attached."""
        return {"attached": False}

    def prepare_for_status_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored spec and metadata; drop error codes if their gate is off."""
        super().prepare_for_status_update(new, old, context)
        reset_metadata_for_status(new, old)
        if context.caps.enabled("MutableCSINodeAllocatableCount"):
            return
        for name in _ERROR_FIELDS:
            error, before = new["status"].get(name), (old.get("status") or {}).get(name) or {}
            if error and "errorCode" not in before:
                error.pop("errorCode", None)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate spec and status."""
        spec = obj["spec"]
        source = spec.get("source") or {}
        errors = validate_csi_driver_name(spec.get("attacher", ""), "spec.attacher")
        errors += _validate_source(source)
        errors += validate_subdomain(spec.get("nodeName", ""), "spec.nodeName")
        errors += _validate_status(obj.get("status") or {})
        # Upstream checks the form of the name after everything else, in its validation for v1.
        if source.get("persistentVolumeName") is not None:
            errors += validate_subdomain(source["persistentVolumeName"], "spec.source.persistentVolumeName")
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, and reject a changed spec."""
        errors = self.validate(new, context)
        if new["spec"] != old["spec"]:
            errors.append(invalid("spec", to_internal(new["spec"], _SPEC), "field is immutable"))
        return errors


def _validate_source(source: ReadOnlyObject) -> list[FieldError]:
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        return [required("spec.source", _ONE_SOURCE_DETAIL)]
    if name is not None and inline is not None:
        return [forbidden("spec.source", _ONE_SOURCE_DETAIL)]
    if name == "":
        return [required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")]
    return _validate_inline_volume(inline, "spec.source.inlineVolumeSpec") if inline is not None else []


def _validate_inline_volume(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate an inline volume, which must be a CSI volume."""
    context = "in the context of inline volumes"
    # Inline volumes come from migrated in-tree drivers: they have no claim, and capacity has no meaning.
    errors = [
        forbidden(f"{at}.{name}", f"may not be specified {context}")
        for name in _FORBIDDEN_INLINE_FIELDS
        if spec.get(name)
    ]
    if spec.get("csi") is None:
        errors.append(required(f"{at}.csi", f"has to be specified {context}"))
    modes = spec.get("accessModes") or []
    errors += validate_access_modes(modes, f"{at}.accessModes") if modes else [required(f"{at}.accessModes")]
    return errors + (check_csi_persistent_volume(spec["csi"], f"{at}.csi") if spec.get("csi") is not None else [])


def _validate_status(status: ReadOnlyObject) -> list[FieldError]:
    metadata = status.get("attachmentMetadata") or {}
    errors = []
    if sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items()) > ATTACHMENT_METADATA_BYTES_MAX:
        errors.append(too_long("status.attachmentMetadata", ATTACHMENT_METADATA_BYTES_MAX))
    for name in _ERROR_FIELDS:
        error = status.get(name) or {}
        if len(error.get("message", "").encode()) > ERROR_MESSAGE_BYTES_MAX:
            # upstream 1.36 prints the limit of the metadata here.
            errors.append(too_long(f"status.{name}.message", ATTACHMENT_METADATA_BYTES_MAX))
        code = error.get("errorCode")
        if code is not None and code < 0:
            errors.append(invalid(f"status.{name}.errorCode", code, names.format_range_error(0, 2**31 - 1)))
    return errors


def volume_attachment_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a VolumeAttachment."""
    return [
        name_of(obj),
        string(obj, "spec", "attacher"),
        string(obj, "spec", "source", "persistentVolumeName"),
        string(obj, "spec", "nodeName"),
        truth(obj, "status", "attached"),
        format_age(obj, now),
    ]


VOLUME_ATTACHMENT = Printer(
    (
        NAME_COLUMN,
        Column("Attacher", format="name", description="The driver that attaches."),
        text_column("PV", "The volume."),
        text_column("Node", "The node it is attached to."),
        boolean_column("Attached", "Whether the volume is attached."),
        AGE_COLUMN,
    ),
    volume_attachment_cells,
)

KIND: Final = Kind(
    "storage.k8s.io",
    "VolumeAttachment",
    "volumeattachments",
    namespaced=False,
    subresources=(STATUS,),
    strategy=lambda _: VolumeAttachmentStrategy(),
    defaults={"v1": default_volume_attachment},
    printer=VOLUME_ATTACHMENT,
)
