"""Optional values: declarations and functions.

The planner implements selection and choice (`?.`, `[?]`, `or`, `orValue`).
upstream 1.36: cel-go cel/library.go
"""

from typing import Any, Final

from mockkube_cel import types
from mockkube_cel.declarations import Function, Overload, global_overload, member_overload
from mockkube_cel.types import BOOL, DYN, INT, STRING
from mockkube_cel.values import NONE, CelError, Duration, Optional, Timestamp

_K: Final = types.param("K")
_V: Final = types.param("V")
_OPTIONAL: Final = types.optional_of(_V)
_LIST: Final = types.list_of(_V)
_MAP: Final = types.map_of(_K, _V)
_OPTIONAL_LIST: Final = types.optional_of(_LIST)
_OPTIONAL_MAP: Final = types.optional_of(_MAP)
# The zero value of Go's time.Time.
_YEAR_ONE_NANOS: Final = -62135596800 * 1_000_000_000


def of_non_zero(value: Any) -> Optional:
    """Compute `optional.ofNonZeroValue(value)`."""
    return NONE if _is_zero(value) else Optional(value)


def _is_zero(value: Any) -> bool:
    match value:
        case None:
            return True
        case Duration():
            return value.nanos == 0
        case Timestamp():
            return value.nanos == _YEAR_ONE_NANOS
        case bool() | int() | float() | str() | bytes() | list() | dict():
            return not value
    return False


def value_of(optional: Optional) -> Any:
    """Compute `optional.value()`."""
    return optional.value if optional.present else CelError("optional.none() dereference")


def first(elements: list[Any]) -> Optional:
    """Compute `elements.first()`."""
    return Optional(elements[0]) if elements else NONE


def last(elements: list[Any]) -> Optional:
    """Compute `elements.last()`."""
    return Optional(elements[-1]) if elements else NONE


def unwrap(elements: list[Any]) -> Any:
    """Compute `elements.unwrapOpt()`."""
    for element in elements:
        if type(element) is not Optional:
            return CelError(f"value {element} is not optional")
    return [element.value for element in elements if element.present]


FUNCTIONS: Final = (
    Function("optional.of", (global_overload("optional_of", (_V,), _OPTIONAL, Optional),)),
    Function("optional.ofNonZeroValue", (global_overload("optional_ofNonZeroValue", (_V,), _OPTIONAL, of_non_zero),)),
    Function("optional.none", (Overload("optional_none", (), _OPTIONAL, lambda: NONE, eager=True),)),
    Function("value", (member_overload("optional_value", (_OPTIONAL,), _V, value_of),)),
    Function(
        "hasValue", (member_overload("optional_hasValue", (_OPTIONAL,), BOOL, lambda optional: optional.present),)
    ),
    Function("or", (member_overload("optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL),)),
    Function("orValue", (member_overload("optional_orValue_value", (_OPTIONAL, _V), _V),)),
    Function("_?._", (global_overload("select_optional_field", (DYN, STRING), _OPTIONAL),)),
    Function(
        "_[?_]",
        (
            global_overload("list_optindex_optional_int", (_LIST, INT), _OPTIONAL),
            global_overload("optional_list_optindex_optional_int", (_OPTIONAL_LIST, INT), _OPTIONAL),
            global_overload("map_optindex_optional_value", (_MAP, _K), _OPTIONAL),
            global_overload("optional_map_optindex_optional_value", (_OPTIONAL_MAP, _K), _OPTIONAL),
        ),
    ),
    Function(
        "_[_]",
        (
            global_overload("optional_list_index_int", (_OPTIONAL_LIST, INT), _OPTIONAL),
            global_overload("optional_map_index_value", (_OPTIONAL_MAP, _K), _OPTIONAL),
        ),
    ),
    Function("last", (member_overload("list_last", (_LIST,), _OPTIONAL, last),)),
    Function("first", (member_overload("list_first", (_LIST,), _OPTIONAL, first),)),
    Function("optional.unwrap", (global_overload("optional_unwrap", (types.list_of(_OPTIONAL),), _LIST, unwrap),)),
    Function("unwrapOpt", (member_overload("optional_unwrapOpt", (types.list_of(_OPTIONAL),), _LIST, unwrap),)),
)
