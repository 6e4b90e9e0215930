"""Encode the swagger document as the protobuf message that kubectl requests: gnostic's `openapi.v2.Document`.

It covers only keys that the document contains. A message is a table from JSON key to the function that encodes it.
"""

# upstream 1.36: vendor/github.com/google/gnostic-models/openapiv2/OpenAPIv2.proto
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

EncodeContent = Callable[[Any], bytes]
"""Function that encodes a value as the content of a message."""
EncodeField = Callable[[Any], bytes]
"""Function that encodes a value as a field of a message, with its number."""
MessageTable = Mapping[str, EncodeField]

_VARINT: Final = 0
_FIXED64: Final = 1
_DELIMITED: Final = 2


def _encode_varint(value: int) -> bytes:
    # protobuf encodes a negative integer as its 64-bit two's complement.
    value &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _encode_delimited(number: int, payload: bytes) -> bytes:
    return _encode_varint(number << 3 | _DELIMITED) + _encode_varint(len(payload)) + payload


def _single_field(number: int, encode: EncodeContent) -> EncodeField:
    return lambda value: _encode_delimited(number, encode(value))


def _repeated_field(number: int, encode: EncodeContent) -> EncodeField:
    return lambda values: b"".join([_encode_delimited(number, encode(value)) for value in values])


def _text_field(number: int) -> EncodeField:
    return _single_field(number, str.encode)


def _repeated_text_field(number: int) -> EncodeField:
    return _repeated_field(number, str.encode)


def _integer_field(number: int) -> EncodeField:
    return lambda value: _encode_varint(number << 3 | _VARINT) + _encode_varint(int(value))


def _double_field(number: int) -> EncodeField:
    return lambda value: _encode_varint(number << 3 | _FIXED64) + struct.pack("<d", value)


def _named_entries_field(number: int, encode: EncodeContent) -> EncodeField:
    """Return the encoder of a JSON object as repeated name-value messages."""
    name, value = _text_field(1), _single_field(2, encode)
    return lambda whole: b"".join([_encode_delimited(number, name(key) + value(item)) for key, item in whole.items()])


def _message_encoder(table: MessageTable, extensions: int = 0) -> EncodeContent:
    """Return the encoder of a message; unknown keys are extensions (`x-...`) or left out."""
    return lambda whole: b"".join([_encode_field(table, extensions, key, value) for key, value in whole.items()])


def _encode_field(table: MessageTable, extensions: int, key: str, value: Any) -> bytes:
    if write := table.get(key):
        return write(value)
    return _named_entries_field(extensions, _encode_any)({key: value}) if extensions and key.startswith("x-") else b""


def _encode_any(value: Any) -> bytes:
    """Encode any value as gnostic's `Any`, which holds YAML; JSON is valid YAML."""
    return _encode_delimited(2, orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))


def _encode_additional_properties(value: Any) -> bytes:
    return _integer_field(2)(value) if isinstance(value, bool) else _encode_delimited(1, _encode_schema(value))


def _encode_schema(value: Any) -> bytes:
    # Schemas contain schemas: this function is named in the table before the table exists.
    return _SCHEMA_ENCODER(value)


def _encode_parameter(value: Mapping[str, Any]) -> bytes:
    if value["in"] == "body":
        return _encode_delimited(1, _BODY_ENCODER(value))
    return _encode_delimited(
        2,
        _encode_delimited(3, _QUERY_ENCODER(value))
        if value["in"] == "query"
        else _encode_delimited(4, _PATH_ENCODER(value)),
    )


def _encode_parameter_or_reference(value: Mapping[str, Any]) -> bytes:
    return (
        _encode_delimited(2, _text_field(1)(value["$ref"]))
        if "$ref" in value
        else _encode_delimited(1, _encode_parameter(value))
    )


