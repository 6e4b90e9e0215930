"""The swagger document as a message, read back by its field numbers alone."""

from collections.abc import Iterator
from typing import Any

import pytest

from mockkube.apiserver.http.openapi import protobuf

# upstream 1.36: vendor/github.com/google/gnostic-models/openapiv2/OpenAPIv2.proto
PATHS, DEFINITIONS, PARAMETERS = 8, 9, 10
TYPE, ITEMS, PROPERTIES, EXTENSION = 22, 23, 25, 31


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            yield key >> 3, value
        elif key & 7 == 1:
            yield key >> 3, data[at : at + 8]
            at += 8
        else:
            size, at = varint(data, at)
            yield key >> 3, data[at : at + size]
            at += size
    assert at == len(data)


def every(data: bytes, *path: int) -> list[Any]:
    """The values at the end of a path of field numbers."""
    found: list[Any] = [data]
    for number in path:
        found = [value for one in found for key, value in fields(one) if key == number]
    return found


def definition(schema: dict[str, Any]) -> bytes:
    """The message of one schema."""
    whole = protobuf.encode({"definitions": {"a.B": schema}})
    assert every(whole, DEFINITIONS, 1, 1) == [b"a.B"]
    message: bytes = every(whole, DEFINITIONS, 1, 2)[0]
    return message


def test_a_property_has_its_name_type_and_reference() -> None:
    message = definition(
        {
            "type": "object",
            "required": ["s"],
            "properties": {"s": {"type": "string"}, "r": {"$ref": "#/definitions/c.D"}},
        }
    )
    assert every(message, TYPE, 1) == [b"object"]
    assert every(message, 19) == [b"s"]
    assert every(message, PROPERTIES, 1, 1) == [b"s", b"r"]
    assert every(message, PROPERTIES, 1, 2, TYPE, 1) == [b"string"]
    assert every(message, PROPERTIES, 1, 2, 1) == [b"#/definitions/c.D"]


def test_items_and_further_properties_are_schemas() -> None:
    assert every(definition({"items": {"type": "string"}}), ITEMS, 1, TYPE, 1) == [b"string"]
    assert every(definition({"additionalProperties": {"type": "string"}}), 21, 1, TYPE, 1) == [b"string"]
    assert every(definition({"additionalProperties": True}), 21, 2) == [1]


def test_an_extension_is_a_name_and_a_text_of_yaml() -> None:
    message = definition({"x-kubernetes-list-map-keys": ["name"]})
    assert every(message, EXTENSION, 1) == [b"x-kubernetes-list-map-keys"]
    assert every(message, EXTENSION, 2, 2) == [b'["name"]\n']


@pytest.mark.parametrize(
    ("schema", "number", "value"),
    [
        pytest.param({"maxLength": 300}, 11, 300, id="more than seven bits"),
        pytest.param({"minLength": 0}, 12, 0, id="zero is told"),
        pytest.param({"minimum": -1}, 9, b"\x00\x00\x00\x00\x00\x00\xf0\xbf", id="a double"),
        pytest.param({"minItems": -1}, 15, 2**64 - 1, id="negative, in two's complement"),
    ],
)
def test_a_number_is_written_as_its_field_asks(schema: dict[str, Any], number: int, value: object) -> None:
    assert every(definition(schema), number) == [value]


def test_operations_tell_their_parameters_and_answers() -> None:
    operation = {
        "operationId": "listThings",
        "parameters": [
            {"$ref": "#/parameters/p"},
            {"name": "body", "in": "body", "schema": {"$ref": "#/definitions/a.B"}},
        ],
        "responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/a.B"}}},
        "x-kubernetes-action": "list",
    }
    parameters = {"p": {"name": "limit", "in": "query", "type": "integer"}, "q": {"name": "name", "in": "path"}}
    whole = protobuf.encode({"paths": {"/x": {"get": operation}}, "parameters": parameters})
    assert every(whole, PATHS, 2, 1) == [b"/x"]
    (get,) = every(whole, PATHS, 2, 2, 2)
    assert every(get, 5) == [b"listThings"]
    assert every(get, 8, 2, 1) == [b"#/parameters/p"]
    assert every(get, 8, 1, 1, 5, 1) == [b"#/definitions/a.B"]
    assert every(get, 9, 1, 1) == [b"200"]
    assert every(get, 9, 1, 2, 1, 2, 1, 1) == [b"#/definitions/a.B"]
    assert every(get, 13, 1) == [b"x-kubernetes-action"]
    assert every(whole, PARAMETERS, 1, 2, 2, 3, 4) == [b"limit"]
    assert every(whole, PARAMETERS, 1, 2, 2, 4, 4) == [b"name"]
