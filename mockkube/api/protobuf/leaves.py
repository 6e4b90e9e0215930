"""Decoders of messages that are one JSON value: quantities, times, int-or-string, and embedded JSON."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from mockkube.api import times
from mockkube.api.protobuf import wire
from mockkube.api.protobuf.wire import Malformed
from mockkube.api.quantities import quantity
from mockkube.api.schema import Shape

# Decodes the value between two offsets.
Leaf = Callable[[bytes, int, int], Any]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def decode_text(data: bytes, pos: int, end: int) -> Any:
    """Decode text; invalid UTF-8 is replaced, as Go's JSON does."""
    return data[pos:end].decode("utf-8", "replace")


def decode_bytes(data: bytes, pos: int, end: int) -> Any:
    """Decode bytes to the base64 form of JSON."""
    return base64.b64encode(data[pos:end]).decode()


def decode_quantity(data: bytes, pos: int, end: int) -> Any:
    """Decode a quantity to its canonical form."""
    found = wire.read_fields(data, pos, end)
    if 1 not in found:
        return "0"
    try:
        return quantity.to_canonical(found.get_bytes(1).decode("utf-8", "replace"))
    except ValueError as error:
        raise Malformed(str(error)) from error


def decode_time(data: bytes, pos: int, end: int) -> Any:
    """Decode a time of whole seconds; None without any bytes."""
    # upstream 1.36: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/time_proto.go
    return times.render_time(_decode_timestamp(wire.read_fields(data, pos, end))) if pos != end else None


def decode_micro_time(data: bytes, pos: int, end: int) -> Any:
    """Decode a time of microseconds; None without any bytes."""
    if pos == end:
        return None
    found = wire.read_fields(data, pos, end)
    return times.render_micro_time(_decode_timestamp(found, micros=wire.to_int32(found.get_number(2)) // 1000))


def _decode_timestamp(found: wire.MessageFields, micros: int = 0) -> datetime:
    seconds = found.get_number(1)
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=micros)
    except OverflowError as error:
        raise Malformed(f"{seconds} seconds are no time of the years 1 to 9999") from error


def decode_int_or_string(data: bytes, pos: int, end: int) -> Any:
    """Decode the number or the text, by the message's type field."""
    found = wire.read_fields(data, pos, end)
    match found.get_number(1):
        case 0:
            return wire.to_int32(found.get_number(2))
        case 1:
            return found.get_bytes(3).decode("utf-8", "replace")
        case unknown:
            raise Malformed(f"impossible IntOrString.Type: {unknown}")


def decode_json(data: bytes, pos: int, end: int) -> Any:
    """Decode the JSON text of a RawExtension, FieldsV1 or JSON; None without one."""
    raw = wire.read_fields(data, pos, end).get_bytes(1)
    try:
        return orjson.loads(raw) if raw else None
    except orjson.JSONDecodeError as error:
        raise Malformed(f"json: {error}") from error


def decode_empty(data: bytes, pos: int, end: int) -> Any:
    """Decode a struct without fields."""
    wire.read_fields(data, pos, end)
    return {}


DECODERS: Final[dict[Shape, Leaf]] = {
    Shape.STRING: decode_text,
    Shape.BYTES: decode_bytes,
    Shape.QUANTITY: decode_quantity,
    Shape.TIME: decode_time,
    Shape.MICRO_TIME: decode_micro_time,
    Shape.INT_OR_STRING: decode_int_or_string,
}
