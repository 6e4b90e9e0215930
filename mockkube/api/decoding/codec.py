"""Decoding as a Go binary of one version does: prune, type-check, drop empty values, add those always written.

`decode` is a hot path: it builds a fresh object in one walk of compiled closures, and reports only *that* there was
an error. A second walk in `decoding_errors.py` finds which one, in Go's words; only a bad request pays for it.
"""

import base64
from collections.abc import Callable
from typing import Any, Final

from mockkube.api.compile_cache import CompileCache
from mockkube.api.json_objects import Object
from mockkube.api.quantities import quantity
from mockkube.api.schema import SCHEMA_OR, Schema, Shape, TypeNode
from mockkube.api.times import canonicalize_micro_time, canonicalize_time


class DecodingError(ValueError):
    """Value that does not have the type of its field."""


class DecodingState:
    """Result of a decoding besides the object: whether there were unknown fields."""

    __slots__ = ("has_unknown_fields",)

    def __init__(self) -> None:
        self.has_unknown_fields = False


Decoder = Callable[[Any, DecodingState], Any]
# Decoder of a value that was made from a decoded one and shares parts with it.
ChangeDecoder = Callable[[Any, DecodingState, Object], Any]
# Whole numbers below are written without a point.
_INTEGRAL_FLOAT_MAX: Final = 1e15
_EMPTY_SCALARS: Final = {
    Shape.STRING: "",
    Shape.BYTES: None,
    Shape.BOOL: False,
    Shape.INT32: 0,
    Shape.INT64: 0,
    Shape.FLOAT: 0,
    Shape.QUANTITY: "0",
    Shape.INT_OR_STRING: 0,
}


