"""Message literals: protobuf's well-known types, objects and patches.

upstream 1.36: cel-go common/types/provider.go
"""

import math
from collections.abc import Callable
from typing import Any, Final

from mockkube_cel.golang.gotime import SECOND
from mockkube_cel.object_literals import is_object_type
from mockkube_cel.values import CelError, Duration, ObjectLiteral, Timestamp, UInt

Fields = dict[str, Any]


def _wrapper_builder(zero: Any, check: Callable[[Any], Any] = lambda value: value) -> Callable[[Fields], Any]:
    return lambda fields: check(fields["value"]) if "value" in fields else zero


def _check_int32(value: int) -> Any:
    return value if -(2**31) <= value < 2**31 else CelError("integer overflow")


def _check_uint32(value: UInt) -> Any:
    return value if value < 2**32 else CelError("unsigned integer overflow")


def _round_to_float32(value: float) -> float:
    if math.isnan(value) or math.isinf(value) or value == 0:
        return value
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2**24) / 2**24, exponent)


def _value(fields: Fields) -> Any:
    return next(iter(fields.values()), None) if "null_value" not in fields else None


_BUILDERS: Final[dict[str, Callable[[Fields], Any]]] = {
    "google.protobuf.BoolValue": _wrapper_builder(False),
    "google.protobuf.BytesValue": _wrapper_builder(b""),
    "google.protobuf.DoubleValue": _wrapper_builder(0.0),
    "google.protobuf.FloatValue": _wrapper_builder(0.0, _round_to_float32),
    "google.protobuf.Int64Value": _wrapper_builder(0),
    "google.protobuf.Int32Value": _wrapper_builder(0, _check_int32),
    "google.protobuf.UInt64Value": _wrapper_builder(UInt(0)),
    "google.protobuf.UInt32Value": _wrapper_builder(UInt(0), _check_uint32),
    "google.protobuf.StringValue": _wrapper_builder(""),
    "google.protobuf.Duration": lambda fields: Duration(_nanos(fields)),
    "google.protobuf.Timestamp": lambda fields: Timestamp(_nanos(fields)),
    "google.protobuf.ListValue": lambda fields: fields.get("values", []),
    "google.protobuf.Struct": lambda fields: fields.get("fields", {}),
    "google.protobuf.Value": _value,
}


def _nanos(fields: Fields) -> int:
    return int(fields.get("seconds", 0)) * SECOND + int(fields.get("nanos", 0))


def build_value(name: str, fields: Fields) -> Any:
    """Return the value of a message literal, or the error that its type is unknown."""
    builder = _BUILDERS.get(name)
    if builder is None:
        return ObjectLiteral(name, fields) if is_object_type(name) else CelError(f"unknown type '{name}'")
    return builder(fields)
