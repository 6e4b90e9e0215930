"""Prune objects: drop the fields that a structural schema does not have."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go, ../defaulting/prune.go

from dataclasses import replace
from typing import Any, Final

from mockkube.api.custom.structural import Structural
from mockkube.api.json_objects import Object

# Fields that every object has, whatever its schema says.
OBJECT_FIELDS: Final = ("apiVersion", "kind", "metadata")
_EMPTY_SCHEMA: Final = Structural({})


def prune_object(obj: Object, schema: Structural | None, unknown: list[str] | None = None) -> Object:
    """Return a copy of the object with the fields that the schema has; apiVersion, kind and metadata stay unchanged.

    The paths of dropped fields are added to `unknown`, sorted.
    """
    found: list[str] = []
    root = replace(schema or _EMPTY_SCHEMA, is_embedded_resource=True)
    pruned: Object = _prune(obj, root, "", found)
    if unknown is not None:
        unknown += sorted(found)
    return pruned


def prune_value(value: Any, schema: Structural) -> Any:
    """Return a value, such as a default, without the fields that its schema does not have."""
    return _prune(value, schema, "", [])


def _prune(value: Any, schema: Structural | None, at: str, unknown: list[str]) -> Any:
    match value:
        case dict():
            return _prune_map(value, schema, at, unknown)
        case list():
            items = schema.items if schema is not None else None
            if schema is not None and schema.preserves_unknown_fields:
                return [_prune_preserved(item, items, f"{at}[{index}]", unknown) for index, item in enumerate(value)]
            return [_prune(item, items, f"{at}[{index}]", unknown) for index, item in enumerate(value)]
        # Go decodes whole numbers in JSON as int64, so 1.0 is stored as 1.
        case float() if value.is_integer() and abs(value) < 1 << 63:
            return int(value)
    return value


def _prune_preserved(value: Any, schema: Structural | None, at: str, unknown: list[str]) -> Any:
    """Prune inside a value whose unknown fields are preserved."""
    if schema is None:
        return value
    if isinstance(value, list):
        return [_prune_preserved(item, schema.items, f"{at}[{index}]", unknown) for index, item in enumerate(value)]
    return (
        _prune_map(value, replace(schema, preserves_unknown_fields=True), at, unknown)
        if isinstance(value, dict)
        else value
    )


def _prune_map(value: Object, schema: Structural | None, at: str, unknown: list[str]) -> Object:
    if schema is None:
        unknown += [_join_path(at, key) for key in value]
        return {}
    pruned = {}
    for key, item in value.items():
        if schema.is_embedded_resource and key in OBJECT_FIELDS:
            pruned[key] = item
        elif key in schema.properties:
            pruned[key] = _prune(item, schema.properties[key], _join_path(at, key), unknown)
        elif schema.additional_properties is not None:
            pruned[key] = _prune(item, schema.additional_properties, _join_path(at, key), unknown)
        elif schema.preserves_unknown_fields:
            pruned[key] = item
        # `additionalProperties: true` keeps the key, but nothing is known about the value.
        elif schema.has_additional_properties:
            pruned[key] = _prune(item, None, _join_path(at, key), unknown)
        else:
            unknown.append(_join_path(at, key))
    return pruned


def _join_path(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def drop_nulls(value: Any, schema: Structural) -> None:
    """Drop nulls that the schema neither allows nor replaces by a default."""
    match value:
        case dict():
            for key, item in list(value.items()):
                child = schema.child(key)
                if child is None:
                    continue
                if child.rejects_null(item) and child.default is None:
                    del value[key]
                else:
                    drop_nulls(item, child)
        case list() if schema.items is not None:
            for item in value:
                drop_nulls(item, schema.items)
