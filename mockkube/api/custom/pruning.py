"""Prune objects: drop the fields that a structural schema does not have."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go, ../defaulting/prune.go

from dataclasses import replace
from typing import Any, Final

from mockkube.api.custom.structural import Structural
from mockkube.api.types import Object

# Fields that every object has, whatever its schema says.
OWN: Final = ("apiVersion", "kind", "metadata")
_NOTHING: Final = Structural({})


def prune_object(obj: Object, schema: Structural | None, unknown: list[str] | None = None) -> Object:
    """Return a copy of the object with the fields that the schema has; apiVersion, kind and metadata stay unchanged.

    The paths of dropped fields are added to `unknown`, sorted.
    """
    found: list[str] = []
    root = replace(schema or _NOTHING, embedded=True)
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
            if schema is not None and schema.preserve:
                return [_keep(item, items, f"{at}[{index}]", unknown) for index, item in enumerate(value)]
            return [_prune(item, items, f"{at}[{index}]", unknown) for index, item in enumerate(value)]
        # Go decodes whole numbers in JSON as int64, so 1.0 is stored as 1.
        case float() if value.is_integer() and abs(value) < 1 << 63:
            return int(value)
    return value


def _keep(value: Any, schema: Structural | None, at: str, unknown: list[str]) -> Any:
    """Prune inside a value whose unknown fields are preserved."""
    if schema is None:
        return value
    if isinstance(value, list):
        return [_keep(item, schema.items, f"{at}[{index}]", unknown) for index, item in enumerate(value)]
    return _prune_map(value, replace(schema, preserve=True), at, unknown) if isinstance(value, dict) else value


def _prune_map(value: Object, schema: Structural | None, at: str, unknown: list[str]) -> Object:
    if schema is None:
        unknown += [_path(at, key) for key in value]
        return {}
    pruned = {}
    for key, item in value.items():
        if schema.embedded and key in OWN:
            pruned[key] = item
        elif key in schema.properties:
            pruned[key] = _prune(item, schema.properties[key], _path(at, key), unknown)
        elif schema.additional is not None:
            pruned[key] = _prune(item, schema.additional, _path(at, key), unknown)
        elif schema.preserve:
            pruned[key] = item
        # `additionalProperties: true` keeps the key, but nothing is known about the value.
        elif schema.keeps_additional:
            pruned[key] = _prune(item, None, _path(at, key), unknown)
        else:
            unknown.append(_path(at, key))
    return pruned


def _path(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def drop_nulls(value: Any, schema: Structural) -> None:
    """Drop nulls that the schema neither allows nor replaces by a default."""
    match value:
        case dict():
            for key, item in list(value.items()):
                child = schema.child(key)
                if child is None:
                    continue
                if child.refuses_null(item) and child.default is None:
                    del value[key]
                else:
                    drop_nulls(item, child)
        case list() if schema.items is not None:
            for item in value:
                drop_nulls(item, schema.items)