class Codec:
    """Decoders for the types of one version, compiled when first used."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._decoders: CompileCache[int, Decoder] = CompileCache()
        self._change_decoders: dict[int, ChangeDecoder] = {}

    def decode(self, node: TypeNode, value: Any, state: DecodingState) -> Object:
        """Return a fresh object with the fields that this version knows; raise DecodingError for a wrong type."""
        decoded: Object = self.get_decoder(node)(value, state)
        return decoded

    def decode_change(self, node: TypeNode, value: Any, state: DecodingState, before: Object) -> Object:
        """Decode a struct that was made from a decoded one, `before`; parts that both share are not decoded again."""
        self.get_decoder(node)
        decoded: Object = self._change_decoders[id(node.fields)](value, state, before)
        return decoded

    def get_decoder(self, node: TypeNode) -> Decoder:
        """Return the compiled decoder of a type."""
        # A reference with attributes of its own copies the node, but shares the fields, and so the decoder.
        key = id(node.fields) if node.shape is Shape.STRUCT else id(node)
        decoders = self._decoders
        return decoders.get(key) or decoders.get_or_compile(
            # Types may contain themselves: while one is compiled, its parts refer to it through the table.
            key,
            lambda: self._compile(node),
            lambda value, state: decoders[key](value, state),
        )

    def _compile(self, node: TypeNode) -> Decoder:
        match node.shape:
            case Shape.STRUCT:
                return self._compile_struct(node)
            case Shape.LIST:
                assert node.item is not None
                return _make_list_decoder(self.get_decoder(node.item), make_empty_value(node.item))
            case Shape.MAP:
                assert node.item is not None
                return _make_map_decoder(self.get_decoder(node.item), _make_null_replacement(node.item))
            case Shape.ANY if node.item is not None:
                return _make_schema_or_decoder(SCHEMA_OR[node.definition], self.get_decoder(node.item))
            case shape:
                return _SCALARS[shape]

    def _compile_struct(self, node: TypeNode) -> Decoder:
        # Strings, of which there are most, have no decoder.
        decoders: dict[str, tuple[Decoder | None, bool]] = {}
        always: list[tuple[str, Callable[[], Any]]] = []
        for field in node.fields.values():
            decoder = self.get_decoder(field.node)
            decoders[field.name] = (
                None if decoder is _decode_string else decoder,
                _is_dropped_when_empty(field.node, field.pointer, field.omit_empty),
            )
            if field.always_written:
                always.append((field.name, (lambda: None) if field.pointer else make_empty_value(field.node)))
        look = decoders.get

        def decode(value: Any, state: DecodingState) -> Any:
            # `__class__ is` instead of isinstance: decoded JSON has no subclasses, and a bool must not pass for an int.
            if value.__class__ is not dict:
                raise DecodingError
            out = {}
            for key, given in value.items():
                known = look(key)
                if known is None:
                    state.has_unknown_fields = True
                elif given is not None:
                    decode_field, is_dropped_when_empty = known
                    if decode_field is not None:
                        decoded = decode_field(given, state)
                    elif given.__class__ is str:
                        decoded = given
                    else:
                        raise DecodingError
                    if decoded or not is_dropped_when_empty:
                        out[key] = decoded
            for key, empty in always:
                if key not in out:
                    out[key] = empty()
            return out

        structs = {
            field.name: id(field.node.fields) for field in node.fields.values() if field.node.shape is Shape.STRUCT
        }
        change_decoders = self._change_decoders

        # Not one function with `decode`: that one runs for each struct of each request, and pays for every comparison.
        def decode_change(value: Any, state: DecodingState, before: Object) -> Any:
            if value.__class__ is not dict:
                raise DecodingError
            out = {}
            for key, given in value.items():
                known = look(key)
                if known is None:
                    state.has_unknown_fields = True
                elif given is not None:
                    earlier = before.get(key)
                    if given is earlier:
                        out[key] = given
                        continue
                    if earlier.__class__ is dict and key in structs:
                        decoded = change_decoders[structs[key]](given, state, earlier)
                    else:
                        decoded = (known[0] or _decode_string)(given, state)
                    if decoded or not known[1]:
                        out[key] = decoded
            for key, empty in always:
                if key not in out:
                    out[key] = empty()
            return out

        change_decoders[id(node.fields)] = decode_change
        return decode


def _is_dropped_when_empty(node: TypeNode, pointer: bool, omit_empty: bool) -> bool:
    """Return whether an empty value of this field is dropped on write; empty lists and maps always are."""
    if node.shape in (Shape.LIST, Shape.MAP):
        return True
    return omit_empty and not pointer and not node.is_struct and node.shape is not Shape.ANY


def make_empty_value(node: TypeNode) -> Callable[[], Any]:
    """Return a function that makes the value Go writes for an absent field."""
    if node.shape is not Shape.STRUCT:
        scalar = _EMPTY_SCALARS.get(node.shape)
        return lambda: scalar
    fields = [
        (f.name, (lambda: None) if f.pointer else make_empty_value(f.node))
        for f in node.fields.values()
        if f.always_written
    ]
    return (lambda: {name: make() for name, make in fields}) if fields else dict


def _make_schema_or_decoder(other: type, decoder: Decoder) -> Decoder:
    """Return the decoder of a field that holds a schema or another type; unknown fields are not reported."""

    # upstream 1.36: apiextensions-apiserver/pkg/apis/apiextensions/v1/marshal.go
    def decode(value: Any, state: DecodingState) -> Any:
        if value.__class__ is dict:
            return decoder(value, DecodingState())
        if value.__class__ is list and other is list:
            return [decoder(item, DecodingState()) if item.__class__ is dict else item for item in value]
        if other is bool and value.__class__ is not bool:
            raise DecodingError
        return value if value.__class__ is other else None

    return decode


def _make_null_replacement(node: TypeNode) -> Callable[[], Any]:
    """Return a function that makes the value which replaces null in a map."""
    # Go decodes null to an empty slice of bytes, which JSON shows as an empty text.
    return (lambda: "") if node.shape is Shape.BYTES else make_empty_value(node)


def _make_list_decoder(decoder: Decoder, empty: Callable[[], Any]) -> Decoder:
    if decoder is _decode_string:

        def decode_strings(value: Any, state: DecodingState) -> Any:
            if value.__class__ is not list:
                raise DecodingError
            # Lists of strings are the most common ones: one that holds nothing but strings is shared, not copied.
            for item in value:
                if item.__class__ is not str:
                    return ["" if item is None else _decode_string(item, state) for item in value]
            return value

        return decode_strings

    def decode(value: Any, state: DecodingState) -> Any:
        if value.__class__ is not list:
            raise DecodingError
        return [empty() if item is None else decoder(item, state) for item in value]

    return decode


def _make_map_decoder(decoder: Decoder, empty: Callable[[], Any]) -> Decoder:
    def decode(value: Any, state: DecodingState) -> Any:
        if value.__class__ is not dict:
            raise DecodingError
        return {key: empty() if item is None else decoder(item, state) for key, item in value.items()}

    return decode


def _decode_string(value: Any, state: DecodingState) -> Any:
    if value.__class__ is not str:
        raise DecodingError
    return value


def _decode_bool(value: Any, state: DecodingState) -> Any:
    if value.__class__ is not bool:
        raise DecodingError
    return value


def _decode_int32(value: Any, state: DecodingState) -> Any:
    if value.__class__ is not int or not -(1 << 31) <= value < 1 << 31:
        raise DecodingError
    return value


def _decode_int64(value: Any, state: DecodingState) -> Any:
    if value.__class__ is not int or not -(1 << 63) <= value < 1 << 63:
        raise DecodingError
    return value


def _decode_float(value: Any, state: DecodingState) -> Any:
    if value.__class__ is not float and value.__class__ is not int:
        raise DecodingError
    return int(value) if value.__class__ is float and value.is_integer() and abs(value) < _INTEGRAL_FLOAT_MAX else value


def _decode_bytes(value: Any, state: DecodingState) -> Any:
    if value.__class__ is not str:
        raise DecodingError
    try:
        return base64.b64encode(base64.b64decode(value, validate=True)).decode()
    except ValueError:
        # Go's base64 decoder ignores line ends, which `validate=True` does not.
        stripped = value.replace("\n", "").replace("\r", "")
        try:
            return base64.b64encode(base64.b64decode(stripped, validate=True)).decode()
        except ValueError as error:
            raise DecodingError from error


def _decode_quantity(value: Any, state: DecodingState) -> Any:
    if value.__class__ not in (str, int, float):
        raise DecodingError
    try:
        return quantity.to_canonical(value)
    except ValueError as error:
        raise DecodingError from error


def _decode_int_or_string(value: Any, state: DecodingState) -> Any:
    if value.__class__ is str:
        return value
    return _decode_int32(value, state)


def _decode_time(value: Any, state: DecodingState) -> Any:
    try:
        return canonicalize_time(value)
    except (ValueError, TypeError) as error:
        raise DecodingError from error


def _decode_micro_time(value: Any, state: DecodingState) -> Any:
    try:
        return canonicalize_micro_time(value)
    except (ValueError, TypeError) as error:
        raise DecodingError from error


def _decode_any(value: Any, state: DecodingState) -> Any:
    return value


_SCALARS: Final[dict[Shape, Decoder]] = {
    Shape.STRING: _decode_string,
    Shape.BYTES: _decode_bytes,
    Shape.BOOL: _decode_bool,
    Shape.INT32: _decode_int32,
    Shape.INT64: _decode_int64,
    Shape.FLOAT: _decode_float,
    Shape.QUANTITY: _decode_quantity,
    Shape.INT_OR_STRING: _decode_int_or_string,
    Shape.TIME: _decode_time,
    Shape.MICRO_TIME: _decode_micro_time,
    Shape.ANY: _decode_any,
}
