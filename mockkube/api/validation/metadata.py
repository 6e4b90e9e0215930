"""Validation of ObjectMeta on creation and on update.

A creation is validated with `validate_metadata` and the kind's own rule for names. On update upstream validates the
metadata several times, and each error becomes a cause: generically with `validate_metadata` (any path segment is
a name, no finalizer native) and `validate_metadata_update`, then for the kind with `validate_native_metadata_update`.
The registry does all that; some kinds, like pods, validate the new metadata once more with `validate_metadata_again`.
"""

# upstream 1.36: apimachinery/pkg/api/validation/objectmeta.go, pkg/apis/core/validation/validation.go

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, quote, required, too_long
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.validation.internal_form import order_owner
from mockkube.api.validation.labels import validate_labels

ANNOTATIONS_BYTES_MAX: Final = 256 * 1024
SUBRESOURCE_BYTES_MAX: Final = 256
FIELD_MANAGER_BYTES_MAX: Final = 128
ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
STANDARD_FINALIZERS: Final = frozenset(("kubernetes", ORPHAN, FOREGROUND))
IMMUTABLE: Final = "field is immutable"
_ZERO: Final = {"name": "", "namespace": "", "uid": ""}


class NameCheck(Protocol):
    """Check of a name, or of a generateName with `prefix`."""

    def __call__(self, name: str, *, prefix: bool = False) -> list[str]:
        """Return the errors of a name."""


def validate_metadata(
    obj: ReadOnlyObject,
    check_name: NameCheck,
    namespaced: bool,
    at: str = "metadata",
    *,
    native: bool = True,
) -> list[FieldError]:
    """Validate the metadata of an object; for `native` kinds, finalizers as well."""
    meta = obj["metadata"]
    found = _validate_names(meta, check_name, at)
    found += _validate_namespace(meta, namespaced, at)
    if meta.get("generation", 0) < 0:
        found.append(invalid(f"{at}.generation", meta["generation"], "must be greater than or equal to 0"))
    if "labels" in meta:
        found += validate_labels(meta["labels"], f"{at}.labels")
    if "annotations" in meta:
        found += validate_annotations(meta["annotations"], f"{at}.annotations")
    if "ownerReferences" in meta:
        found += validate_owner_references(meta["ownerReferences"], f"{at}.ownerReferences")
    if "finalizers" in meta:
        found += validate_finalizers(meta["finalizers"], f"{at}.finalizers")
    if "managedFields" in meta:
        found += validate_managed_fields(meta["managedFields"], f"{at}.managedFields")
    if native and "finalizers" in meta:
        found += validate_native_finalizers(meta["finalizers"], f"{at}.finalizers")
    return found


def validate_metadata_again(
    obj: ReadOnlyObject, check_name: NameCheck, namespaced: bool, *, is_valid: bool
) -> list[FieldError]:
    """Validate the metadata of an update for the kind; `is_valid`: generically it is, so only names can be wrong."""
    return (
        _validate_names(obj["metadata"], check_name, "metadata")
        if is_valid
        else validate_metadata(obj, check_name, namespaced)
    )


