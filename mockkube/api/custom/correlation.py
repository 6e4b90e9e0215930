"""Correlate an object with its old state, for ratcheting: unchanged parts are not validated by stricter rules."""

# upstream 1.36: apiserver/pkg/cel/common/equality.go, maplist.go

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from mockkube.api.custom.structural import Structural

_ABSENT: Final = object()


class CorrelatedObject:
    """Value with its old value, and the schema by which their parts are matched."""

    def __init__(self, new: Any, old: Any, schema: Structural) -> None:
        self.new = new
        self.old = old
        self.schema = schema

    @cached_property
    def is_unchanged(self) -> bool:
        """True if new and old value are equal; the order of items in a list of type map does not matter."""
        match self.new, self.old:
            case dict(), dict():
                children = [self.get_field(name) for name in self.new]
            case list(), list() if self.schema.list_type == "map":
                children = [self.get_item(index) for index in range(len(self.new))]
            case _:
                return equal_json(self.new, self.old)
        return len(self.new) == len(self.old) and all(child is not None and child.is_unchanged for child in children)

    def get_field(self, name: str) -> "CorrelatedObject | None":
        """Return the correlation of a field; None if it is new or not in the schema."""
        child = self.schema.child(name)
        if child is None or not isinstance(self.new, dict) or not isinstance(self.old, dict):
            return None
        if name not in self.new or name not in self.old:
            return None
        return CorrelatedObject(self.new[name], self.old[name], child)

    def get_item(self, index: int) -> "CorrelatedObject | None":
        """Return the correlation of a list item with the old item of the same keys; None if there is none."""
        if not isinstance(self.new, list) or not isinstance(self.old, list) or self.schema.items is None:
            return None
        old = self._old_items.get(self.new[index])
        return None if old is None else CorrelatedObject(self.new[index], old, self.schema.items)

    @cached_property
    def _old_items(self) -> "ItemsByKey":
        return ItemsByKey(self.old, self.schema)


class ItemsByKey:
    """Items of a list of type map by their keys; empty for other lists."""

    def __init__(self, items: Any, schema: Structural) -> None:
        self._names = schema.map_keys if schema.list_type == "map" else ()
        self._items = {}
        if self._names and isinstance(items, list):
            # Reversed, so that of several items with the same keys the first wins, as upstream.
            self._items = {_keys(item, self._names): item for item in reversed(items) if isinstance(item, dict)}

    def get(self, item: Any) -> Any:
        """Return the item with the same keys; None if there is none."""
        return self._items.get(_keys(item, self._names)) if self._names and isinstance(item, dict) else None


def _keys(item: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(repr(item.get(name, _ABSENT)) for name in names)


def equal_json(new: Any, old: Any) -> bool:
    """Return whether two values are equal as JSON, where true is not 1."""
    match new, old:
        case dict(), dict():
            return new.keys() == old.keys() and all(equal_json(value, old[key]) for key, value in new.items())
        case list(), list():
            return len(new) == len(old) and all(map(equal_json, new, old))
        case _:
            return isinstance(new, bool) is isinstance(old, bool) and bool(new == old)
