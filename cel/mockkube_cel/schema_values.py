"""Values whose schema says how they compare: lists of type set and map, and objects with fields outside their schema.

upstream 1.36: apiserver/pkg/cel/common/valuesunstructured.go
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from mockkube_cel import types, values
from mockkube_cel.values import CelError, to_key


class SetList(values.SchemaList):
    """A list of type set: order does not count, and addition is a union."""

    __slots__ = ()

    def equals(self, other: list[Any]) -> bool | CelError:
        """Return whether the other list has the same elements."""
        own = {_scalar_key(element) for element in self}
        return len(self) == len(other) and all(_scalar_key(element) in own for element in other)

    def concatenate(self, other: list[Any]) -> "SetList":
        """Return the elements of this list, and those of the other that are new."""
        known = {_scalar_key(element) for element in self}
        return SetList([*self, *{_scalar_key(one): one for one in other if _scalar_key(one) not in known}.values()])


class MapList(values.SchemaList):
    """A list of type map: order does not count, and addition merges by key."""

    __slots__ = ("names",)

    def __init__(self, elements: Iterable[Any], names: tuple[str, ...]) -> None:
        super().__init__(elements)
        self.names = names

    def equals(self, other: list[Any]) -> bool | CelError:
        """Return whether the other list has equal elements under the same keys."""
        if len(self) != len(other):
            return False
        own = {self._key(element): element for element in self}
        for element in other:
            key = self._key(element)
            if key not in own:
                return False
            equal = values.equal(own[key], element)
            if equal is not True:
                return equal
        return True

    def concatenate(self, other: list[Any]) -> "MapList":
        """Return the elements of this list, each replaced by the other's of the same key, then the others."""
        merged = {self._key(element): element for element in (*self, *other)}
        return MapList(merged.values(), self.names)

    def _key(self, element: Any) -> Hashable:
        if not isinstance(element, dict):
            return values.IdentityKey(element)
        return tuple(_scalar_key(element.get(name)) for name in self.names)


class SchemaObject(values.SchemaMap):
    """An object with the fields of its schema. Other fields, and those that are null, count only for its size.

    `hidden` are the fields outside of the schema, which are compared as JSON.
    """

    __slots__ = ("hidden", "size")

    def __init__(self, fields: Mapping[str, Any], hidden: Mapping[str, Any], size: int) -> None:
        super().__init__(fields)
        self.hidden = hidden
        self.size = size

    def __len__(self) -> int:
        return self.size

    def equals(self, other: dict[Any, Any]) -> bool | CelError:
        """Return whether the other object has equal fields."""
        if len(self) != len(other):
            return False
        theirs = other.hidden if isinstance(other, SchemaObject) else {}
        for name, value in self.items():
            if name not in other:
                return False
            equal = values.equal(value, other[name])
            if equal is not True:
                return equal
        # A field that only one side has does not count, as upstream: the sizes are equal all the same.
        return self.keys() == other.keys() and all(
            value == theirs[name] for name, value in self.hidden.items() if name in theirs
        )


def _scalar_key(value: Any) -> Hashable:
    """Return the form in which Go's map holds a scalar: True is not 1 there."""
    return type(value), to_key(value)


for _type in (SetList, MapList):
    values.register_container_type(_type, types.LIST)
values.register_container_type(SchemaObject, types.MAP)