def _validate_names(meta: ReadOnlyObject, check_name: NameCheck, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    if stem := meta.get("generateName"):
        found = [invalid(f"{at}.generateName", stem, text) for text in check_name(stem, prefix=True)]
    name = meta.get("name")
    if not name:
        return [*found, required(f"{at}.name", "name or generateName is required")]
    if texts := check_name(name, prefix=False):
        found += [invalid(f"{at}.name", name, text) for text in texts]
    if "\0" in name and not found:  # differs: of the kinds that take any segment of a path, etcd can hold such names
        found.append(invalid(f"{at}.name", name, "may not contain '\\x00'"))
    return found


def _validate_namespace(meta: ReadOnlyObject, namespaced: bool, at: str) -> list[FieldError]:
    namespace = meta.get("namespace")
    if not namespaced:
        return [forbidden(f"{at}.namespace", "not allowed on this type")] if namespace else []
    if not namespace:
        return [required(f"{at}.namespace")]
    texts = names.check_dns_label(namespace)
    return [invalid(f"{at}.namespace", namespace, text) for text in texts] if texts else []


def validate_annotations(annotations: Mapping[str, str], at: str) -> list[FieldError]:
    """Validate the keys of annotations, and their total size."""
    # upstream lowercases annotation keys first: their prefix may have uppercase letters, unlike that of labels.
    found: list[FieldError] = []
    for key in annotations:
        if texts := names.check_qualified_name(key.lower()):
            found += [invalid(at, key, text) for text in texts]
    if _annotations_size(annotations) > ANNOTATIONS_BYTES_MAX:
        found.append(too_long(at, ANNOTATIONS_BYTES_MAX))
    return found


def validate_annotations_size(annotations: Mapping[str, str], at: str) -> list[FieldError]:
    """Validate the total size of annotations only."""
    return [too_long(at, ANNOTATIONS_BYTES_MAX)] if _annotations_size(annotations) > ANNOTATIONS_BYTES_MAX else []


def _annotations_size(annotations: Mapping[str, str]) -> int:
    size = 0
    for key, value in annotations.items():
        size += names.byte_length(key) + names.byte_length(value)
    return size


def validate_owner_references(owners: Sequence[ReadOnlyObject], at: str) -> list[FieldError]:
    """Validate owner references: complete, of kinds that may own objects, at most one controller."""
    found: list[FieldError] = []
    controller, shown = "", list[Any]()
    for owner in owners:
        found += _validate_owner(owner, at)
        if owner.get("controller"):
            this = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                text = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controller} and {this}"
                )
                # Built once: quoting the whole list for each of thousands of owners took seconds.
                shown = shown or [order_owner(each) for each in owners]
                found.append(invalid(at, shown, text))
            else:
                controller = this
    return found


def _validate_owner(owner: ReadOnlyObject, at: str) -> list[FieldError]:
    version = owner.get("apiVersion", "")
    found = []
    if version.count("/") > 1 or not version.rpartition("/")[2]:
        found.append(invalid(f"{at}.apiVersion", version, "version must not be empty"))
    found += [
        invalid(f"{at}.{name}", owner.get(name, ""), "must not be empty")
        for name in ("kind", "name", "uid")
        if not owner.get(name)
    ]
    # upstream: BannedOwners. The garbage collector does not watch events, so it would never see such an owner go.
    if version == "v1" and owner.get("kind") == "Event":
        found.append(invalid(at, order_owner(owner), "/v1, Kind=Event is disallowed from being an owner"))
    return found


