"""Frames of SPDY/3.1: encode, decode, and the compressed header blocks."""

# https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import IntEnum
from typing import Final

from mockkube.lazy_dataclasses import dataclass

VERSION: Final = 3
FLAG_FIN: Final = 1
DATA_BYTES_MAX: Final = 16 * 1024
"""Longest data frame that is sent."""
FRAME_BYTES_MAX: Final = 2 * 1024 * 1024
"""Longest data frame that is accepted."""
CONTROL_BYTES_MAX: Final = 16 * 1024
"""Longest control frame that is accepted, and longest header block after decompression."""
_HEAD_BYTES: Final = 8
_CONTROL_BIT: Final = 0x8000_0000
_ID_MASK: Final = 0x7FFF_FFFF

_WORDS: Final = (
    "options,head,post,put,delete,trace,accept,accept-charset,accept-encoding,accept-language,accept-ranges,age,allow,"
    "authorization,cache-control,connection,content-base,content-encoding,content-language,content-length,"
    "content-location,content-md5,content-range,content-type,date,etag,expect,expires,from,host,if-match,"
    "if-modified-since,if-none-match,if-range,if-unmodified-since,last-modified,location,max-forwards,pragma,"
    "proxy-authenticate,proxy-authorization,range,referer,retry-after,server,te,trailer,transfer-encoding,upgrade,"
    "user-agent,vary,via,warning,www-authenticate,method,get,status,200 OK,version,HTTP/1.1,url,public,set-cookie,"
    "keep-alive,origin"
)
_TEXT: Final = (
    b"100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    b"203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    b"403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    b"Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    b"chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    b"text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY: Final = b"".join(struct.pack(">I", len(word)) + word.encode() for word in _WORDS.split(",")) + _TEXT
"""Dictionary of the compression, which both sides know."""


class FrameType(IntEnum):
    """Types of control frames."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    HEADERS = 8
    WINDOW_UPDATE = 9


_HEADERS_AT: Final[Mapping[int, int]] = {FrameType.SYN_STREAM: 10, FrameType.SYN_REPLY: 4, FrameType.HEADERS: 4}
"""Where the header block of a frame begins."""


class MalformedFrame(Exception):
    """The peer sent bytes that are no frame, or one beyond the limits."""


@dataclass(frozen=True, slots=True)
class DataFrame:
    """Data of a stream; the last one of it if `is_last`."""

    stream: int
    data: bytes
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class ControlFrame:
    """Control frame; header blocks are decompressed, other contents stay bytes."""

    type: int
    stream: int = 0
    is_last: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""


class FrameDecoder:
    """Decoder of the frames that one peer sends."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> list[DataFrame | ControlFrame]:
        """Return the frames that these bytes complete; raise MalformedFrame."""
        self._buffer += data
        frames = list[DataFrame | ControlFrame]()
        while len(self._buffer) >= _HEAD_BYTES:
            first, second = struct.unpack_from(">II", self._buffer)
            flags, length = second >> 24, second & 0xFF_FFFF
            is_control = bool(first & _CONTROL_BIT)
            if length > (CONTROL_BYTES_MAX if is_control else FRAME_BYTES_MAX):
                raise MalformedFrame(f"a frame of {length} bytes is too long")
            if len(self._buffer) < _HEAD_BYTES + length:
                break
            payload = bytes(self._buffer[_HEAD_BYTES : _HEAD_BYTES + length])
            del self._buffer[: _HEAD_BYTES + length]
            is_last = bool(flags & FLAG_FIN)
            if is_control:
                frames.append(self._decode_control(first, payload, is_last=is_last))
            else:
                frames.append(DataFrame(first & _ID_MASK, payload, is_last))
        return frames

    def _decode_control(self, first: int, payload: bytes, *, is_last: bool) -> ControlFrame:
        kind = first & 0xFFFF
        if (first >> 16) & 0x7FFF != VERSION:
            raise MalformedFrame("the frame is not of SPDY/3")
        if header_at := _HEADERS_AT.get(kind, 0):
            if len(payload) < header_at:
                raise MalformedFrame("a control frame is too short")
            stream = struct.unpack_from(">I", payload)[0] & _ID_MASK
            return ControlFrame(kind, stream, is_last, self._decode_headers(payload[header_at:]))
        stream = struct.unpack_from(">I", payload)[0] & _ID_MASK if len(payload) >= 4 else 0
        return ControlFrame(kind, stream, is_last, content=payload)

    def _decode_headers(self, block: bytes) -> dict[str, str]:
        try:
            text = self._inflate.decompress(block, CONTROL_BYTES_MAX)
        except zlib.error as error:
            raise MalformedFrame(f"headers cannot be decompressed: {error}") from error
        if self._inflate.unconsumed_tail:
            raise MalformedFrame("headers are too long")
        try:
            count, at, headers = *struct.unpack_from(">I", text), 4, dict[str, str]()
            for _ in range(min(count, len(text))):
                parts = []
                for _ in range(2):
                    (length,) = struct.unpack_from(">I", text, at)
                    parts.append(text[at + 4 : at + 4 + length].decode("latin-1"))
                    at += 4 + length
                headers[parts[0].lower()] = parts[1]
        except struct.error as error:
            raise MalformedFrame("headers are cut short") from error
        return headers


class FrameEncoder:
    """Encoder of the frames that one side sends."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def encode_data(self, stream: int, data: bytes, *, is_last: bool = False) -> bytes:
        """Return data frames."""
        parts: Sequence[bytes] = [data[at : at + DATA_BYTES_MAX] for at in range(0, len(data), DATA_BYTES_MAX)] or [b""]
        last = len(parts) - 1 if is_last else -1
        return b"".join(
            struct.pack(">II", stream, (FLAG_FIN if index == last else 0) << 24 | len(part)) + part
            for index, part in enumerate(parts)
        )

    def encode_headers(self, kind: FrameType, stream: int, headers: Mapping[str, str]) -> bytes:
        """Return a SYN_STREAM or SYN_REPLY frame."""
        text = struct.pack(">I", len(headers)) + b"".join(
            struct.pack(">I", len(one)) + one.encode("latin-1") for pair in headers.items() for one in pair
        )
        block = self._deflate.compress(text) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        head = struct.pack(">I", stream) if kind is not FrameType.SYN_STREAM else struct.pack(">IIH", stream, 0, 0)
        return _control(kind, head + block)

    @staticmethod
    def encode_control(kind: FrameType, *numbers: int) -> bytes:
        """Return a control frame of 32-bit numbers: RST_STREAM, PING, GOAWAY."""
        return _control(kind, struct.pack(f">{len(numbers)}I", *numbers))


def _control(kind: FrameType, payload: bytes) -> bytes:
    return struct.pack(">II", _CONTROL_BIT | VERSION << 16 | kind, len(payload)) + payload
