"""Built-in functions, arithmetic and ordering of jq.

upstream: jq 1.7 manual; github.com/itchyny/gojq
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from mockkube_cel.golang.goregexp import RegexError, compile_pattern

from mockkube.api.times import parse_time


class JqError(ValueError):
    """Error of an expression that cannot be parsed, or fails on a value."""


_ORDER: Final[tuple[Any, ...]] = (type(None), bool, (int, float), str, list, dict)


def sort_key(value: Any) -> Any:
    """Return a sort key of a value: first its type, then its content, as jq orders values."""
    if isinstance(value, bool):
        # bool is checked first because it is an int in Python; jq orders null, false, true, numbers, strings, arrays,
        # objects.
        return (2 if value else 1,)
    kind = next(at for at, types in enumerate(_ORDER) if isinstance(value, types))
    match value:
        case None:
            return (0,)
        case list():
            return kind + 1, [sort_key(one) for one in value]
        case dict():
            return kind + 1, sorted(value), [sort_key(value[key]) for key in sorted(value)]
    return kind + 1, value


def is_true(value: Any) -> bool:
    """Return whether jq treats a value as true: everything except false and null."""
    return value is not None and value is not False


def type_name(value: Any) -> str:
    """Return jq's name of a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _matches(value: Any, pattern: Any) -> bool:
    """Compute `test(pattern)`; gojq's patterns are Go's."""
    try:
        return compile_pattern(_require_string(pattern)).search(_require_string(value)) is not None
    except RegexError as error:
        return bool(_fail(str(error)))


def add(one: Any, other: Any) -> Any:
    """Add numbers, concatenate strings and arrays, merge objects."""
    if one is None or other is None:
        return other if one is None else one
    if type_name(one) != type_name(other) or isinstance(one, bool):
        raise JqError(f"{type_name(one)} and {type_name(other)} cannot be added")
    return {**one, **other} if isinstance(one, dict) else one + other


def subtract(one: Any, other: Any) -> Any:
    """Subtract numbers, or remove elements from an array."""
    if isinstance(one, list) and isinstance(other, list):
        return [value for value in one if value not in other]
    return _apply_to_numbers(one, other, "subtracted", lambda: one - other)


def multiply(one: Any, other: Any) -> Any:
    """Multiply numbers."""
    return _apply_to_numbers(one, other, "multiplied", lambda: one * other)


def divide(one: Any, other: Any) -> Any:
    """Divide numbers, or split a string."""
    if isinstance(one, str) and isinstance(other, str):
        return one.split(other)
    return _apply_to_numbers(
        one, other, "divided", lambda: _to_integer(one / other) if other else _fail("divided by zero")
    )


def modulo(one: Any, other: Any) -> Any:
    """Return the integer remainder."""
    return _apply_to_numbers(
        one, other, "divided", lambda: int(one) % int(other) if int(other) else _fail("divided by zero")
    )


def _apply_to_numbers(one: Any, other: Any, what: str, compute: Callable[[], Any]) -> Any:
    if type_name(one) != "number" or type_name(other) != "number":
        raise JqError(f"{type_name(one)} and {type_name(other)} cannot be {what}")
    return compute()


def _to_integer(number: float) -> float | int:
    return int(number) if number.is_integer() else number


def _fail(why: str) -> Any:
    raise JqError(why)


def contains(value: Any, part: Any) -> bool:
    """Return whether a value contains another: substrings, elements, or the keys of objects, recursively."""
    if isinstance(value, dict) and isinstance(part, dict):
        return all(key in value and contains(value[key], one) for key, one in part.items())
    if isinstance(value, list) and isinstance(part, list):
        return all(any(contains(one, wanted) for one in value) for wanted in part)
    if isinstance(value, str) and isinstance(part, str):
        return part in value
    return bool(value == part)


def _measure_length(value: Any) -> Any:
    match value:
        case None:
            return 0
        case bool():
            return _fail("boolean has no length")
        case int() | float():
            return abs(value)
    return len(value)


def _to_number(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return json.loads(value) if re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", value) else _fail("no number")
        except ValueError:
            return _fail("no number")
    return value if type_name(value) == "number" else _fail("no number")


def to_string(value: Any) -> str:
    """Return a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _add_all(values: Any) -> Any:
    total: Any = None
    for value in _iterate(values):
        total = add(total, value)
    return total


def _iterate(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else _fail(f"cannot iterate over {type_name(value)}")


def _parse_seconds(text: Any) -> Any:
    try:
        return int(parse_time(text).timestamp())
    except (TypeError, ValueError):
        return _fail("no date")


def _require_string(value: Any) -> str:
    return value if isinstance(value, str) else _fail(f"{type_name(value)} is no string")


def _unique(values: Any) -> list[Any]:
    result: list[Any] = []
    for value in sorted(_iterate(values), key=sort_key):
        if not result or result[-1] != value:
            result.append(value)
    return result


# Functions without arguments, by name.
FUNCTIONS_WITHOUT_ARGUMENT: Final[Mapping[str, Callable[[Any], Any]]] = {
    "add": _add_all,
    "all": lambda values: all(is_true(value) for value in _iterate(values)),
    "any": lambda values: any(is_true(value) for value in _iterate(values)),
    "ascii_downcase": lambda text: _require_string(text).lower(),
    "ascii_upcase": lambda text: _require_string(text).upper(),
    "first": lambda values: next(iter(_iterate(values)), None),
    "floor": lambda value: int(_to_number(value) // 1),
    "fromdate": _parse_seconds,
    "fromdateiso8601": _parse_seconds,
    "fromjson": lambda text: json.loads(_require_string(text)),
    "keys": lambda value: sorted(value) if isinstance(value, dict) else list(range(len(list(_iterate(value))))),
    "last": lambda values: list(_iterate(values))[-1] if values else None,
    "length": _measure_length,
    "max": lambda values: max(_iterate(values), key=sort_key, default=None),
    "min": lambda values: min(_iterate(values), key=sort_key, default=None),
    "not": lambda value: not is_true(value),
    "reverse": lambda values: list(_iterate(values))[::-1],
    "sort": lambda values: sorted(_iterate(values), key=sort_key),
    "to_entries": lambda value: (
        [{"key": key, "value": one} for key, one in value.items()] if isinstance(value, dict) else _fail("no object")
    ),
    "tojson": lambda value: json.dumps(value, separators=(",", ":")),
    "tonumber": _to_number,
    "tostring": to_string,
    "type": type_name,
    "unique": _unique,
}

# Functions whose one argument is a value, by name.
FUNCTIONS_OF_VALUE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "contains": contains,
    "endswith": lambda value, part: _require_string(value).endswith(_require_string(part)),
    "has": lambda value, key: key in value if isinstance(value, dict) else 0 <= key < len(list(_iterate(value))),
    "inside": lambda value, whole: contains(whole, value),
    "join": lambda values, mark: _require_string(mark).join(
        "" if one is None else to_string(one) for one in _iterate(values)
    ),
    "ltrimstr": lambda value, part: value.removeprefix(part) if isinstance(value, str) else value,
    "rtrimstr": lambda value, part: value.removesuffix(part) if isinstance(value, str) else value,
    "split": lambda value, mark: _require_string(value).split(_require_string(mark)),
    "startswith": lambda value, part: _require_string(value).startswith(_require_string(part)),
    "test": _matches,
}
