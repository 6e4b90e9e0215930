"""Map insertion, which the macros that build maps call.

upstream 1.36: cel-go ext/comprehensions.go
"""

from typing import Any, Final

from mockkube_cel import types
from mockkube_cel.declarations import Function, Overload, global_overload
from mockkube_cel.values import CelError, MutableMap, from_key, to_key

_K: Final = types.param("K")
_V: Final = types.param("V")
_MAP: Final = types.map_of(_K, _V)


def insert(target: dict[Any, Any], key: Any, value: Any) -> Any:
    """Return the map with one more entry; the accumulator of a comprehension changes in place."""
    key = to_key(key)
    if key in target:
        return CelError(f"insert failed: key {format_key(key)} already exists")
    if type(target) is not MutableMap:
        target = dict(target)
    target[key] = value
    return target


def insert_all(target: dict[Any, Any], entries: dict[Any, Any]) -> Any:
    """Return the map with all entries of another one."""
    result: Any = target
    for key, value in entries.items():
        result = insert(result, from_key(key), value)
        if type(result) is CelError:
            break
    return result


def format_key(key: Any) -> str:
    """Print a key as Go's `%v` does."""
    key = from_key(key)
    return str(key).lower() if type(key) is bool else str(key)


FUNCTIONS: Final = (
    Function(
        "cel.@mapInsert",
        (
            Overload("@mapInsert_map_key_value", (_MAP, _K, _V), _MAP, insert, eager=True),
            global_overload("@mapInsert_map_map", (_MAP, _MAP), _MAP, insert_all),
        ),
    ),
)
