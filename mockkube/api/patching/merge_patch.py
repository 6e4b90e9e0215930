"""Merge patches (RFC 7386): null deletes, objects are merged, everything else replaces."""

from typing import Any

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.errors import BadPatch


def apply(doc: ReadOnlyObject, patch: Any) -> Object:
    """Return the patched document; raise BadPatch if the patch is not an object."""
    # upstream 1.36: apiserver/pkg/endpoints/handlers/patch.go, evanphx/json-patch.v4
    if patch is None:
        raise BadPatch("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise BadPatch(f"error decoding patch: {BadPatch.wrong_type(patch, 'map[string]interface {}')}")
    return _merge(doc, patch)


def _merge(doc: ReadOnlyObject, patch: ReadOnlyObject) -> Object:
    merged = dict(doc)
    for key, value in patch.items():
        old = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif not isinstance(old, dict):
            merged[key] = drop_nulls(value)
        else:
            # upstream does not strip nulls from a list that replaces an object.
            merged[key] = _merge(old, value) if isinstance(value, dict) else value
    return merged


def drop_nulls(value: Any) -> Any:
    """Return a value without null fields, at any depth; null items of lists stay."""
    match value:
        case dict():
            return {key: drop_nulls(one) for key, one in value.items() if one is not None}
        case list():
            return [drop_nulls(one) for one in value]
        case _:
            return value
