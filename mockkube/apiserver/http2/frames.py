"""HTTP/2 frames: types, flags, and how they are written (RFC 9113, sections 4 and 6)."""

import struct
from collections.abc import Iterable
from typing import Final

from mockkube.apiserver.http2.errors import ErrorCode, Http2ConnectionError

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

# Plain integers: an IntEnum makes each comparison several times slower, and every frame is compared.
DATA: Final = 0x0
HEADERS: Final = 0x1
PRIORITY: Final = 0x2
RST_STREAM: Final = 0x3
SETTINGS: Final = 0x4
PUSH_PROMISE: Final = 0x5
PING: Final = 0x6
GOAWAY: Final = 0x7
WINDOW_UPDATE: Final = 0x8
CONTINUATION: Final = 0x9

ACK: Final = 0x1
END_STREAM: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
HAS_PRIORITY: Final = 0x20

SETTINGS_HEADER_TABLE_SIZE: Final = 0x1
SETTINGS_ENABLE_PUSH: Final = 0x2
SETTINGS_MAX_CONCURRENT_STREAMS: Final = 0x3
SETTINGS_INITIAL_WINDOW_SIZE: Final = 0x4
SETTINGS_MAX_FRAME_SIZE: Final = 0x5
SETTINGS_MAX_HEADER_LIST_SIZE: Final = 0x6
SETTINGS_NO_RFC7540_PRIORITIES: Final = 0x9

HEADER_BYTES: Final = 9
# Bounds of SETTINGS_MAX_FRAME_SIZE; the smallest one applies until the peer names another.
FRAME_BYTES_DEFAULT: Final = 1 << 14
FRAME_BYTES_LIMIT: Final = (1 << 24) - 1
HEADER_TABLE_BYTES_DEFAULT: Final = 4096
WINDOW_DEFAULT: Final = (1 << 16) - 1
WINDOW_LIMIT: Final = (1 << 31) - 1
STREAM_ID_MASK: Final = (1 << 31) - 1

_HEADER: Final = struct.Struct(">HBBBI")
_SETTING: Final = struct.Struct(">HI")
_NUMBER: Final = struct.Struct(">I")
_TWO_NUMBERS: Final = struct.Struct(">II")
# Returns the length's two high bytes and low byte, the type, the flags and the stream of the frame at an offset.
unpack_header: Final = _HEADER.unpack_from


def encode_header(kind: int, flags: int, stream_id: int, size: int) -> bytes:
    """Return the header of a frame with a payload of this size."""
    return _HEADER.pack(size >> 8, size & 0xFF, kind, flags, stream_id)


def encode_settings(settings: Iterable[tuple[int, int]]) -> bytes:
    """Return a SETTINGS frame."""
    payload = b"".join(_SETTING.pack(name, value) for name, value in settings)
    return encode_header(SETTINGS, 0, 0, len(payload)) + payload


def decode_settings(payload: bytes) -> list[tuple[int, int]]:
    """Return the settings of a payload whose size is a multiple of six."""
    return [(name, value) for name, value in _SETTING.iter_unpack(payload)]


def encode_window_update(stream_id: int, increment: int) -> bytes:
    """Return a WINDOW_UPDATE frame; stream 0 is the connection."""
    return encode_header(WINDOW_UPDATE, 0, stream_id, 4) + _NUMBER.pack(increment)


def encode_rst_stream(stream_id: int, code: ErrorCode) -> bytes:
    """Return a RST_STREAM frame."""
    return encode_header(RST_STREAM, 0, stream_id, 4) + _NUMBER.pack(code)


def encode_goaway(last_stream_id: int, code: ErrorCode, reason: str) -> bytes:
    """Return a GOAWAY frame with a reason for people to read."""
    debug = reason.encode()
    return encode_header(GOAWAY, 0, 0, 8 + len(debug)) + _TWO_NUMBERS.pack(last_stream_id, code) + debug


def encode_ping_ack(payload: bytes) -> bytes:
    """Return the answer to a PING frame."""
    return encode_header(PING, ACK, 0, 8) + payload


def encode_header_block(stream_id: int, block: bytes, *, end_stream: bool, frame_bytes_max: int) -> bytes:
    """Return a HEADERS frame with a header block, and CONTINUATION frames for what does not fit into it."""
    flags = END_STREAM if end_stream else 0
    if len(block) <= frame_bytes_max:
        return encode_header(HEADERS, flags | END_HEADERS, stream_id, len(block)) + block
    parts: list[bytes] = []
    kind = HEADERS
    for start in range(0, len(block), frame_bytes_max):
        part = block[start : start + frame_bytes_max]
        last = END_HEADERS if start + frame_bytes_max >= len(block) else 0
        parts += (encode_header(kind, flags | last, stream_id, len(part)), part)
        kind, flags = CONTINUATION, 0
    return b"".join(parts)


def decode_number(payload: bytes) -> int:
    """Return the number in a payload of four bytes."""
    return int.from_bytes(payload, "big")


def strip_padding(payload: bytes) -> bytes:
    """Return the payload of a padded frame without its padding."""
    if not payload or payload[0] >= len(payload):
        raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "the padding is larger than the frame")
    return payload[1 : len(payload) - payload[0]]
