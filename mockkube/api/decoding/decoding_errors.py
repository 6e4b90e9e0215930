"""Decoding errors in the words of Go's decoder: a slow second walk after `codec.decode` has failed."""

import re
from collections.abc import Iterator
from typing import Any, Final

from mockkube.api import times
from mockkube.api.quantities import quantity
from mockkube.api.schema import SCHEMA_OR, Shape, TypeNode

_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]")
_GO_SCALARS: Final = {Shape.BOOL: "bool", Shape.INT32: "int32", Shape.INT64: "int64", Shape.FLOAT: "float64"}


def find_unknown_fields(node: TypeNode, value: Any, at: str = "") -> Iterator[str]:
    """Yield the paths of the fields that a type does not have, in the order of the document."""
    if node.shape is Shape.STRUCT and isinstance(value, dict):
        for key, item in value.items():
            path = f"{at}.{key}" if at else key
            field = node.fields.get(key)
            if field is None:
                yield path
            else:
                yield from find_unknown_fields(field.node, item, path)
    elif node.shape is Shape.LIST and isinstance(value, list) and node.item is not None:
        for index, item in enumerate(value):
            yield from find_unknown_fields(node.item, item, f"{at}[{index}]")
    elif node.shape is Shape.MAP and isinstance(value, dict) and node.item is not None:
        for key, item in value.items():
            yield from find_unknown_fields(node.item, item, f"{at}.{key}")


def find_decoding_error(node: TypeNode, value: Any) -> str:
    """Return the error that ends the decoding, else the first type error, as `encoding/json` words it."""
    errors = list(_type_errors(node, value, "", ""))
    fatal = next((one for one in errors if isinstance(one, _FatalMessage)), None)
    return fatal or next(iter(errors), "json: cannot unmarshal the value")


class _FatalMessage(str):
    """Error of a type that parses its own text: it ends the decoding, while others are collected."""

    __slots__ = ()


def _type_errors(node: TypeNode, value: Any, struct: str, path: str) -> Iterator[str]:
    if value is None:
        return
    match node.shape:
        case Shape.STRUCT:
            if not isinstance(value, dict):
                yield describe_unmarshal_error(value, struct, path, node.go)
                return
            own = node.go.rpartition(".")[2]
            for key, item in value.items():
                if (field := node.fields.get(key)) is not None:
                    yield from _type_errors(field.node, item, own, f"{path}.{field.go_path}" if path else field.go_path)
        case Shape.LIST:
            if not isinstance(value, list):
                yield describe_unmarshal_error(value, struct, path, node.go)
            elif node.item is not None:
                for item in value:
                    yield from _type_errors(node.item, item, struct, path)
        case Shape.MAP:
            if not isinstance(value, dict):
                yield describe_unmarshal_error(value, struct, path, node.go)
            elif node.item is not None:
                for item in value.values():
                    yield from _type_errors(node.item, item, struct, path)
        case Shape.ANY if node.item is not None:
            if isinstance(value, dict):
                yield from map(_FatalMessage, _type_errors(node.item, value, struct, path))
            elif SCHEMA_OR[node.definition] is bool and not isinstance(value, bool):
                yield _FatalMessage("boolean or JSON schema expected")
        case _:
            yield from _scalar_type_errors(node, value, struct, path)


def _scalar_type_errors(node: TypeNode, value: Any, struct: str, path: str) -> Iterator[str]:
    match node.shape:
        case Shape.STRING:
            if not isinstance(value, str):
                yield describe_unmarshal_error(value, struct, path, node.go or "string")
        case Shape.BOOL:
            if not isinstance(value, bool):
                yield describe_unmarshal_error(value, struct, path, node.go or "bool")
        case Shape.INT32 | Shape.INT64:
            bits = 31 if node.shape is Shape.INT32 else 63
            if isinstance(value, bool) or not isinstance(value, int) or not -(1 << bits) <= value < 1 << bits:
                yield describe_unmarshal_error(value, struct, path, node.go or _GO_SCALARS[node.shape])
        case Shape.FLOAT:
            if isinstance(value, bool) or not isinstance(value, int | float):
                yield describe_unmarshal_error(value, struct, path, node.go or "float64")
        case Shape.BYTES:
            if not isinstance(value, str):
                yield describe_unmarshal_error(value, struct, path, "[]uint8")
            else:
                yield from _base64_errors(value)
        case Shape.INT_OR_STRING:
            yield from _int_or_string_errors(value, struct, path)
        case _:
            yield from _parse_errors(node.shape, value, struct, path)


def describe_unmarshal_error(value: Any, struct: str, path: str, go: str) -> str:
    """Return Go's message for a value that a field of a struct, or the whole struct, cannot hold."""
    described = _describe_value(value, numeric=go in _GO_SCALARS.values() and go != "bool")
    if path:
        return f"json: cannot unmarshal {described} into Go struct field {struct}.{path} of type {go}"
    return f"json: cannot unmarshal {described} into Go value of type {go}"


