"""Validate lists of type set and map: no item, or no key, may occur twice."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go

import json
from collections.abc import Iterator, Sequence
from typing import Any

from mockkube.api.custom.structural import Structural
from mockkube.api.fields import FieldError, duplicate, invalid, map_entry_path, with_sorted_keys


def validate_lists(value: Any, schema: Structural, at: str = "") -> Iterator[FieldError]:
    """Yield an error for each duplicate in a value, at any depth."""
    match value:
        case dict():
            for name, item in value.items():
                if schema.additional_properties is not None:
                    yield from validate_lists(item, schema.additional_properties, map_entry_path(at, name))
            for name, item in value.items():
                if name in schema.properties:
                    yield from validate_lists(item, schema.properties[name], f"{at}.{name}" if at else name)
        case list():
            yield from _validate_items(value, schema, at)


def _validate_items(items: list[Any], schema: Structural, at: str) -> Iterator[FieldError]:
    if schema.list_type == "set":
        yield from (duplicate(f"{at}[{index}]", with_sorted_keys(items[index])) for index in _find_duplicates(items))
    elif schema.list_type == "map":
        yield from _validate_keys(items, schema.map_keys, at)
    if schema.items is not None:
        for index, item in enumerate(items):
            yield from validate_lists(item, schema.items, f"{at}[{index}]")


def _validate_keys(items: list[Any], names: Sequence[str], at: str) -> Iterator[FieldError]:
    for index, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            yield invalid(f"{at}[{index}]", with_sorted_keys(item), "must be an object for an array of list-type map")
            return
    keys = [{name: (item or {})[name] for name in names if name in (item or {})} for item in items]
    yield from (duplicate(f"{at}[{index}]", with_sorted_keys(keys[index])) for index in _find_duplicates(keys))


def _find_duplicates(items: Sequence[Any]) -> list[int]:
    """Return the index of each item that occurs for the second time."""
    seen: dict[tuple[type, str], int] = {}
    found = []
    for index, item in enumerate(items):
        # The type is part of the key, because Python finds 1, 1.0 and true equal.
        kind = type(item) if isinstance(item, bool | str | int | float | None) else dict
        form = (kind, json.dumps(item, sort_keys=True))
        seen[form] = seen.get(form, 0) + 1
        if seen[form] == 2:
            found.append(index)
    return found
