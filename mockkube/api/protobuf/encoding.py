"""Protobuf encoders, byte for byte like upstream's generated code: fields by number, zeros included."""

import base64
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from mockkube.api import times
from mockkube.api.compile_cache import CompileCache
from mockkube.api.fields import escape_html
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.protobuf import wire
from mockkube.api.protobuf.layout import WireField, is_items_message, wire_fields
from mockkube.api.protobuf.unions import find_union, from_json
from mockkube.api.schema import Schema, Shape, TypeField, TypeNode

# Encodes a value, without its tag and length.
Content = Callable[[Any], bytes]
# Encodes a present field: tag, length and value.
_FieldEncoder = Callable[[Any], bytes]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_INT_OR_STRING_ZERO: Final = b"\x08\x00\x10\x00\x1a\x00"


class Encoders:
    """Protobuf encoders of one schema's types."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._writers: CompileCache[int, Content] = CompileCache()

    def get_encoder(self, node: TypeNode) -> Content:
        """Return the encoder of a struct."""
        key = id(node.fields)
        writers = self._writers
        return writers.get(key) or writers.get_or_compile(
            key, lambda: self._compile_struct(wire_fields(node)), lambda value: writers[key](value)
        )

    def _compile_struct(self, given: tuple[WireField, ...]) -> Content:
        rows: list[tuple[str, bytes, _FieldEncoder]] = []
        for slot in given:
            if slot.field is None:
                rows.append(("", b"", _make_sized_encoder(slot.number, self._compile_struct(slot.inlined))))
            else:
                put = self._compile_field(slot.number, slot.field.node)
                rows.append((slot.field.name, self._encode_zero(slot.number, slot.field, put), put))

        def write(value: ReadOnlyObject) -> bytes:
            get, parts = value.get, []
            for name, zero, put in rows:
                if not name:
                    parts.append(put(value))
                elif (item := get(name)) is not None:
                    parts.append(put(item))
                elif zero:
                    parts.append(zero)
            return b"".join(parts)

        return write

    def _encode_zero(self, number: int, field: TypeField, put: _FieldEncoder) -> bytes:
        """Return the bytes of an absent field: none, unless Go holds the value itself."""
        if field.pointer:
            return b""
        match field.node.shape:
            case Shape.BOOL | Shape.INT32 | Shape.INT64:
                return put(0)
            case Shape.FLOAT:
                return put(0.0)
            case Shape.STRING:
                return put("")
            case Shape.QUANTITY:
                return put("0")
            case Shape.STRUCT:
                return put({})
            case Shape.TIME | Shape.MICRO_TIME:
                return wire.encode_length_delimited(wire.encode_tag(number, wire.LENGTH_DELIMITED), b"")
            case Shape.INT_OR_STRING:
                return wire.encode_length_delimited(wire.encode_tag(number, wire.LENGTH_DELIMITED), _INT_OR_STRING_ZERO)
            case Shape.ANY:
                return put(None)
            case _:
                return b""

    def _compile_field(self, number: int, node: TypeNode) -> _FieldEncoder:
        match node.shape:
            case Shape.BOOL | Shape.INT32 | Shape.INT64:
                return _make_varint_encoder(number)
            case Shape.FLOAT:
                return _make_double_encoder(number)
            case Shape.LIST if not is_items_message(node):
                assert node.item is not None
                return _make_repeated_encoder(self._compile_field(number, node.item))
            case Shape.MAP:
                assert node.item is not None
                return self._compile_entries(number, node.item)
            case _:
                return _make_sized_encoder(number, self.get_content_encoder(node))

    def _compile_entries(self, number: int, item: TypeNode) -> _FieldEncoder:
        before, key_tag, put = (
            wire.encode_tag(number, wire.LENGTH_DELIMITED),
            wire.encode_tag(1, wire.LENGTH_DELIMITED),
            self._compile_field(2, item),
        )
        field = TypeField("", item, pointer=False, omit_empty=False, omit_zero=False)

        def write(value: ReadOnlyObject) -> bytes:
            parts = []
            # Generated code sorts the keys of a map, so that equal objects have equal bytes.
            for key in sorted(value):
                held = value[key]
                content = self._encode_zero(2, field, put) if held is None else put(held)
                parts.append(
                    wire.encode_length_delimited(before, wire.encode_length_delimited(key_tag, key.encode()) + content)
                )
            return b"".join(parts)

        return write

    def get_content_encoder(self, node: TypeNode) -> Content:
        """Return the encoder of a length-delimited value."""
        match node.shape:
            case Shape.STRUCT:
                return self.get_encoder(node)
            case Shape.LIST:
                return _ITEMS
            case Shape.ANY:
                return self._compile_any(node)
            case shape:
                return _CONTENTS[shape]

    def _compile_any(self, node: TypeNode) -> Content:
        name = node.definition.rpartition(".")[2]
        if name == "RawExtension":
            return _encode_raw_extension
        if name in ("FieldsV1", "JSON"):
            return _encode_json
        if (either := find_union(self._schema, name)) is None:
            return lambda value: b""
        write = self._compile_struct(either.slots)
        return lambda value: write(from_json(value))


def _make_sized_encoder(number: int, content: Content) -> _FieldEncoder:
    before, sized = wire.encode_tag(number, wire.LENGTH_DELIMITED), wire.encode_length_delimited
    return lambda value: sized(before, content(value))


def _make_varint_encoder(number: int) -> _FieldEncoder:
    before, varint = wire.encode_tag(number, wire.VARINT), wire.encode_varint
    return lambda value: before + varint(value)


def _make_double_encoder(number: int) -> _FieldEncoder:
    before = wire.encode_tag(number, wire.FIXED64)
    return lambda value: before + struct.pack("<d", value)


def _make_repeated_encoder(put: _FieldEncoder) -> _FieldEncoder:
    return lambda value: b"".join([put(item) for item in value])


def _encode_timestamp(moment: datetime, micros: int) -> bytes:
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    return b"\x08" + wire.encode_varint(seconds) + b"\x10" + wire.encode_varint(micros * 1000)


def _encode_time(value: Any) -> bytes:
    return _encode_timestamp(times.parse_time(value), 0)


def _encode_micro_time(value: Any) -> bytes:
    moment = times.parse_time(value)
    return _encode_timestamp(moment, moment.microsecond)


def _encode_int_or_string(value: Any) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + wire.encode_length_delimited(b"\x1a", value.encode())
    return b"\x08\x00\x10" + wire.encode_varint(value) + b"\x1a\x00"


def _encode_json(value: Any) -> bytes:
    return b"" if value is None else wire.encode_length_delimited(b"\x0a", orjson.dumps(value))


def _encode_raw_extension(value: Any) -> bytes:
    # Clients compare these bytes with what Go's encoder makes: those of ControllerRevisions, for one.
    return b"" if value is None else wire.encode_length_delimited(b"\x0a", escape_html(orjson.dumps(value)))


def _encode_text(value: Any) -> bytes:
    encoded: bytes = value.encode()
    return encoded


_CONTENTS: Final[dict[Shape, Content]] = {
    Shape.STRING: _encode_text,
    Shape.BYTES: base64.b64decode,
    Shape.QUANTITY: lambda value: wire.encode_length_delimited(b"\x0a", value.encode()),
    Shape.TIME: _encode_time,
    Shape.MICRO_TIME: _encode_micro_time,
    Shape.INT_OR_STRING: _encode_int_or_string,
}
_ITEMS: Final = _make_repeated_encoder(_make_sized_encoder(1, _encode_text))
