"""Head of an HTTP/2 request: checked header fields as an aiohttp request message (RFC 9113, section 8.3)."""

import re
from typing import Final

from aiohttp.http import HttpVersion11, RawRequestMessage
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from mockkube.apiserver.http2.header_decoder import HeaderDecoder, HeaderField
from mockkube.apiserver.http2.header_encoder import CONNECTION_HEADERS
from mockkube.lazy_dataclasses import dataclass

# Limits of a header list. HTTP/1.1 has the same number of fields; the bytes bound how long decoding holds the event
# loop: less than 100 milliseconds, most of it for the Huffman code.
LIST_BYTES_MAX: Final = 128 << 10
FIELDS_MAX: Final = 1024
_CACHED_HEADS_MAX: Final = 128
_CACHED_BLOCK_BYTES_MAX: Final = 1024
_PSEUDO_NAMES: Final = frozenset((b":method", b":scheme", b":authority", b":path"))
_NAME: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
_METHOD: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_FORBIDDEN_IN_VALUE: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_FORBIDDEN_IN_PATH: Final = re.compile(rb"[\x00-\x20\x7f]")
_LENGTH_DIGITS_MAX: Final = 18


class MalformedRequest(Exception):
    """Header fields that are no request; the stream ends with PROTOCOL_ERROR."""


@dataclass(frozen=True, slots=True)
class RequestHead:
    """Head of a request, which several equal requests may share."""

    message: RawRequestMessage
    content_length: int | None
    expects_continue: bool
    error: str
    """Reason why the request gets status 400 instead of reaching the handler; empty: it does."""


class RequestHeadReader:
    """Reads the request heads of one connection; a block that comes again is not decoded again.

    client-go refers to every header by its index in the dynamic table, so the blocks of equal requests are equal.
    """

    def __init__(self) -> None:
        self._decoder = HeaderDecoder(LIST_BYTES_MAX, FIELDS_MAX)
        self._heads: dict[bytes, RequestHead] = {}
        self._table_changes = 0

    def read(self, block: bytes) -> RequestHead | None:  # hot: per request
        """Return the head in a header block; None if it is too large.

        Raise HeaderBlockError if the block cannot be decoded, MalformedRequest if it is no request.
        """
        head = self._heads.get(block)
        if head is not None:
            return head
        fields = self._decoder.decode(block)
        if fields is None:
            self._forget_if_table_changed()
            return None
        if self._forget_if_table_changed():
            return parse_head(fields)
        head = parse_head(fields)
        if len(block) <= _CACHED_BLOCK_BYTES_MAX:
            if len(self._heads) >= _CACHED_HEADS_MAX:
                self._heads.clear()
            self._heads[block] = head
        return head

    def read_trailers(self, block: bytes) -> None:
        """Check a block of trailers, which no handler reads."""
        fields = self._decoder.decode(block)
        self._forget_if_table_changed()
        if any(name.startswith(b":") or not _NAME.fullmatch(name) for name, _ in fields or ()):
            raise MalformedRequest("trailers with a pseudo-header field or an invalid name")

    def _forget_if_table_changed(self) -> bool:
        if self._table_changes == self._decoder.table_changes:
            return False
        self._table_changes = self._decoder.table_changes
        self._heads.clear()
        return True


def parse_head(fields: list[HeaderField]) -> RequestHead:
    """Return the head that header fields describe."""
    pseudo: dict[bytes, bytes] = {}
    headers: CIMultiDict[str] = CIMultiDict()
    for name, value in fields:
        if name[:1] == b":":
            if name not in _PSEUDO_NAMES or name in pseudo or headers:
                raise MalformedRequest(f"the pseudo-header field {name!r} is unknown, repeated or too late")
            pseudo[name] = value
        else:
            if not _NAME.fullmatch(name) or _FORBIDDEN_IN_VALUE.search(value):
                raise MalformedRequest(f"the header {name!r} has an invalid name or value")
            headers.add(name.decode(), _decode_text(value.strip(b" \t")))
    method, target = _parse_target(pseudo)
    if authority := pseudo.get(b":authority"):
        if b"@" in authority or _FORBIDDEN_IN_PATH.search(authority):
            raise MalformedRequest(":authority has user information or invalid characters")
        headers["Host"] = _decode_text(authority)
    if len(cookies := headers.getall("Cookie", [])) > 1:
        headers["Cookie"] = "; ".join(cookies)
    expects_continue = headers.get("Expect", "").lower() == "100-continue"
    if expects_continue:
        del headers["Expect"]  # the body itself asks for it
    content_length = _parse_content_length(headers)
    path, _, query = target.partition("#")[0].partition("?")
    # aiohttp's C class takes positions only: no closing, compression, upgrade or chunks
    message = RawRequestMessage(
        method,
        target,
        HttpVersion11,  # for aiohttp's responses: they know no later version
        CIMultiDictProxy(headers),
        tuple(field for field in fields if field[0][:1] != b":"),
        False,
        None,
        False,
        False,
        URL.build(path=path, query_string=query, encoded=True),
    )
    return RequestHead(message, content_length, expects_continue, _find_error(headers))


def _parse_target(pseudo: dict[bytes, bytes]) -> tuple[str, str]:
    """Return method and target, which begins with a slash unless it is `*`."""
    method, path = pseudo.get(b":method", b""), pseudo.get(b":path", b"")
    if not _METHOD.fullmatch(method):
        raise MalformedRequest("no valid :method")
    if method == b"CONNECT":
        if path or b":scheme" in pseudo or not pseudo.get(b":authority"):
            raise MalformedRequest("CONNECT with a path or scheme, or without an authority")
        return "CONNECT", "/"
    if pseudo.get(b":scheme") not in (b"http", b"https"):
        raise MalformedRequest("no valid :scheme")
    if (path[:1] != b"/" and path != b"*") or _FORBIDDEN_IN_PATH.search(path):
        raise MalformedRequest("no valid :path")
    return method.decode(), _decode_text(path)


def _parse_content_length(headers: CIMultiDict[str]) -> int | None:
    lengths = set(headers.getall("Content-Length", []))
    if not lengths:
        return None
    text = lengths.pop()
    if lengths or not (text.isascii() and text.isdigit()) or len(text) > _LENGTH_DIGITS_MAX:
        raise MalformedRequest("no valid content-length")
    return int(text)


def _find_error(headers: CIMultiDict[str]) -> str:
    # upstream 1.36: golang.org/x/net/http2/server.go, checkValidHTTP2RequestHeaders
    for name in headers:
        if name in CONNECTION_HEADERS:
            return f'request header "{name.title()}" is not valid in HTTP/2'
    if any(value not in ("", "trailers") for value in headers.getall("TE", [])):
        return 'request header "TE" may only be "trailers" in HTTP/2'
    return ""


def _decode_text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
