"""Validate PersistentVolumeClaims and the claim templates of pods and stateful sets."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidatePersistentVolumeClaimSpec and what follows it

from collections.abc import Sequence
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.resources import is_native_resource, validate_resource_quantity
from mockkube.api.quantities.quantity import Quantity, parse
from mockkube.api.validation.internal_form import diff_internal_forms
from mockkube.api.validation.labels import is_invalid_selector, validate_label_selector, validate_labels
from mockkube.api.validation.metadata import IMMUTABLE, validate_annotations, validate_immutable
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

STORAGE_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
_RESIZE_STATUSES: Final = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)
_TEMPLATE_META: Final = ("annotations", "labels")
_IMMUTABLE_SPEC: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


@dataclass(frozen=True, slots=True)
class ClaimValidationOptions:
    """Validation options that follow from the gates and the stored claim."""

    attributes_class: bool = True
    recover_expansion: bool = True
    allow_invalid_selector: bool = False
    allow_invalid_api_group: bool = False


def is_attributes_class_enabled(caps: Capabilities) -> bool:
    """Return whether VolumeAttributesClass is enabled."""
    return caps.version >= Version(1, 36) or caps.enabled("VolumeAttributesClass")


def claim_validation_options(caps: Capabilities, old: ReadOnlyObject | None = None) -> ClaimValidationOptions:
    """Return the options for a new claim, or for an update of `old`."""
    attributes = is_attributes_class_enabled(caps)
    recovery = caps.version >= Version(1, 34) or caps.enabled("RecoverVolumeExpansionFailure")
    if old is None:
        return ClaimValidationOptions(attributes, recovery)
    spec, status = old.get("spec", {}), old.get("status", {})
    sources = (spec.get("dataSource", {}), spec.get("dataSourceRef", {}))
    return ClaimValidationOptions(
        attributes_class=attributes or "volumeAttributesClassName" in spec,
        recover_expansion=recovery or "allocatedResources" in status or "allocatedResourceStatuses" in status,
        allow_invalid_selector=is_invalid_selector(spec.get("selector")),
        # A stored claim may have an invalid apiGroup: older servers did not validate it.
        allow_invalid_api_group=any(source.get("apiGroup") is not None for source in sources),
    )


def validate_access_modes(modes: Sequence[str], at: str) -> list[FieldError]:
    """Validate access modes; ReadWriteOncePod excludes all others."""
    errors = [not_supported(at, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
    once = "ReadWriteOncePod"
    if once in modes and any(mode != once and mode in ACCESS_MODES for mode in modes):
        errors.append(forbidden(at, "may not use ReadWriteOncePod with other access modes"))
    return errors


def validate_claim_spec(spec: ReadOnlyObject, at: str, options: ClaimValidationOptions) -> list[FieldError]:
    """Validate the spec of a claim."""
    modes = spec.get("accessModes", ())
    errors = [] if modes else [required(f"{at}.accessModes", "at least 1 access mode is required")]
    if "selector" in spec:
        lenient = options.allow_invalid_selector
        errors += validate_label_selector(spec["selector"], f"{at}.selector", allow_invalid_values=lenient)
    errors += validate_access_modes(modes, f"{at}.accessModes")
    errors += _validate_storage(spec, f"{at}.resources[storage]")
    errors += validate_class_name(spec, "storageClassName", at)
    if "volumeMode" in spec and spec["volumeMode"] not in VOLUME_MODES:
        errors.append(not_supported(f"{at}.volumeMode", spec["volumeMode"], VOLUME_MODES))
    for field in ("dataSource", "dataSourceRef"):
        if field in spec:
            errors += _validate_data_source(spec[field], f"{at}.{field}", options)
    errors += _validate_sources_match(spec, at)
    if options.attributes_class:
        errors += validate_class_name(spec, "volumeAttributesClassName", at)
    return errors


def validate_class_name(spec: ReadOnlyObject, field: str, at: str) -> list[FieldError]:
    """Validate the name of a class, if there is one."""
    name = spec.get(field)
    return [invalid(f"{at}.{field}", name, text) for text in names.check_dns_subdomain(name)] if name else []


def _validate_storage(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    amount = spec.get("resources", {}).get("requests", {}).get("storage")
    if amount is None:
        return [required(at)]
    if parse(amount).sign <= 0:
        return [invalid(at, amount, "must be greater than zero")]
    return validate_resource_quantity("storage", amount, at)


def _validate_data_source(source: ReadOnlyObject, at: str, options: ClaimValidationOptions) -> list[FieldError]:
    kind, group = source.get("kind", ""), source.get("apiGroup") or ""
    errors = [required(f"{at}.{field}") for field in ("name", "kind") if not source.get(field)]
    if not group and kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(at, kind, text))
    if group and not options.allow_invalid_api_group:
        errors += [invalid(f"{at}.apiGroup", group, text) for text in names.check_dns_subdomain(group)]
    if namespace := source.get("namespace"):
        errors += [invalid(f"{at}.namespace", namespace, text) for text in names.check_dns_label(namespace)]
    return errors


def _validate_sources_match(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return []
    # Upstream passes the field path as the bad value; all its fields are private, so it prints as {}.
    if reference.get("namespace"):
        return [invalid(at, {}, "may not be specified when dataSourceRef.namespace is specified")]
    if any(source.get(field) != reference.get(field) for field in ("apiGroup", "kind", "name")):
        return [invalid(at, {}, "must match dataSourceRef")]
    return []


def validate_claim_template(template: ReadOnlyObject, at: str, options: ClaimValidationOptions) -> list[FieldError]:
    """Validate the claim template of an ephemeral volume."""
    meta = template.get("metadata", {})
    errors = validate_annotations(meta.get("annotations", {}), f"{at}.metadata.annotations")
    errors += validate_labels(meta.get("labels", {}), f"{at}.metadata.labels")
    for field, value in meta.items():
        if field not in _TEMPLATE_META and value is not None:
            # Upstream makes the path from Go's field name `UID` by lowering its first letter.
            name = "uID" if field == "uid" else field
            errors.append(forbidden(f"{at}.metadata.{name}", "cannot be set"))
    return errors + validate_claim_spec(template.get("spec", {}), f"{at}.spec", options)


def validate_claim_update(
    new: ReadOnlyObject, old: ReadOnlyObject, options: ClaimValidationOptions
) -> list[FieldError]:
    """Validate a change: the spec is immutable except requests and classes of bound claims."""
    errors = _validate_class_annotation(new, old)
    before, after = _with_mutable_fields_equal(new, old)
    if before != after:
        difference = diff_internal_forms("PersistentVolumeClaimSpec", before, after)
        errors.append(forbidden("spec", f"{_IMMUTABLE_SPEC}\n{difference}"))
    errors += _validate_request_decrease(new, old, options)
    spec, past = new.get("spec", {}), old.get("spec", {})
    errors += validate_immutable(spec.get("volumeMode"), past.get("volumeMode"), "volumeMode")
    if spec.get("volumeAttributesClassName") != past.get("volumeAttributesClassName"):
        errors += _validate_attributes_class_update(spec, old, options)
    return errors


def _storage_amount(obj: ReadOnlyObject, *path: str) -> Quantity:
    value: ReadOnlyObject = obj
    for field in path:
        value = value.get(field, {})
    return parse(value.get("storage", "0"))


def _validate_request_decrease(
    new: ReadOnlyObject, old: ReadOnlyObject, options: ClaimValidationOptions
) -> list[FieldError]:
    requested = _storage_amount(new, "spec", "resources", "requests")
    if requested >= _storage_amount(old, "spec", "resources", "requests"):
        return []
    at = "spec.resources.requests.storage"
    if not options.recover_expansion:
        return [forbidden(at, "field can not be less than previous value")]
    # After a failed expansion the request may be lowered, but not to what the volume already has.
    if requested <= _storage_amount(old, "status", "capacity"):
        return [forbidden(at, "field can not be less than status.capacity")]
    return []


def _storage_class(obj: ReadOnlyObject) -> str | None:
    name: str | None = obj.get("spec", {}).get("storageClassName")
    return name


def _annotated_class(obj: ReadOnlyObject) -> str | None:
    name: str | None = obj["metadata"].get("annotations", {}).get(STORAGE_CLASS_ANNOTATION)
    return name


def _moves_class_to_field(new: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    """Return whether an update moves the storage class from the annotation to the field."""
    annotated = _annotated_class(old)
    return (
        annotated is not None
        and _storage_class(old) is None
        and _storage_class(new) == annotated
        and _annotated_class(new) in (None, annotated)
    )


def _validate_class_annotation(new: ReadOnlyObject, old: ReadOnlyObject) -> list[FieldError]:
    now = _annotated_class(new) or ""
    if _moves_class_to_field(new, old) or now == (_annotated_class(old) or ""):
        return []
    return [invalid(f"metadata.annotations.{STORAGE_CLASS_ANNOTATION}", now, IMMUTABLE)]


def _with_mutable_fields_equal(new: ReadOnlyObject, old: ReadOnlyObject) -> tuple[ReadOnlyObject, ReadOnlyObject]:
    """Return old and new spec with all mutable fields made equal."""
    before, after = dict(old.get("spec", {})), dict(new.get("spec", {}))
    # The volume name may be set once, by the controller that binds the claim.
    if not before.get("volumeName"):
        _copy_field(after, before, "volumeName")
    # A class may be set later: the volume controller assigns the default class to claims without one.
    class_appears = _storage_class(old) is None and _annotated_class(old) in (None, _storage_class(new))
    if class_appears or _moves_class_to_field(new, old):
        after.pop("storageClassName", None)
    if new.get("status", {}).get("phase") == "Bound":
        _copy_field(before, after, "volumeAttributesClassName")
        resources = after.get("resources", {})
        if "requests" in resources:
            stored = before.get("resources", {}).get("requests", {}).get("storage", "0")
            after["resources"] = {**resources, "requests": {**resources["requests"], "storage": stored}}
    return before, after


def _copy_field(source: dict[str, object], target: dict[str, object], field: str) -> None:
    target.pop(field, None)
    if field in source:
        target[field] = source[field]


def _validate_attributes_class_update(
    spec: ReadOnlyObject, old: ReadOnlyObject, options: ClaimValidationOptions
) -> list[FieldError]:
    at, name = "spec.volumeAttributesClassName", spec.get("volumeAttributesClassName")
    if not options.attributes_class:
        return [forbidden(at, "update is forbidden when the VolumeAttributesClass feature gate is disabled")]
    # A volume that has a class cannot return to none: the driver would not know which attributes to set.
    if "currentVolumeAttributesClassName" not in old.get("status", {}) or name:
        return []
    kind = "nil" if name is None else "empty string"
    text = f"update to {kind} is forbidden when status.currentVolumeAttributesClassName is not nil"
    return [forbidden(at, text)]


def validate_claim_status(new: ReadOnlyObject, options: ClaimValidationOptions) -> list[FieldError]:
    """Validate the status of a claim."""
    status = new.get("status", {})
    errors = [] if new["metadata"].get("resourceVersion") else [required("resourceVersion")]
    if not new.get("spec", {}).get("accessModes"):
        errors.append(required("Spec.accessModes"))
    for name, amount in status.get("capacity", {}).items():
        errors += validate_nonnegative_amount(amount, f"status.capacity[{name}]")
    if options.recover_expansion:
        errors += _validate_resizing(status)
    return errors


def validate_nonnegative_amount(amount: str, at: str) -> list[FieldError]:
    """Reject a negative amount, with the message for quantities."""
    value = parse(amount).value()
    return [invalid(at, value, "must be a valid resource quantity")] if value < 0 else []


def _validate_resizing(status: ReadOnlyObject) -> list[FieldError]:
    errors: list[FieldError] = []
    at = "status.allocatedResourceStatuses"
    for name, state in status.get("allocatedResourceStatuses", {}).items():
        errors += _validate_resource_key(name, at)
        if state not in _RESIZE_STATUSES:
            errors.append(not_supported(at, name, _RESIZE_STATUSES))
    at = "status.allocatedResources"
    for name, amount in status.get("allocatedResources", {}).items():
        here = f"{at}[{name}]"
        amount_errors = _validate_resource_key(name, at) or validate_nonnegative_amount(amount, here)
        errors += amount_errors or validate_resource_quantity("storage", amount, here)
    return errors


def _validate_resource_key(name: str, at: str) -> list[FieldError]:
    errors = [invalid(at, name, text) for text in names.check_qualified_name(name)]
    if not errors and is_native_resource(name) and name != "storage":
        errors.append(not_supported(at, name, ("storage",)))
    return errors
