"""URLs as Go's net/url parses them."""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from mockkube_cel.golang.gonet import AddressError, parse_address
from mockkube_cel.golang.strconv import quote

_ALPHANUMERIC: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_HOST: Final = frozenset(b"!$&'()*+,;=:[]<>\"")
_UNRESERVED: Final = frozenset(b"-_.~")
_RESERVED: Final = frozenset(b"$&+,/:;=?@")
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_USERINFO: Final = _ALPHANUMERIC | frozenset(b"-._:~!$&'()*+,;=%@")
_ENCODED: Final = frozenset(b"!$&'()*+,;=:@[]%")
_SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f]")


class UrlError(ValueError):
    """Text that is no URL; the message is Go's."""


class EncodingMode(Enum):
    """Part of a URL; it decides which bytes must be escaped (Go: encoding)."""

    PATH = auto()
    USER = auto()
    HOST = auto()
    ZONE = auto()
    QUERY = auto()
    FRAGMENT = auto()


_FREE_RESERVED: Final = {
    EncodingMode.PATH: _RESERVED - frozenset(b"?"),
    EncodingMode.USER: _RESERVED - frozenset(b"@/?:"),
    EncodingMode.HOST: frozenset[int](),
    EncodingMode.ZONE: frozenset[int](),
    EncodingMode.QUERY: frozenset[int](),
    EncodingMode.FRAGMENT: _RESERVED | frozenset(b"!()*"),
}


def _may_stay_unescaped(byte: int, mode: EncodingMode) -> bool:
    """Return whether a byte may appear unescaped."""
    if byte in _ALPHANUMERIC or byte in _UNRESERVED or byte in _FREE_RESERVED[mode]:
        return True
    return mode in (EncodingMode.HOST, EncodingMode.ZONE) and byte in _HOST


def _is_valid_encoding(text: str, mode: EncodingMode) -> bool:
    """Return whether an escaped text needs no further escapes."""
    return all(byte in _ENCODED or _may_stay_unescaped(byte, mode) for byte in _encode(text))


