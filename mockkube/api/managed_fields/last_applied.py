"""Migration from client-side to server-side apply, by the annotation of kubectl's last applied configuration.

Only for the manager `kubectl`: it may overwrite, without force, what it set by client-side apply; and the annotation
is updated on apply, so that a user can go back to client-side apply.
"""

# upstream 1.36: apimachinery/pkg/util/managedfields/internal/lastappliedmanager.go, lastappliedupdater.go

from typing import Any, Final

import orjson

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.managed_fields.compare import compare
from mockkube.api.managed_fields.errors import TypeMismatch
from mockkube.api.managed_fields.field_set import EMPTY, FieldSet
from mockkube.api.managed_fields.types import Type
from mockkube.api.managed_fields.validate import validate_value
from mockkube.api.managed_fields.value_field_set import to_field_set

LAST_APPLIED_ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL_MANAGER: Final = "kubectl"
ANNOTATIONS_BYTES_MAX: Final = 256 * 1024


def find_unchanged_fields(live: ReadOnlyObject, expected: Type, version: str) -> FieldSet:
    """Return the fields whose live value is the one in the annotation."""
    try:
        applied = orjson.loads(_annotations(live).get(LAST_APPLIED_ANNOTATION, ""))
    except ValueError:
        return EMPTY
    # upstream compares only objects of the same version.
    if not isinstance(applied, dict) or applied.get("apiVersion") != version:
        return EMPTY
    try:
        validate_value(applied, expected)
    except TypeMismatch:
        return EMPTY
    change = compare(applied, live, expected)
    return to_field_set(applied, expected) - change.modified - change.added - change.removed


def update_annotation(merged: Object, applied: ReadOnlyObject) -> Object:
    """Return the merged object with its annotation, if it has one, updated."""
    annotations = _annotations(merged)
    if not annotations.get(LAST_APPLIED_ANNOTATION):
        return merged
    renewed = {**annotations, LAST_APPLIED_ANNOTATION: _encode_applied(applied)}
    # An annotation that is too large for the API server is dropped instead of failing the apply.
    if sum(len(key.encode()) + len(str(value).encode()) for key, value in renewed.items()) > ANNOTATIONS_BYTES_MAX:
        del renewed[LAST_APPLIED_ANNOTATION]
    return {**merged, "metadata": {**merged["metadata"], "annotations": renewed}}


def _annotations(obj: ReadOnlyObject) -> dict[str, Any]:
    found: dict[str, Any] = obj.get("metadata", {}).get("annotations") or {}
    return found


def _encode_applied(applied: ReadOnlyObject) -> str:
    metadata = dict(applied.get("metadata", {}))
    if "annotations" in metadata:
        metadata["annotations"] = {
            key: value for key, value in _annotations(applied).items() if key != LAST_APPLIED_ANNOTATION
        }
    return orjson.dumps({**applied, "metadata": metadata}, option=orjson.OPT_SORT_KEYS).decode() + "\n"
