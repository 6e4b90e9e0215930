"""Check whether the fields of stored objects have the types of their schema, to find the one that broke a component."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities import quantity
from mockkube.api.schema import Schema, Shape, TypeNode
from mockkube.api.times import parse_time
from mockkube.features.versions import DEFAULT

_INT32: Final = 1 << 31
_INT64: Final = 1 << 63


def is_well_formed(obj: ReadOnlyObject) -> bool:
    """Return whether each field of an object has its type; True for kinds without a schema."""
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    node = _schema().find_kind_type(group, version, str(obj.get("kind", "")))
    return node is None or _fits(node, obj)


@cache
def _schema() -> Schema:
    # The versions differ in fields, hardly in their types; unknown fields are passed over.
    return Schema(DEFAULT)


def _fits(node: TypeNode, value: Any) -> bool:
    match node.shape:
        case Shape.STRUCT:
            return isinstance(value, Mapping) and all(
                each is None or name not in node.fields or _fits(node.fields[name].node, each)
                for name, each in value.items()
            )
        case Shape.MAP:
            item = node.item
            return isinstance(value, Mapping) and (item is None or all(_fits(item, each) for each in value.values()))
        case Shape.LIST:
            item = node.item
            return isinstance(value, list) and (item is None or all(_fits(item, each) for each in value))
        case shape:
            check = _CHECKS.get(shape)
            return check is None or check(value)


def _is_integer(value: Any, bound: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound


def _parses(parse: Callable[[str], object], value: Any) -> bool:
    try:
        parse(value)
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        return False
    return True


_CHECKS: Final[Mapping[Shape, Callable[[Any], bool]]] = {
    Shape.STRING: lambda value: isinstance(value, str),
    Shape.BYTES: lambda value: isinstance(value, str),
    Shape.BOOL: lambda value: isinstance(value, bool),
    Shape.INT32: lambda value: _is_integer(value, _INT32),
    Shape.INT64: lambda value: _is_integer(value, _INT64),
    Shape.FLOAT: lambda value: isinstance(value, int | float),
    Shape.INT_OR_STRING: lambda value: isinstance(value, str) or _is_integer(value, _INT32),
    Shape.QUANTITY: lambda value: isinstance(value, int | float) or _parses(quantity.parse, value),
    Shape.TIME: lambda value: _parses(parse_time, value),
    Shape.MICRO_TIME: lambda value: _parses(parse_time, value),
}