_SCHEMA_ENCODER: Final = _message_encoder(
    {
        "$ref": _text_field(1),
        "format": _text_field(2),
        "title": _text_field(3),
        "description": _text_field(4),
        "default": _single_field(5, _encode_any),
        "multipleOf": _double_field(6),
        "maximum": _double_field(7),
        "exclusiveMaximum": _integer_field(8),
        "minimum": _double_field(9),
        "exclusiveMinimum": _integer_field(10),
        "maxLength": _integer_field(11),
        "minLength": _integer_field(12),
        "pattern": _text_field(13),
        "maxItems": _integer_field(14),
        "minItems": _integer_field(15),
        "uniqueItems": _integer_field(16),
        "maxProperties": _integer_field(17),
        "minProperties": _integer_field(18),
        "required": _repeated_text_field(19),
        "enum": _repeated_field(20, _encode_any),
        "additionalProperties": _single_field(21, _encode_additional_properties),
        "type": _single_field(22, _text_field(1)),
        "items": _single_field(23, _single_field(1, _encode_schema)),
        "allOf": _repeated_field(24, _encode_schema),
        "properties": _single_field(25, _named_entries_field(1, _encode_schema)),
    },
    extensions=31,
)
_BODY_ENCODER: Final = _message_encoder(
    {
        "description": _text_field(1),
        "name": _text_field(2),
        "in": _text_field(3),
        "required": _integer_field(4),
        "schema": _single_field(5, _encode_schema),
    }
)
_QUERY_ENCODER: Final = _message_encoder(
    {
        "in": _text_field(2),
        "description": _text_field(3),
        "name": _text_field(4),
        "type": _text_field(6),
        "uniqueItems": _integer_field(20),
    }
)
_PATH_ENCODER: Final = _message_encoder(
    {
        "required": _integer_field(1),
        "in": _text_field(2),
        "description": _text_field(3),
        "name": _text_field(4),
        "type": _text_field(5),
        "uniqueItems": _integer_field(19),
    }
)
_RESPONSE_ENCODER: Final = _message_encoder(
    {"description": _text_field(1), "schema": _single_field(2, _single_field(1, _encode_schema))}
)
_OPERATION_ENCODER: Final = _message_encoder(
    {
        "tags": _repeated_text_field(1),
        "description": _text_field(3),
        "operationId": _text_field(5),
        "produces": _repeated_text_field(6),
        "consumes": _repeated_text_field(7),
        "parameters": _repeated_field(8, _encode_parameter_or_reference),
        "responses": _single_field(9, _named_entries_field(1, _single_field(1, _RESPONSE_ENCODER))),
        "schemes": _repeated_text_field(10),
    },
    extensions=13,
)
_METHOD_FIELDS: Final = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
_PATH_ITEM_ENCODER: Final = _message_encoder(
    {
        **{method: _single_field(number, _OPERATION_ENCODER) for method, number in _METHOD_FIELDS.items()},
        "parameters": _repeated_field(9, _encode_parameter_or_reference),
    }
)
_API_KEY_ENCODER: Final = _message_encoder(
    {"type": _text_field(1), "name": _text_field(2), "in": _text_field(3), "description": _text_field(4)}
)
_DOCUMENT_ENCODER: Final = _message_encoder(
    {
        "swagger": _text_field(1),
        "info": _single_field(2, _message_encoder({"title": _text_field(1), "version": _text_field(2)})),
        "paths": _single_field(8, _named_entries_field(2, _PATH_ITEM_ENCODER)),
        "definitions": _single_field(9, _named_entries_field(1, _encode_schema)),
        "parameters": _single_field(10, _named_entries_field(1, _encode_parameter)),
        "security": _repeated_field(12, _named_entries_field(1, _repeated_text_field(1))),
        "securityDefinitions": _single_field(13, _named_entries_field(1, _single_field(2, _API_KEY_ENCODER))),
    }
)


def encode(document: Mapping[str, Any]) -> bytes:
    """Return the swagger document as a protobuf message."""
    return _DOCUMENT_ENCODER(document)