def validate_finalizers(finalizers: Sequence[str], at: str) -> list[FieldError]:
    """Validate finalizers: qualified names, and only one way of treating dependents."""
    found = [invalid(at, name, text) for name in finalizers for text in names.check_qualified_name(name)]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        found.append(invalid(at, finalizers, f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"))
    return found


def validate_native_finalizers(finalizers: Iterable[str], at: str) -> list[FieldError]:
    """Reject unqualified finalizers that are not Kubernetes' own."""
    return [
        invalid(f"{at}[{i}]", name, "name is neither a standard finalizer name nor is it fully qualified")
        for i, name in enumerate(finalizers)
        if "/" not in name and name not in STANDARD_FINALIZERS
    ]


def validate_managed_fields(entries: Sequence[ReadOnlyObject], at: str) -> list[FieldError]:
    """Validate managedFields that a client has sent."""
    found: list[FieldError] = []
    for i, entry in enumerate(entries):
        operation = entry.get("operation", "")
        if operation not in ("Apply", "Update"):
            found.append(invalid(f"{at}[{i}].operation", operation, "must be `Apply` or `Update`"))
        if entry.get("fieldsType", "FieldsV1") != "FieldsV1":
            found.append(invalid(f"{at}[{i}].fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
        if (manager := entry.get("manager")) and not _is_plain_manager(manager):
            found += validate_field_manager(manager, f"{at}[{i}].manager")
        subresource = entry.get("subresource")
        if subresource and names.byte_length(subresource) > SUBRESOURCE_BYTES_MAX:
            found.append(too_long(f"{at}[{i}].subresource", SUBRESOURCE_BYTES_MAX))
    return found


def _is_plain_manager(manager: str) -> bool:  # hot: per write
    return manager.isascii() and manager.isprintable() and len(manager) <= FIELD_MANAGER_BYTES_MAX


def validate_field_manager(manager: str, at: str) -> list[FieldError]:
    """Validate the name of a field manager: short and printable."""
    if _is_plain_manager(manager):
        return []
    found = []
    if names.byte_length(manager) > FIELD_MANAGER_BYTES_MAX:
        found.append(too_long(at, FIELD_MANAGER_BYTES_MAX))
    position = 0
    for letter in manager:
        if not letter.isprintable():
            text = f"invalid character U+{ord(letter):04X} (at position {position})"
            found.append(invalid(at, manager, text))
        # upstream counts bytes.
        position += names.byte_length(letter)
    return found


def find_update_errors(
    new: ReadOnlyObject, old: ReadOnlyObject, check_name: NameCheck, namespaced: bool, *, native: bool
) -> list[FieldError]:
    """Return the errors of updated metadata, most of them twice; `native`: the kind requires qualified finalizers."""
    errors = validate_metadata(new, check_name, namespaced, native=False)
    # What an update validates besides: all else has just been validated.
    if not errors and not _validate_change(new["metadata"], old["metadata"], "metadata"):
        return (
            validate_native_finalizers(new["metadata"].get("finalizers", ()), "metadata.finalizers") if native else []
        )
    # upstream 1.36: rest/update.go validates metadata on its own and against the old one, then each kind's
    # ValidateUpdate does so again; the errors appear twice.
    again = validate_native_metadata_update if native else validate_metadata_update
    return errors + validate_metadata_update(new, old) + again(new, old)


def validate_metadata_update(new: ReadOnlyObject, old: ReadOnlyObject, at: str = "metadata") -> list[FieldError]:
    """Validate an update of metadata: identifying fields are immutable, the others valid."""
    meta = new["metadata"]
    found = _validate_change(meta, old["metadata"], at)
    if "labels" in meta:
        found += validate_labels(meta["labels"], f"{at}.labels")
    if "annotations" in meta:
        found += validate_annotations(meta["annotations"], f"{at}.annotations")
    if "ownerReferences" in meta:
        found += validate_owner_references(meta["ownerReferences"], f"{at}.ownerReferences")
    if "managedFields" in meta:
        found += validate_managed_fields(meta["managedFields"], f"{at}.managedFields")
    return found


def _validate_change(meta: ReadOnlyObject, before: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate what depends on the metadata before the update."""
    found: list[FieldError] = []
    # A new finalizer could keep an object that is being deleted for ever.
    if "deletionTimestamp" in before:
        found += _validate_no_new_finalizers(meta.get("finalizers", ()), before.get("finalizers", ()), at)
    if not meta.get("resourceVersion"):
        found.append(invalid(f"{at}.resourceVersion", "", "must be specified for an update"))
    if meta.get("generation", 0) < before.get("generation", 0):
        found.append(invalid(f"{at}.generation", meta.get("generation", 0), "must not be decremented"))
    for name in _IMMUTABLE_FIELDS:
        if meta.get(name) != before.get(name):
            found.append(invalid(f"{at}.{name}", meta.get(name, _ZERO.get(name)), IMMUTABLE))
    return found


_IMMUTABLE_FIELDS: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


def validate_native_metadata_update(new: ReadOnlyObject, old: ReadOnlyObject, at: str = "metadata") -> list[FieldError]:
    """Validate an update of metadata, native finalizers included."""
    found = validate_metadata_update(new, old, at)
    if finalizers := new["metadata"].get("finalizers"):
        found += validate_native_finalizers(finalizers, f"{at}.finalizers")
    return found


def _validate_no_new_finalizers(new: Sequence[str], old: Sequence[str], at: str) -> list[FieldError]:
    added = sorted(set(new).difference(old))
    if not added:
        return []
    listed = f"[]string{{{', '.join(quote(name) for name in added)}}}"
    text = f"no new finalizers can be added if the object is being deleted, found new finalizers {listed}"
    return [forbidden(f"{at}.finalizers", text)]


def validate_immutable(new: Any, old: Any, at: str) -> list[FieldError]:
    """Reject a change of an immutable value."""
    return [] if new == old else [invalid(at, new, IMMUTABLE)]
