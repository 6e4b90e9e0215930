"""Protobuf decoders, compiled from the schema on first use, one closure per field.

Zero values of non-pointer fields are dropped, as in Go, because they mean absence; the codec adds those that are
always written. A pointer field keeps its zero: its presence is the information.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from mockkube.api.compile_cache import CompileCache
from mockkube.api.json_objects import Object
from mockkube.api.protobuf import leaves, wire
from mockkube.api.protobuf.layout import WireField, is_items_message, wire_fields
from mockkube.api.protobuf.leaves import Leaf
from mockkube.api.protobuf.unions import find_union
from mockkube.api.protobuf.wire import Malformed
from mockkube.api.schema import Schema, Shape, TypeNode

# Decodes the message between two offsets into an object, or the field whose value has those bytes.
Reader = Callable[[bytes, int, int, Object], None]
# Stores a decoded number in the object.
_NumberSetter = Callable[[int, Object], None]

_NUMBERS: Final[dict[Shape, Callable[[int], Any]]] = {
    Shape.BOOL: bool,
    Shape.INT32: wire.to_int32,
    Shape.INT64: wire.to_int64,
}
_WHOLE_MAX: Final = 1 << 53


class Decoders:
    """Protobuf decoders of one schema's types."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._readers: CompileCache[int, Reader] = CompileCache()

    def get_decoder(self, node: TypeNode) -> Reader:
        """Return the decoder of a struct."""
        key = id(node.fields)
        readers = self._readers
        return readers.get(key) or readers.get_or_compile(
            key,
            lambda: self._compile_struct(wire_fields(node)),
            lambda data, pos, end, out: readers[key](data, pos, end, out),
        )

    def _compile_struct(self, given: tuple[WireField, ...]) -> Reader:
        sized: dict[int, Reader] = {}
        numbers: dict[int, _NumberSetter] = {}
        doubles: dict[int, str] = {}
        for slot in given:
            base = slot.number << 3
            if slot.field is None:
                # JSON has the fields of an embedded struct in the outer object, so they are decoded into the same one.
                sized[base | wire.LENGTH_DELIMITED] = self._compile_struct(slot.inlined)
                continue
            name, node = slot.field.name, slot.field.node
            if node.shape is Shape.FLOAT:
                doubles[base | wire.FIXED64] = name
            elif node.shape in _NUMBERS:
                numbers[base | wire.VARINT] = _make_number_setter(
                    name, _NUMBERS[node.shape], keep_zero=slot.field.pointer
                )
            elif node.shape is Shape.LIST and node.item is not None and node.item.shape in _NUMBERS:
                convert = _NUMBERS[node.item.shape]
                # Decoders must accept both forms of repeated numbers: one tag per item, and packed.
                numbers[base | wire.VARINT] = _make_number_appender(name, convert)
                sized[base | wire.LENGTH_DELIMITED] = _make_packed_decoder(name, convert)
            else:
                sized[base | wire.LENGTH_DELIMITED] = self._compile_sized(name, node, keep_zero=slot.field.pointer)
        return _make_message_decoder(sized, numbers, _make_rare_field_decoder(doubles, {slot.number for slot in given}))

    def _compile_sized(self, name: str, node: TypeNode, *, keep_zero: bool) -> Reader:
        match node.shape:
            case Shape.STRUCT:
                return _make_nested_decoder(name, self.get_decoder(node))
            case Shape.STRING:
                return _make_text_decoder(name, keep_zero=keep_zero)
            case Shape.LIST if not is_items_message(node):
                assert node.item is not None
                return _make_repeated_decoder(name, self.get_leaf_decoder(node.item))
            case Shape.MAP:
                assert node.item is not None
                return self._compile_map(name, node.item)
            case _:
                return _make_value_decoder(name, self.get_leaf_decoder(node))

    def _compile_map(self, name: str, item: TypeNode) -> Reader:
        if item.shape in _NUMBERS:
            number = _make_number_setter("value", _NUMBERS[item.shape], keep_zero=True)
            entry = _make_message_decoder(
                {_KEY: _make_text_decoder("key", keep_zero=True)},
                {_NUMBER_VALUE: number},
                _make_rare_field_decoder({}, {1, 2}),
            )
        else:
            value = _make_value_decoder("value", self.get_leaf_decoder(item))
            entry = _make_message_decoder(
                {_KEY: _make_text_decoder("key", keep_zero=True), _VALUE: value},
                {},
                _make_rare_field_decoder({}, {1, 2}),
            )
        return _make_entry_decoder(name, entry)

    def get_leaf_decoder(self, node: TypeNode) -> Leaf:
        """Return the decoder of an item of a list or map."""
        match node.shape:
            case Shape.STRUCT:
                return _make_object_leaf(self.get_decoder(node))
            case Shape.LIST:
                assert is_items_message(node)
                return _decode_items
            case Shape.ANY:
                return self._compile_any(node)
            case shape:
                return leaves.DECODERS[shape]

    def _compile_any(self, node: TypeNode) -> Leaf:
        name = node.definition.rpartition(".")[2]
        if name in ("RawExtension", "FieldsV1", "JSON"):
            return leaves.decode_json
        if (either := find_union(self._schema, name)) is None:
            return leaves.decode_empty
        read, fold = _make_object_leaf(self._compile_struct(either.slots)), either.to_json
        return lambda data, pos, end: fold(read(data, pos, end))


