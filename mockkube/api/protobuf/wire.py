"""Protobuf wire format: tags, varints, and skipping of unknown fields.

Texts and bounds are those of the decoders that upstream generates.
upstream 1.36: staging/src/k8s.io/apimachinery/pkg/api/resource/quantity_proto.go
"""

from typing import Final, NoReturn

VARINT: Final = 0
FIXED64: Final = 1
LENGTH_DELIMITED: Final = 2
_END: Final = 4

_GROUPS_MAX: Final = 100
_VARINT_BITS: Final = 64
_UINT64: Final = (1 << 64) - 1
# Nearly all tags, lengths and numbers fit one byte.
_ONE_BYTE_VARINTS: Final = tuple(bytes([size]) for size in range(128))


class Malformed(ValueError):
    """Bytes that do not decode; the text says why.

    `api_version` and `kind` are those of the envelope if it was decoded, else the expected ones.
    """

    api_version = ""
    kind = ""


def raise_unexpected_eof() -> NoReturn:
    """Raise the error for bytes that end within a value."""
    raise Malformed("unexpected EOF")


def read_varint_tail(data: bytes, pos: int, low: int) -> tuple[int, int]:
    """Return the varint whose first byte, `low`, has been read, and its end."""
    value, shift = low & 0x7F, 7
    while shift < _VARINT_BITS:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            # Ten bytes carry 70 bits; Go drops the excess, too.
            return value & _UINT64, pos
        shift += 7
    raise Malformed("proto: integer overflow")


def read_varint(data: bytes, pos: int) -> tuple[int, int]:
    """Return the varint at an offset, and its end."""
    low = data[pos]
    return (low, pos + 1) if low < 0x80 else read_varint_tail(data, pos + 1, low)


def read_size(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """Return start and end of the length-delimited value at an offset."""
    size, pos = read_varint(data, pos)
    if size >> 63:
        raise Malformed("proto: negative length found during unmarshaling")
    if pos + size > end:
        raise_unexpected_eof()
    return pos, pos + size


def skip_field(data: bytes, tag: int, pos: int, end: int) -> int:
    """Return the end of an unknown field's value; raise Malformed if there is none."""
    if tag >> 3 == 0:
        raise Malformed(f"proto: illegal tag 0 (wire type {tag & 7})")
    if tag & 7 == _END:
        raise Malformed("proto: wiretype end group for non-group")
    pos = _find_value_end(data, tag, pos, end)
    if pos > end:
        raise_unexpected_eof()
    return pos


def _find_value_end(data: bytes, tag: int, pos: int, end: int) -> int:
    open_groups = 0
    while True:
        match tag & 7:
            case 0:
                _, pos = read_varint(data, pos)
            case 1:
                pos += 8
            case 2:
                _, pos = read_size(data, pos, end)
            case 3:
                open_groups += 1
            case 4:
                open_groups -= 1
            case 5:
                pos += 4
            case unknown:
                raise Malformed(f"proto: illegal wireType {unknown}")
        if not open_groups:
            return pos
        if open_groups > _GROUPS_MAX:
            raise Malformed("proto: groups are nested too deeply")
        tag, pos = read_varint(data, pos)


def to_int32(value: int) -> int:
    """Return the lower half of a varint as int32."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def to_int64(value: int) -> int:
    """Return a varint as int64."""
    return value - (1 << 64) if value >> 63 else value


class MessageFields(dict[int, int | bytes]):
    """Fields of a small message by number; of a repeated field, the last occurrence."""

    def get_number(self, field: int) -> int:
        """Return an int64 field, 0 if it is absent."""
        value = self.get(field, 0)
        if isinstance(value, bytes):
            raise Malformed(f"proto: wrong wireType = {LENGTH_DELIMITED} for field {field}")
        return to_int64(value)

    def get_bytes(self, field: int) -> bytes:
        """Return a text or bytes field, empty if it is absent."""
        value = self.get(field, b"")
        if isinstance(value, int):
            raise Malformed(f"proto: wrong wireType = {VARINT} for field {field}")
        return value


def read_fields(data: bytes, pos: int, end: int) -> MessageFields:
    """Return the fields of the message between two offsets."""
    found = MessageFields()
    while pos < end:
        tag, pos = read_varint(data, pos)
        if tag & 7 == VARINT and tag >> 3:
            found[tag >> 3], pos = read_varint(data, pos)
        elif tag & 7 == LENGTH_DELIMITED and tag >> 3:
            start, pos = read_size(data, pos, end)
            found[tag >> 3] = data[start:pos]
        else:
            pos = skip_field(data, tag, pos, end)
    if pos != end:
        raise_unexpected_eof()
    return found


def encode_varint(value: int) -> bytes:
    """Encode a number as a varint; negative numbers take 64 bits, as in Go."""
    value &= _UINT64
    if value < 0x80:
        return _ONE_BYTE_VARINTS[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_tag(number: int, wire_type: int) -> bytes:
    """Encode the tag of a field."""
    return encode_varint(number << 3 | wire_type)


def encode_length_delimited(before: bytes, content: bytes) -> bytes:
    """Return tag, length and content."""
    size = len(content)
    return before + (_ONE_BYTE_VARINTS[size] if size < 0x80 else encode_varint(size)) + content
