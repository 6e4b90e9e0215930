"""Conversions between types, and the function `type`.

upstream 1.36: cel-go common/stdlib/standard.go, common/types
"""

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

from mockkube_cel import costs, types, values
from mockkube_cel.declarations import CallEstimate, Function, Implementation, Overload, SizedOperand
from mockkube_cel.golang import gotime
from mockkube_cel.golang.strconv import BOOLEANS, NumberError, parse_int64, parse_uint64
from mockkube_cel.sizes import TRAVERSAL_FACTOR, Interval
from mockkube_cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, CelType
from mockkube_cel.values import CelError, Duration, Timestamp, UInt

_INT_OVERFLOW: Final = CelError("integer overflow")
_UINT_OVERFLOW: Final = CelError("unsigned integer overflow")
_TIMESTAMP_OVERFLOW: Final = CelError("timestamp overflow")
_DOUBLE: Final = re.compile(r"[+-]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9_]+)?")
_HEX_DOUBLE: Final = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_INFINITY_OR_NAN: Final = re.compile(r"[+-]?inf(?:inity)?|nan", re.IGNORECASE)
_INT_TO_DURATION: Final = "type conversion error from 'int' to 'google.protobuf.Duration'"


def _conversion_error(kind: CelType) -> CelError:
    return CelError(f"type conversion error from 'string' to '{kind.name}'")


def _identity(value: Any) -> Any:
    return value


def _number_parser(kind: CelType, read: Callable[[str], Any]) -> Implementation:
    failure = _conversion_error(kind)

    def run(text: str) -> Any:
        try:
            return read(text)
        except NumberError:
            return failure

    return run


def _double_to_int(number: float) -> Any:
    # cel-go excludes both ends, although the least int64 would fit.
    return int(number) if -(2.0**63) < number < 2.0**63 else _INT_OVERFLOW


def _double_to_uint(number: float) -> Any:
    return UInt(int(number)) if 0 <= number < 2.0**64 else _UINT_OVERFLOW


def _uint_to_int(number: UInt) -> Any:
    return int(number) if number < 2**63 else _INT_OVERFLOW


def _int_to_uint(number: int) -> Any:
    return UInt(number) if number >= 0 else _UINT_OVERFLOW


def _string_to_double(text: str) -> Any:
    if _HEX_DOUBLE.fullmatch(text):
        return float.fromhex(text)
    if _INFINITY_OR_NAN.fullmatch(text):
        return float(text)
    try:
        number = float(text) if _DOUBLE.fullmatch(text) else math.inf
    except ValueError:
        number = math.inf
    # Go's ParseFloat reports a number that overflows to infinity as out of range.
    return _conversion_error(DOUBLE) if math.isinf(number) else number


def _string_to_bool(text: str) -> Any:
    return BOOLEANS.get(text, _conversion_error(BOOL))


def _string_to_duration(text: str) -> Any:
    span = gotime.parse_duration(text)
    return _conversion_error(DURATION) if span is None else span