_KEY: Final = 1 << 3 | wire.LENGTH_DELIMITED
_VALUE: Final = 2 << 3 | wire.LENGTH_DELIMITED
_NUMBER_VALUE: Final = 2 << 3 | wire.VARINT


def _make_message_decoder(
    sized: Mapping[int, Reader], numbers: Mapping[int, _NumberSetter], other: "_RareFieldReader"
) -> Reader:
    sized_at, number_at = sized.get, numbers.get

    def read(data: bytes, pos: int, end: int, out: Object) -> None:  # hot: once a field
        while pos < end:
            tag = data[pos]
            pos += 1
            if tag > 0x7F:
                tag, pos = wire.read_varint_tail(data, pos, tag)
            if (take := sized_at(tag)) is not None:
                size = data[pos]
                pos += 1
                # Lengths of one byte are by far the most common and are decoded in line.
                if size > 0x7F:
                    start, stop = wire.read_size(data, pos - 1, end)
                    take(data, start, stop, out)
                    pos = stop
                    continue
                stop = pos + size
                if stop > end:
                    wire.raise_unexpected_eof()
                take(data, pos, stop, out)
                pos = stop
            elif (put := number_at(tag)) is not None:
                number = data[pos]
                pos += 1
                if number > 0x7F:
                    number, pos = wire.read_varint_tail(data, pos, number)
                put(number, out)
            else:
                pos = other(data, tag, pos, end, out)
        if pos != end:
            wire.raise_unexpected_eof()

    return read


_RareFieldReader = Callable[[bytes, int, int, int, Object], int]


def _make_rare_field_decoder(doubles: Mapping[int, str], numbers: set[int]) -> _RareFieldReader:
    """Return the decoder of rare wire types: floating point, and unknown fields, which are skipped."""

    def read(data: bytes, tag: int, pos: int, end: int, out: Object) -> int:
        name = doubles.get(tag)
        if name is None:
            if tag >> 3 in numbers:
                raise Malformed(f"proto: wrong wireType = {tag & 7} for field {tag >> 3}")
            return wire.skip_field(data, tag, pos, end)
        if pos + 8 > end:
            wire.raise_unexpected_eof()
        out[name] = _decode_double(data[pos : pos + 8])
        return pos + 8

    return read


def _decode_double(data: bytes) -> int | float:
    value: float = struct.unpack("<d", data)[0]
    if value != value or value in (float("inf"), float("-inf")):
        raise Malformed(f"json: unsupported value: {value}")
    return int(value) if value.is_integer() and abs(value) <= _WHOLE_MAX else value


def _make_number_setter(name: str, convert: Callable[[int], Any], *, keep_zero: bool) -> _NumberSetter:
    def put(number: int, out: Object) -> None:
        if number or keep_zero:
            out[name] = convert(number)
        else:
            # The last occurrence of a field counts, even if it is zero.
            out.pop(name, None)

    return put


def _make_number_appender(name: str, convert: Callable[[int], Any]) -> _NumberSetter:
    def put(number: int, out: Object) -> None:
        out.setdefault(name, []).append(convert(number))

    return put


def _make_packed_decoder(name: str, convert: Callable[[int], Any]) -> Reader:
    def take(data: bytes, pos: int, end: int, out: Object) -> None:
        found = out.setdefault(name, [])
        while pos < end:
            number, pos = wire.read_varint(data, pos)
            found.append(convert(number))
        if pos != end:
            wire.raise_unexpected_eof()

    return take


def _make_text_decoder(name: str, *, keep_zero: bool) -> Reader:
    def take(data: bytes, pos: int, end: int, out: Object) -> None:
        if pos != end or keep_zero:
            out[name] = data[pos:end].decode("utf-8", "replace")
        else:
            out.pop(name, None)

    return take


def _make_value_decoder(name: str, leaf: Leaf) -> Reader:
    def take(data: bytes, pos: int, end: int, out: Object) -> None:
        out[name] = leaf(data, pos, end)

    return take


def _make_nested_decoder(name: str, read: Reader) -> Reader:
    """Return the decoder of a struct field; two occurrences are merged into one object."""

    def take(data: bytes, pos: int, end: int, out: Object) -> None:
        inner = out.get(name)
        if inner is None:
            inner = out[name] = {}
        read(data, pos, end, inner)

    return take


def _make_repeated_decoder(name: str, leaf: Leaf) -> Reader:
    def take(data: bytes, pos: int, end: int, out: Object) -> None:
        items = out.get(name)
        if items is None:
            out[name] = [leaf(data, pos, end)]
        else:
            items.append(leaf(data, pos, end))

    return take


def _make_entry_decoder(name: str, read: Reader) -> Reader:
    def take(data: bytes, pos: int, end: int, out: Object) -> None:
        entry: Object = {}
        read(data, pos, end, entry)
        found = out.get(name)
        if found is None:
            found = out[name] = {}
        found[entry.get("key", "")] = entry.get("value")

    return take


def _make_object_leaf(read: Reader) -> Leaf:
    def leaf(data: bytes, pos: int, end: int) -> Any:
        out: Object = {}
        read(data, pos, end, out)
        return out

    return leaf


_ITEMS: Final = _make_message_decoder(
    {_KEY: _make_repeated_decoder("items", leaves.decode_text)}, {}, _make_rare_field_decoder({}, {1})
)


def _decode_items(data: bytes, pos: int, end: int) -> Any:
    out: Object = {}
    _ITEMS(data, pos, end, out)
    return out.get("items", [])
