"""Operators on values: arithmetic, ordering and membership.

upstream 1.36: cel-go common/types
"""

import math
from collections.abc import Callable
from typing import Any, Final

from mockkube_cel import values
from mockkube_cel.declarations import Implementation
from mockkube_cel.golang.gotime import SECOND, SECONDS_MAX, SECONDS_MIN
from mockkube_cel.values import NO_OVERLOAD, CelError, Duration, MutableList, SchemaList, Timestamp, UInt

_INT_OVERFLOW: Final = CelError("integer overflow")
_UINT_OVERFLOW: Final = CelError("unsigned integer overflow")
_TIMESTAMP_OVERFLOW: Final = CelError("timestamp overflow")
_DIVISION_BY_ZERO: Final = CelError("division by zero")
_MODULUS_BY_ZERO: Final = CelError("modulus by zero")
_NOT_ORDERED: Final = CelError("NaN values cannot be ordered")


def check_int_range(number: int) -> Any:
    """Return the number if it fits an int, else the overflow error."""
    return number if -(2**63) <= number < 2**63 else _INT_OVERFLOW


def check_uint_range(number: int) -> Any:
    """Return the number as a uint if it fits one, else the overflow error."""
    return UInt(number) if 0 <= number < 2**64 else _UINT_OVERFLOW


def unsupported_type(function: str, value: Any) -> CelError:
    """Return the error for values of a type that does not support a function."""
    return NO_OVERLOAD if type(value) in (str, Duration, Timestamp) else CelError(f"no such overload: {function}")


def _to_timestamp(nanos: int, offset_seconds: int) -> Any:
    inside = SECONDS_MIN <= nanos // SECOND <= SECONDS_MAX
    return Timestamp(nanos, offset_seconds) if inside else _TIMESTAMP_OVERFLOW


def _to_duration(nanos: int) -> Any:
    return Duration(nanos) if -(2**63) <= nanos < 2**63 else _INT_OVERFLOW


def add(left: Any, right: Any) -> Any:
    """Compute `left + right`."""
    kind = type(left)
    if kind is MutableList:
        if not isinstance(right, list):
            return NO_OVERLOAD
        # Only comprehensions hold a MutableList; copying it at every step would make them quadratic.
        left.extend(right)
        return left
    if isinstance(left, SchemaList):
        return left.concatenate(right) if isinstance(right, list) else NO_OVERLOAD
    if kind is list:
        return left + right if isinstance(right, list) else NO_OVERLOAD
    if kind is Duration and type(right) is Timestamp:
        return _to_timestamp(left.nanos + right.nanos, right.offset_seconds)
    if kind is Timestamp:
        return _to_timestamp(left.nanos + right.nanos, left.offset_seconds) if type(right) is Duration else NO_OVERLOAD
    if kind not in _ADDABLE:
        return unsupported_type("_+_", left)
    return _ADDABLE[kind](left, right) if type(right) is kind else NO_OVERLOAD


_ADDABLE: Final[dict[type, Callable[[Any, Any], Any]]] = {
    int: lambda left, right: check_int_range(left + right),
    UInt: lambda left, right: check_uint_range(int(left) + int(right)),
    float: lambda left, right: left + right,
    str: lambda left, right: left + right,
    bytes: lambda left, right: left + right,
    Duration: lambda left, right: _to_duration(left.nanos + right.nanos),
}


def subtract(left: Any, right: Any) -> Any:
    """Compute `left - right`."""
    kind = type(left)
    if kind is Timestamp:
        if type(right) is Duration:
            return (
                _INT_OVERFLOW
                if right.nanos == -(2**63)
                else _to_timestamp(left.nanos - right.nanos, left.offset_seconds)
            )
        return _to_duration(left.nanos - right.nanos) if type(right) is Timestamp else NO_OVERLOAD
    if kind not in _SUBTRACTABLE:
        return unsupported_type("_-_", left)
    return _SUBTRACTABLE[kind](left, right) if type(right) is kind else NO_OVERLOAD