def _string_to_timestamp(text: str) -> Any:
    moment = gotime.parse_timestamp(text)
    if moment is None:
        return _conversion_error(TIMESTAMP)
    return moment if _in_range(moment.nanos // gotime.SECOND) else _TIMESTAMP_OVERFLOW


def _int_to_timestamp(number: int) -> Any:
    return Timestamp(number * gotime.SECOND) if _in_range(number) else _TIMESTAMP_OVERFLOW


def to_timestamp(value: str | int) -> Any:
    """Convert a text or seconds since 1970 to a timestamp as `timestamp(x)` does."""
    return _string_to_timestamp(value) if isinstance(value, str) else _int_to_timestamp(value)


def _in_range(seconds: int) -> bool:
    return gotime.SECONDS_MIN <= seconds <= gotime.SECONDS_MAX


def _bytes_to_string(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return CelError("invalid UTF-8 in bytes, cannot convert to string")


def format_double(number: float) -> str:
    """Print a double as Go's `%g` does: shortest digits, with an exponent if far from 1."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    digits_text = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) - 1 + int(exponent)
    if number == 0 or -4 <= power < 6:
        return ("-" if sign else "") + gotime.format_decimal(abs(number))
    mantissa = digits_text[0] + (f".{digits_text[1:]}" if len(digits_text) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def to_string(value: Any) -> Any:
    """Convert a value to a string as `string(x)` does."""
    return _TO_STRING[type(value)](value)


_TO_STRING: Final[dict[type, Callable[[Any], Any]]] = {
    str: _identity,
    bool: lambda value: "true" if value else "false",
    bytes: _bytes_to_string,
    float: format_double,
    Duration: gotime.format_duration,
    int: str,
    UInt: str,
    Timestamp: gotime.format_timestamp,
    CelType: lambda value: value.name,
}


def type_value(value: Any) -> CelType:
    """Return the type of a value, as a value."""
    return values.type_of(value)


def _overload(overload_id: str, argument: CelType, result: CelType, run: Implementation = _identity) -> Overload:
    return Overload(overload_id, (argument,), result, run)


def _estimate_to_bytes(operands: Sequence[SizedOperand]) -> CallEstimate:
    size = operands[0].size
    return CallEstimate(size.scale_by(TRAVERSAL_FACTOR), Interval(size.min, costs.to_uint64(size.max * 4)))


def _estimate_from_bytes(operands: Sequence[SizedOperand]) -> CallEstimate:
    size = operands[0].size
    return CallEstimate(size.scale_by(TRAVERSAL_FACTOR), Interval(size.min // 4, size.max))


_PARAM: Final = types.param("A")

FUNCTIONS: Final = (
    Function("type", (Overload("type", (_PARAM,), types.type_of_type(_PARAM)),), run=type_value),
    Function(
        "bool",
        (_overload("bool_to_bool", BOOL, BOOL), _overload("string_to_bool", STRING, BOOL, _string_to_bool)),
    ),
    Function(
        "bytes",
        (
            _overload("bytes_to_bytes", BYTES, BYTES),
            Overload(
                "string_to_bytes", (STRING,), BYTES, lambda text: text.encode(errors="surrogatepass"),
                estimate=_estimate_to_bytes, charge=costs.charge_traversal(),
            ),
        ),
    ),
    Function(
        "double",
        (
            _overload("double_to_double", DOUBLE, DOUBLE),
            _overload("int64_to_double", INT, DOUBLE, float),
            _overload("string_to_double", STRING, DOUBLE, _string_to_double),
            _overload("uint64_to_double", UINT, DOUBLE, float),
        ),
    ),
    Function(
        "duration",
        (
            _overload("duration_to_duration", DURATION, DURATION),
            _overload("int64_to_duration", INT, DURATION, lambda n: CelError(_INT_TO_DURATION)),
            _overload("string_to_duration", STRING, DURATION, _string_to_duration),
        ),
    ),
    Function("dyn", (Overload("to_dyn", (_PARAM,), DYN),), run=_identity),
    Function(
        "int",
        (
            _overload("int64_to_int64", INT, INT),
            _overload("double_to_int64", DOUBLE, INT, _double_to_int),
            _overload("duration_to_int64", DURATION, INT, lambda span: span.nanos),
            _overload("string_to_int64", STRING, INT, _number_parser(INT, parse_int64)),
            _overload("timestamp_to_int64", TIMESTAMP, INT, lambda moment: moment.nanos // gotime.SECOND),
            _overload("uint64_to_int64", UINT, INT, _uint_to_int),
        ),
    ),
    Function(
        "string",
        (
            _overload("string_to_string", STRING, STRING),
            _overload("bool_to_string", BOOL, STRING, to_string),
            Overload(
                "bytes_to_string", (BYTES,), STRING, _bytes_to_string,
                estimate=_estimate_from_bytes, charge=costs.charge_traversal(),
            ),
            *(
                _overload(f"{name}_to_string", kind, STRING, to_string)
                for name, kind in (
                    ("double", DOUBLE), ("duration", DURATION), ("int64", INT), ("timestamp", TIMESTAMP),
                    ("uint64", UINT),
                )
            ),
        ),
    ),
    Function(
        "timestamp",
        (
            _overload("timestamp_to_timestamp", TIMESTAMP, TIMESTAMP),
            _overload("int64_to_timestamp", INT, TIMESTAMP, _int_to_timestamp),
            _overload("string_to_timestamp", STRING, TIMESTAMP, _string_to_timestamp),
        ),
    ),
    Function(
        "uint",
        (
            _overload("uint64_to_uint64", UINT, UINT),
            _overload("double_to_uint64", DOUBLE, UINT, _double_to_uint),
            _overload("int64_to_uint64", INT, UINT, _int_to_uint),
            _overload("string_to_uint64", STRING, UINT, _number_parser(UINT, lambda text: UInt(parse_uint64(text)))),
        ),
    ),
)  # fmt: skip
