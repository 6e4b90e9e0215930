"""Built-in functions, arithmetic and ordering of jq.

upstream: jq 1.7 manual; github.com/itchyny/gojq
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from mockkube.api.times import parse_time


class JqError(ValueError):
    """Error of an expression that cannot be parsed, or fails on a value."""


_ORDER: Final[tuple[Any, ...]] = (type(None), bool, (int, float), str, list, dict)


def rank(value: Any) -> Any:
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
            return kind + 1, [rank(one) for one in value]
        case dict():
            return kind + 1, sorted(value), [rank(value[key]) for key in sorted(value)]
    return kind + 1, value


def truthy(value: Any) -> bool:
    """Return whether jq treats a value as true: everything except false and null."""
    return value is not None and value is not False


def name_of(value: Any) -> str:
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


def added(one: Any, other: Any) -> Any:
    """Add numbers, concatenate strings and arrays, merge objects."""
    if one is None or other is None:
        return other if one is None else one
    if name_of(one) != name_of(other) or isinstance(one, bool):
        raise JqError(f"{name_of(one)} and {name_of(other)} cannot be added")
    return {**one, **other} if isinstance(one, dict) else one + other


def subtracted(one: Any, other: Any) -> Any:
    """Subtract numbers, or remove elements from an array."""
    if isinstance(one, list) and isinstance(other, list):
        return [value for value in one if value not in other]
    return _numbers(one, other, "subtracted", lambda: one - other)


def multiplied(one: Any, other: Any) -> Any:
    """Multiply numbers."""
    return _numbers(one, other, "multiplied", lambda: one * other)


def divided(one: Any, other: Any) -> Any:
    """Divide numbers, or split a string."""
    if isinstance(one, str) and isinstance(other, str):
        return one.split(other)
    return _numbers(one, other, "divided", lambda: _whole(one / other) if other else _fail("divided by zero"))


def remainder(one: Any, other: Any) -> Any:
    """Return the integer remainder."""
    return _numbers(one, other, "divided", lambda: int(one) % int(other) if int(other) else _fail("divided by zero"))


def _numbers(one: Any, other: Any, what: str, reckon: Callable[[], Any]) -> Any:
    if name_of(one) != "number" or name_of(other) != "number":
        raise JqError(f"{name_of(one)} and {name_of(other)} cannot be {what}")
    return reckon()


def _whole(number: float) -> float | int:
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


def _length(value: Any) -> Any:
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
    return value if name_of(value) == "number" else _fail("no number")


def to_text(value: Any) -> str:
    """Return a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _sum(values: Any) -> Any:
    total: Any = None
    for value in _each(values):
        total = added(total, value)
    return total


def _each(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else _fail(f"cannot iterate over {name_of(value)}")


def _seconds(text: Any) -> Any:
    try:
        return int(parse_time(text).timestamp())
    except (TypeError, ValueError):
        return _fail("no date")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _fail(f"{name_of(value)} is no string")


def _unique(values: Any) -> list[Any]:
    result: list[Any] = []
    for value in sorted(_each(values), key=rank):
        if not result or result[-1] != value:
            result.append(value)
    return result


# Functions without arguments, by name.
PLAIN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "add": _sum,
    "all": lambda values: all(truthy(value) for value in _each(values)),
    "any": lambda values: any(truthy(value) for value in _each(values)),
    "ascii_downcase": lambda text: _text(text).lower(),
    "ascii_upcase": lambda text: _text(text).upper(),
    "first": lambda values: next(iter(_each(values)), None),
    "floor": lambda value: int(_to_number(value) // 1),
    "fromdate": _seconds,
    "fromdateiso8601": _seconds,
    "fromjson": lambda text: json.loads(_text(text)),
    "keys": lambda value: sorted(value) if isinstance(value, dict) else list(range(len(list(_each(value))))),
    "last": lambda values: list(_each(values))[-1] if values else None,
    "length": _length,
    "max": lambda values: max(_each(values), key=rank, default=None),
    "min": lambda values: min(_each(values), key=rank, default=None),
    "not": lambda value: not truthy(value),
    "reverse": lambda values: list(_each(values))[::-1],
    "sort": lambda values: sorted(_each(values), key=rank),
    "to_entries": lambda value: (
        [{"key": key, "value": one} for key, one in value.items()] if isinstance(value, dict) else _fail("no object")
    ),
    "tojson": lambda value: json.dumps(value, separators=(",", ":")),
    "tonumber": _to_number,
    "tostring": to_text,
    "type": name_of,
    "unique": _unique,
}

# Functions whose one argument is a value, by name.
WITH_VALUE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "contains": contains,
    "endswith": lambda value, part: _text(value).endswith(_text(part)),
    "has": lambda value, key: key in value if isinstance(value, dict) else 0 <= key < len(list(_each(value))),
    "inside": lambda value, whole: contains(whole, value),
    "join": lambda values, mark: _text(mark).join("" if one is None else to_text(one) for one in _each(values)),
    "ltrimstr": lambda value, part: value.removeprefix(part) if isinstance(value, str) else value,
    "rtrimstr": lambda value, part: value.removesuffix(part) if isinstance(value, str) else value,
    "split": lambda value, mark: _text(value).split(_text(mark)),
    "startswith": lambda value, part: _text(value).startswith(_text(part)),
    "test": lambda value, pattern: re.search(_text(pattern), _text(value)) is not None,
}