def _decode(raw: bytes) -> str:
    # Escapes may decode to bytes that are no UTF-8; surrogates keep them, as Go's strings do.
    return raw.decode(errors="surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def escape(text: str, mode: EncodingMode) -> str:
    """Escape the bytes that the mode reserves, with uppercase digits."""
    return "".join(chr(byte) if _may_stay_unescaped(byte, mode) else f"%{byte:02X}" for byte in _encode(text))


def unescape(text: str, mode: EncodingMode) -> str:
    """Decode escapes; raise UrlError for a bad one, or for a byte that a host may not have."""
    raw = _encode(text)
    output = bytearray()
    position = 0
    while position < len(raw):
        byte = raw[position]
        if byte == ord("%"):
            output.append(_escaped_byte(raw[position : position + 3], mode))
            position += 3
            continue
        if mode in (EncodingMode.HOST, EncodingMode.ZONE) and byte < 0x80 and not _may_stay_unescaped(byte, mode):
            raise UrlError(f"invalid character {quote(chr(byte))} in host name")
        output.append(ord(" ") if byte == ord("+") and mode is EncodingMode.QUERY else byte)
        position += 1
    return _decode(bytes(output))


def _escaped_byte(sequence: bytes, mode: EncodingMode) -> int:
    bad = UrlError(f"invalid URL escape {quote(_decode(sequence))}")
    if len(sequence) < 3 or not _HEX.issuperset(sequence[1:]):
        raise bad
    byte = int(sequence[1:], 16)
    # Go allows an escaped percent sign in every mode: it introduces the zone of an IPv6 address.
    if sequence != b"%25":
        if mode is EncodingMode.HOST and byte < 0x80:
            raise bad
        if mode is EncodingMode.ZONE and byte != ord(" ") and not _may_stay_unescaped(byte, EncodingMode.HOST):
            raise bad
    return byte


@dataclass(frozen=True, slots=True)
class Url:
    """A URL in its parts; `raw_path` is the original path where it differs from the usual escaping."""

    scheme: str = ""
    opaque: str = ""
    user: str | None = None
    host: str = ""
    path: str = ""
    raw_path: str = ""
    query: str = ""
    force_query: bool = False
    omit_host: bool = False
    fragment: str = ""
    raw_fragment: str = ""

    @property
    def escaped_path(self) -> str:
        """The path, escaped."""
        if self.raw_path and _is_valid_encoding(self.raw_path, EncodingMode.PATH):
            return self.raw_path
        return "*" if self.path == "*" else escape(self.path, EncodingMode.PATH)

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        host = self._split_host()[0]
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    @property
    def port(self) -> str:
        """The port, empty if there is none."""
        return self._split_host()[1]

    def _split_host(self) -> tuple[str, str]:
        host, colon, port = self.host.rpartition(":")
        return (host, port) if colon and _PORT.fullmatch(colon + port) else (self.host, "")

    def parse_query(self) -> dict[str, list[str]]:
        """Return the values of the query by name, leaving out parts that do not parse."""
        values: dict[str, list[str]] = {}
        for part in self.query.split("&"):
            # Go rejects semicolons as separators since 1.17 and drops the whole part.
            if not part or ";" in part:
                continue
            name, _, value = part.partition("=")
            try:
                name, value = unescape(name, EncodingMode.QUERY), unescape(value, EncodingMode.QUERY)
            except UrlError:
                continue
            values.setdefault(name, []).append(value)
        return values

    def __str__(self) -> str:
        text = f"{self.scheme}:" if self.scheme else ""
        if self.opaque:
            text += self.opaque
        else:
            text += self._authority()
            path = self.escaped_path
            if path and path[0] != "/" and self.host:
                text += "/"
            # Without the prefix, the first segment would be read as a scheme (RFC 3986, section 4.2).
            if not text and ":" in path.partition("/")[0]:
                text = "./"
            text += path
        if self.force_query or self.query:
            text += f"?{self.query}"
        return f"{text}#{self._escaped_fragment()}" if self.fragment else text

    def _escaped_fragment(self) -> str:
        if self.raw_fragment and _is_valid_encoding(self.raw_fragment, EncodingMode.FRAGMENT):
            return self.raw_fragment
        return escape(self.fragment, EncodingMode.FRAGMENT)

    def _authority(self) -> str:
        if not (self.scheme or self.host or self.user is not None):
            return ""
        if self.omit_host and not self.host and self.user is None:
            return ""
        slashes = "//" if self.host or self.path or self.user is not None else ""
        user = f"{self.user}@" if self.user is not None else ""
        return f"{slashes}{user}{escape(self.host, EncodingMode.HOST)}"


def parse(text: str) -> Url:
    """Parse a URL with its fragment."""
    main, _, fragment = text.partition("#")
    url = _parse_without_fragment(main, request=False)
    if not fragment:
        return url
    try:
        plain = unescape(fragment, EncodingMode.FRAGMENT)
    except UrlError as error:
        raise UrlError(f"parse {quote(text)}: {error}") from None
    raw = "" if escape(plain, EncodingMode.FRAGMENT) == fragment else fragment
    return Url(
        url.scheme, url.opaque, url.user, url.host, url.path, url.raw_path, url.query, url.force_query, url.omit_host,
        plain, raw,
    )  # fmt: skip


def parse_request(text: str) -> Url:
    """Parse an absolute URL or absolute path, as in a request line."""
    return _parse_without_fragment(text, request=True)


def _parse_without_fragment(text: str, *, request: bool) -> Url:
    try:
        return _parse(text, request=request)
    except UrlError as error:
        raise UrlError(f"parse {quote(text)}: {error}") from None


def _parse(text: str, *, request: bool) -> Url:
    if _CONTROL.search(text):
        raise UrlError("net/url: invalid control character in URL")
    if not text and request:
        raise UrlError("empty url")
    if text == "*":
        return Url(path="*")
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    match = _SCHEME.match(text)
    scheme = match[1].lower() if match else ""
    rest = text[match.end() :] if match else text
    # Keeps a trailing question mark without a query when the URL is printed again.
    force_query = rest.endswith("?") and rest.count("?") == 1
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, rest, query=query, force_query=force_query)
        if request:
            raise UrlError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    user, host, omit_host = None, "", False
    if rest.startswith("//") and (scheme or (not request and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        user, host = _parse_authority(authority)
        rest = slash + path
    elif scheme and rest.startswith("/"):
        omit_host = True
    path = unescape(rest, EncodingMode.PATH)
    raw_path = "" if escape(path, EncodingMode.PATH) == rest else rest
    return Url(scheme, "", user, host, path, raw_path, query, force_query, omit_host)


def _parse_authority(authority: str) -> tuple[str | None, str]:
    userinfo, at, host = authority.rpartition("@")
    host = _parse_host(host)
    if not at:
        return None, host
    if not _USERINFO.issuperset(_encode(userinfo)):
        raise UrlError("net/url: invalid userinfo")
    return ":".join(
        escape(unescape(part, EncodingMode.USER), EncodingMode.USER) for part in userinfo.split(":", 1)
    ), host


def _parse_host(host: str) -> str:
    if "[" in host:
        return _parse_bracketed(host)
    _, colon, port = host.partition(":")
    _validate_port(colon + port)
    return unescape(host, EncodingMode.HOST)


def _validate_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise UrlError(f"invalid port {quote(port)} after host")


def _parse_bracketed(host: str) -> str:
    end = host.rfind("]")
    if end < 0:
        raise UrlError("missing ']' in host")
    _validate_port(host[end + 1 :])
    inner = host[host.rfind("[") + 1 : end]
    address, mark, zone = inner.partition("%25")
    name = unescape(address, EncodingMode.HOST) + (unescape(mark + zone, EncodingMode.ZONE) if mark else "")
    try:
        parsed = parse_address(name)
    except AddressError as error:
        raise UrlError(f"invalid host: {error}") from None
    if parsed.version == 4:
        raise UrlError("invalid IP-literal")
    return f"[{name}]{host[end + 1 :]}"