_SUBTRACTABLE: Final[dict[type, Callable[[Any, Any], Any]]] = {
    int: lambda left, right: check_int_range(left - right),
    UInt: lambda left, right: check_uint_range(int(left) - int(right)),
    float: lambda left, right: left - right,
    Duration: lambda left, right: _to_duration(left.nanos - right.nanos),
}


def _divide_doubles(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _divide_ints(left: int, right: int) -> Any:
    if right == 0:
        return _DIVISION_BY_ZERO
    # Go truncates towards zero, where Python's `//` rounds down.
    quotient = abs(left) // abs(right)
    return check_int_range(quotient if (left < 0) is (right < 0) else -quotient)


def _modulo_ints(left: int, right: int) -> Any:
    if right == 0:
        return _MODULUS_BY_ZERO
    if left == -(2**63) and right == -1:
        return _INT_OVERFLOW
    # The remainder has the sign of the dividend in Go, of the divisor in Python.
    return int(math.copysign(1, left)) * (abs(left) % abs(right))


def _make_operator(function: str, table: dict[type, Callable[[Any, Any], Any]]) -> Implementation:
    def run(left: Any, right: Any) -> Any:
        kind = type(left)
        if kind not in table:
            return unsupported_type(function, left)
        return table[kind](left, right) if type(right) is kind else NO_OVERLOAD

    return run


divide: Final = _make_operator(
    "_/_",
    {
        int: _divide_ints,
        UInt: lambda left, right: UInt(int(left) // int(right)) if right else _DIVISION_BY_ZERO,
        float: _divide_doubles,
    },
)
multiply: Final = _make_operator(
    "_*_",
    {
        int: lambda left, right: check_int_range(left * right),
        UInt: lambda left, right: check_uint_range(int(left) * int(right)),
        float: lambda left, right: left * right,
    },
)
modulo: Final = _make_operator(
    "_%_",
    {
        int: _modulo_ints,
        UInt: lambda left, right: UInt(int(left) % int(right)) if right else _MODULUS_BY_ZERO,
    },
)


def negate(value: Any) -> Any:
    """Compute `-value`."""
    if type(value) is int:
        return check_int_range(-value)
    if type(value) is float:
        return -value
    if type(value) is Duration:
        return _to_duration(-value.nanos)
    # cel-go's Bool has a Negate method for `!`, so `-true` fails with another error than other types.
    return NO_OVERLOAD if type(value) is bool else unsupported_type("-_", value)


def logical_not(value: Any) -> Any:
    """Compute `!value`."""
    return not value if type(value) is bool else NO_OVERLOAD


def not_strictly_false(value: Any) -> bool:
    """Return whether a comprehension continues: for anything but false, errors included."""
    return value is not False


_COMPARABLE: Final = frozenset({bool, int, UInt, float, str, bytes, Duration, Timestamp})
_NUMBERS: Final = frozenset({int, UInt, float})


def compare(left: Any, right: Any) -> Any:
    """Return -1, 0 or 1, or an error where the values have no order."""
    kind, other = type(left), type(right)
    if kind in _NUMBERS and other in _NUMBERS:
        if float in (kind, other):
            left, right = float(left), float(right)
            if math.isnan(left) or math.isnan(right):
                return _NOT_ORDERED
    elif kind is not other:
        if kind is float and math.isnan(left):
            return _NOT_ORDERED
        return NO_OVERLOAD
    return (left > right) - (left < right)


def make_ordering(function: str, accepts: frozenset[int]) -> Implementation:
    """Return the implementation of `<`, `<=`, `>` or `>=`, which holds for these results of `compare`."""

    def run(left: Any, right: Any) -> Any:
        if type(left) not in _COMPARABLE:
            return unsupported_type(function, left)
        order = compare(left, right)
        return order if type(order) is CelError else order in accepts

    return run


def is_in(value: Any, container: Any) -> Any:
    """Compute `value in container`."""
    if isinstance(container, list):
        return values.contains(container, value)
    if isinstance(container, dict):
        return values.to_key(value) in container
    return NO_OVERLOAD
