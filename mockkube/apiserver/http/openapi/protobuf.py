"""Encode the swagger document as the protobuf message that kubectl requests: gnostic's `openapi.v2.Document`.

It covers only keys that the document contains. A message is a table from JSON key to the function that encodes it.
"""

# upstream 1.36: vendor/github.com/google/gnostic-models/openapiv2/OpenAPIv2.proto
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

Encode = Callable[[Any], bytes]
"""Function that encodes a value as the content of a message."""
Write = Callable[[Any], bytes]
"""Function that encodes a value as a field of a message, with its number."""
Table = Mapping[str, Write]

_VARINT: Final = 0
_FIXED64: Final = 1
_DELIMITED: Final = 2


def _varint(value: int) -> bytes:
    # protobuf encodes a negative integer as its 64-bit two's complement.
    value &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _tagged(number: int, payload: bytes) -> bytes:
    return _varint(number << 3 | _DELIMITED) + _varint(len(payload)) + payload


def _one(number: int, encode: Encode) -> Write:
    return lambda value: _tagged(number, encode(value))


def _each(number: int, encode: Encode) -> Write:
    return lambda values: b"".join([_tagged(number, encode(value)) for value in values])


def _text(number: int) -> Write:
    return _one(number, str.encode)


def _texts(number: int) -> Write:
    return _each(number, str.encode)


def _integer(number: int) -> Write:
    return lambda value: _varint(number << 3 | _VARINT) + _varint(int(value))


def _double(number: int) -> Write:
    return lambda value: _varint(number << 3 | _FIXED64) + struct.pack("<d", value)


def _entries(number: int, encode: Encode) -> Write:
    """Return the encoder of a JSON object as repeated name-value messages."""
    name, value = _text(1), _one(2, encode)
    return lambda whole: b"".join([_tagged(number, name(key) + value(item)) for key, item in whole.items()])


def _message(table: Table, extensions: int = 0) -> Encode:
    """Return the encoder of a message; unknown keys are extensions (`x-...`) or left out."""
    return lambda whole: b"".join([_field(table, extensions, key, value) for key, value in whole.items()])


def _field(table: Table, extensions: int, key: str, value: Any) -> bytes:
    if write := table.get(key):
        return write(value)
    return _entries(extensions, _any)({key: value}) if extensions and key.startswith("x-") else b""


def _any(value: Any) -> bytes:
    """Encode any value as gnostic's `Any`, which holds YAML; JSON is valid YAML."""
    return _tagged(2, orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))


def _additional(value: Any) -> bytes:
    return _integer(2)(value) if isinstance(value, bool) else _tagged(1, _schema(value))


def _schema(value: Any) -> bytes:
    # Schemas contain schemas: this function is named in the table before the table exists.
    return _SCHEMA(value)


def _parameter(value: Mapping[str, Any]) -> bytes:
    if value["in"] == "body":
        return _tagged(1, _BODY(value))
    return _tagged(2, _tagged(3, _QUERY(value)) if value["in"] == "query" else _tagged(4, _PATH(value)))


def _parameter_item(value: Mapping[str, Any]) -> bytes:
    return _tagged(2, _text(1)(value["$ref"])) if "$ref" in value else _tagged(1, _parameter(value))


_SCHEMA: Final = _message(
    {
        "$ref": _text(1),
        "format": _text(2),
        "title": _text(3),
        "description": _text(4),
        "default": _one(5, _any),
        "multipleOf": _double(6),
        "maximum": _double(7),
        "exclusiveMaximum": _integer(8),
        "minimum": _double(9),
        "exclusiveMinimum": _integer(10),
        "maxLength": _integer(11),
        "minLength": _integer(12),
        "pattern": _text(13),
        "maxItems": _integer(14),
        "minItems": _integer(15),
        "uniqueItems": _integer(16),
        "maxProperties": _integer(17),
        "minProperties": _integer(18),
        "required": _texts(19),
        "enum": _each(20, _any),
        "additionalProperties": _one(21, _additional),
        "type": _one(22, _text(1)),
        "items": _one(23, _one(1, _schema)),
        "allOf": _each(24, _schema),
        "properties": _one(25, _entries(1, _schema)),
    },
    extensions=31,
)
_BODY: Final = _message(
    {"description": _text(1), "name": _text(2), "in": _text(3), "required": _integer(4), "schema": _one(5, _schema)}
)
_QUERY: Final = _message(
    {"in": _text(2), "description": _text(3), "name": _text(4), "type": _text(6), "uniqueItems": _integer(20)}
)
_PATH: Final = _message(
    {
        "required": _integer(1),
        "in": _text(2),
        "description": _text(3),
        "name": _text(4),
        "type": _text(5),
        "uniqueItems": _integer(19),
    }
)
_RESPONSE: Final = _message({"description": _text(1), "schema": _one(2, _one(1, _schema))})
_OPERATION: Final = _message(
    {
        "tags": _texts(1),
        "description": _text(3),
        "operationId": _text(5),
        "produces": _texts(6),
        "consumes": _texts(7),
        "parameters": _each(8, _parameter_item),
        "responses": _one(9, _entries(1, _one(1, _RESPONSE))),
        "schemes": _texts(10),
    },
    extensions=13,
)
_METHODS: Final = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
_ITEM: Final = _message(
    {
        **{method: _one(number, _OPERATION) for method, number in _METHODS.items()},
        "parameters": _each(9, _parameter_item),
    }
)
_KEY: Final = _message({"type": _text(1), "name": _text(2), "in": _text(3), "description": _text(4)})
_DOCUMENT: Final = _message(
    {
        "swagger": _text(1),
        "info": _one(2, _message({"title": _text(1), "version": _text(2)})),
        "paths": _one(8, _entries(2, _ITEM)),
        "definitions": _one(9, _entries(1, _schema)),
        "parameters": _one(10, _entries(1, _parameter)),
        "security": _each(12, _entries(1, _texts(1))),
        "securityDefinitions": _one(13, _entries(1, _one(2, _KEY))),
    }
)


def encode(document: Mapping[str, Any]) -> bytes:
    """Return the swagger document as a protobuf message."""
    return _DOCUMENT(document)
