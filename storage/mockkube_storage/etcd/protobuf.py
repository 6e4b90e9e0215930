"""Protobuf wire format: varints and length-delimited fields, which are all that etcd's messages use."""

from collections.abc import Iterator
from typing import Final

from mockkube_storage.encoding import Malformed

_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5
_INT64_END: Final = 1 << 64
_INT64_NEGATIVE: Final = 1 << 63


def encode_varint(number: int) -> bytes:
    """Return an int64 as a varint."""
    if 0 <= number < 0x80:
        return bytes((number,))
    if number < 0:
        number += _INT64_END
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def encode_int(field: int, number: int) -> bytes:
    """Return a number field; nothing for 0, which is the default."""
    return encode_varint(field << 3) + encode_varint(number) if number else b""


def encode_bytes(field: int, value: bytes) -> bytes:
    """Return a field with bytes, text or a message."""
    return encode_varint(field << 3 | _BYTES) + encode_varint(len(value)) + value


def decode_fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:  # hot: every message
    """Yield number, integer value and bytes of each field; one of the latter two is empty. Raises Malformed."""
    offset, end = 0, len(data)
    try:
        while offset < end:
            tag = data[offset]
            offset += 1
            if tag >= 0x80:
                tag, offset = _decode_rest(data, offset, tag)
            kind = tag & 7
            if kind in (_VARINT, _BYTES):
                number = data[offset]
                offset += 1
                if number >= 0x80:
                    number, offset = _decode_rest(data, offset, number)
                if kind == _VARINT:
                    yield tag >> 3, number, b""
                    continue
                start, offset = offset, offset + number
                if offset > end:
                    raise Malformed("field beyond the end of its message")
                yield tag >> 3, 0, data[start:offset]
            elif kind in (_FIXED64, _FIXED32):
                offset += 8 if kind == _FIXED64 else 4
            else:
                raise Malformed(f"field of unknown wire type {kind}")
    except IndexError:
        raise Malformed("message is cut off") from None


def to_int64(number: int) -> int:
    """Return the signed value of a varint."""
    return number - _INT64_END if number >= _INT64_NEGATIVE else number


def _decode_rest(data: bytes, offset: int, first: int) -> tuple[int, int]:
    """Return a varint of several bytes, and the offset after it."""
    number, shift = first & 0x7F, 7
    while True:
        byte = data[offset]
        offset += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, offset
        shift += 7
        if shift > 63:
            raise Malformed("varint that is too long")
