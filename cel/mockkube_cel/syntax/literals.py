"""Literals: their values, with escapes resolved.

upstream 1.36: cel-go parser/unescape.go
"""

import re
from typing import Final

from mockkube_cel.values import UInt

_ESCAPE: Final = re.compile(
    r"\\(?:[xX](?P<byte>..)|u(?P<short>.{4})|U(?P<long>.{8})|(?P<octal>[0-3]..)|(?P<plain>.))", re.S
)
_PLAIN: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class BadLiteral(ValueError):
    """Literal that the grammar allows but that has no value."""


def parse_int(text: str) -> int:
    """Parse an int literal, with or without a minus."""
    number = _parse_number(text)
    if number is None or not -(2**63) <= number < 2**63:
        raise BadLiteral("invalid int literal")
    return number


def parse_uint(text: str) -> UInt:
    """Parse a uint literal."""
    number = _parse_number(text[:-1])
    if number is None or number >= 2**64:
        raise BadLiteral("invalid uint literal")
    return UInt(number)


def _parse_number(text: str) -> int | None:
    """Return the number, or None if it is far too long (Python itself refuses thousands of digits)."""
    digits = text.removeprefix("-").removeprefix("0x").lstrip("0")
    if len(digits) > 40:
        return None
    number = int(digits or "0", 16 if "0x" in text else 10)
    return -number if text.startswith("-") else number


def parse_double(text: str) -> float:
    """Parse a double literal."""
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise BadLiteral("invalid double literal")
    return number


def parse_string(text: str) -> str:
    """Parse a string literal."""
    body, raw = _split_quotes(text)
    return body if raw or "\\" not in body else _ESCAPE.sub(_unescape_character, body)


def parse_bytes(text: str) -> bytes:
    """Parse a bytes literal, its `b` included."""
    body, raw = _split_quotes(text[1:])
    if raw or "\\" not in body:
        return body.encode(errors="surrogatepass")
    parts = []
    position = 0
    for match in _ESCAPE.finditer(body):
        parts += [body[position : match.start()].encode(errors="surrogatepass"), _unescape_byte(match)]
        position = match.end()
    return b"".join((*parts, body[position:].encode(errors="surrogatepass")))


def _split_quotes(text: str) -> tuple[str, bool]:
    raw = text[0] in "rR"
    text = text[raw:]
    quotes = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[quotes:-quotes], raw


def _unescape_character(match: re.Match[str]) -> str:
    if plain := match["plain"]:
        return _PLAIN.get(plain, plain)
    code = int(match["octal"], 8) if match["octal"] else int(match["byte"] or match["short"] or match["long"], 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise BadLiteral("invalid unicode code point")
    return chr(code)


def _unescape_byte(match: re.Match[str]) -> bytes:
    if plain := match["plain"]:
        return _PLAIN.get(plain, plain).encode(errors="surrogatepass")
    # Code points make no sense in bytes: CEL allows only escapes of single bytes there.
    if match["short"] or match["long"]:
        raise BadLiteral("unable to unescape string")
    code = int(match["octal"], 8) if match["octal"] else int(match["byte"], 16)
    return bytes((code,))