def _describe_value(value: Any, *, numeric: bool = False) -> str:
    """Return the JSON kind of a value; with `numeric`, a number is shown as well."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case dict():
            return "object"
        case list():
            return "array"
        case _:
            return f"number {value}" if numeric else "number"


def _base64_errors(text: str) -> Iterator[str]:
    """Yield Go's error for invalid base64: the offset of the first bad byte."""
    offset = _first_bad_byte(text.encode())
    if offset is not None:
        yield f"illegal base64 data at input byte {offset}"


def _first_bad_byte(text: bytes) -> int | None:
    positions = [at for at, byte in enumerate(text) if byte not in b"\r\n"]
    for start in range(0, len(positions), 4):
        quantum = positions[start : start + 4]
        alien = next((index for index, at in enumerate(quantum) if not _BASE64.match(text, at)), len(quantum))
        if alien == 4:
            continue
        # The last group is incomplete; Go reports where it begins.
        if alien == len(quantum):
            return len(text) - len(quantum)
        if text[quantum[alien]] != ord("=") or alien < 2:
            return quantum[alien]
        rest = positions[start + alien + 1 :]
        if alien == 3:
            return rest[0] if rest else None
        if not rest:
            return len(text)
        if text[rest[0]] != ord("="):
            return rest[0] - 1
        return rest[1] if len(rest) > 1 else None
    return None


def _int_or_string_errors(value: Any, struct: str, path: str) -> Iterator[str]:
    if isinstance(value, str):
        return
    if isinstance(value, bool) or not isinstance(value, int) or not -(1 << 31) <= value < 1 << 31:
        yield _FatalMessage(describe_unmarshal_error(value, struct, path, "int32"))


def _parse_errors(shape: Shape, value: Any, struct: str, path: str) -> Iterator[str]:
    """Yield the errors of types that parse their own text."""
    try:
        if shape is Shape.QUANTITY:
            quantity.to_canonical(value if isinstance(value, str | int | float) else "{}")
        elif shape in (Shape.TIME, Shape.MICRO_TIME):
            if not isinstance(value, str):
                yield _FatalMessage(describe_unmarshal_error(value, struct, path, "string"))
            elif shape is Shape.TIME:
                times.parse_time(value)
            else:
                times.parse_micro_time(value)
    except (ValueError, TypeError) as error:
        yield _FatalMessage(error)


def find_conversion_error(node: TypeNode, value: Any) -> str:
    """Return the first type error, as the converter of unstructured objects words it."""
    # upstream 1.36: apimachinery/pkg/runtime/converter.go
    return next(_conversion_errors(node, value), "cannot convert the value")


_GO_KINDS: Final = ((bool, "bool"), (str, "string"), (int, "int64"), (float, "float64"), (dict, "map"), (list, "slice"))


def _conversion_errors(node: TypeNode, value: Any) -> Iterator[str]:
    if value is None:
        return
    kind = next((name for python, name in _GO_KINDS if isinstance(value, python)), "")
    match node.shape:
        case Shape.STRUCT:
            if kind != "map":
                yield f"cannot restore struct from: {kind}"
                return
            for key, item in value.items():
                if (field := node.fields.get(key)) is not None:
                    yield from _conversion_errors(field.node, item)
        case Shape.LIST | Shape.MAP:
            expected = "slice" if node.shape is Shape.LIST else "map"
            if kind != expected:
                yield f"cannot restore {expected} from {kind}"
            elif node.item is not None:
                for item in value if expected == "slice" else value.values():
                    yield from _conversion_errors(node.item, item)
        case Shape.STRING | Shape.BOOL | Shape.INT32 | Shape.INT64 | Shape.FLOAT:
            yield from _scalar_conversion_errors(node, value, kind)
        case Shape.BYTES if kind != "string":
            yield f"cannot restore slice from {kind}"
        case Shape.BYTES:
            # The converter hands bytes on to the JSON decoder, whose error it wraps.
            yield from (f"error decoding from json: {message}" for message in _base64_errors(value))
        case _:
            yield from _scalar_type_errors(node, value, "", "")


def _scalar_conversion_errors(node: TypeNode, value: Any, kind: str) -> Iterator[str]:
    expected = {Shape.STRING: "string", **_GO_SCALARS}[node.shape]
    if expected == kind or (expected == "float64" and kind == "int64"):
        return
    if expected == "int32" and kind == "int64":
        if not -(1 << 31) <= value < 1 << 31:
            yield f"overflow converting {value} to int32"
        return
    if kind == "float64" and expected in ("int32", "int64") and value == int(value):
        return
    # Go's reflect can convert these kinds; the converter rejects them only because the value would change.
    convertible = (kind == "float64" and expected.startswith("int")) or (kind, expected) == ("int64", "string")
    yield f"cannot convert {kind} to {expected}" if convertible else f"unrecognized type: {expected}"
