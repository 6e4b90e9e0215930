"""Go's strconv: parse integers and quote strings, with Go's error texts."""

from typing import Final

_ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    '"': '\\"',
    "\\": "\\\\",
}


# Texts that Go's `strconv.ParseBool` accepts.
BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


class NumberError(ValueError):
    """Text that is no number, or a number out of range."""


def parse_int64(text: str, *, function: str = "ParseInt") -> int:
    """Parse a decimal 64-bit integer as Go's `strconv.ParseInt` does: signs and leading zeros are allowed."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise NumberError(f"strconv.{function}: parsing {quote(text)}: invalid syntax")
    number = _parse_digits(text, digits)
    if number is None or not -(2**63) <= number < 2**63:
        raise NumberError(f"strconv.{function}: parsing {quote(text)}: value out of range")
    return number


def parse_uint64(text: str) -> int:
    """Parse a decimal unsigned 64-bit integer as Go's `strconv.ParseUint` does."""
    if not (text.isascii() and text.isdigit()):
        raise NumberError(f"strconv.ParseUint: parsing {quote(text)}: invalid syntax")
    number = _parse_digits(text, text)
    if number is None or number >= 2**64:
        raise NumberError(f"strconv.ParseUint: parsing {quote(text)}: value out of range")
    return number


def _parse_digits(text: str, digits: str) -> int | None:
    """Return the number, or None if it is far too long (Python itself refuses thousands of digits)."""
    return (
        int(text)
        if len(digits) < 1000
        else int(text[:1] + digits.lstrip("0"))
        if len(digits.lstrip("0")) < 30
        else None
    )


def quote(text: str) -> str:
    """Quote a string as Go's `%q` does: characters that cannot be printed are escaped."""
    # hot: per authorized request, nearly always of names
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(_ESCAPES.get(letter) or _escape_letter(letter) for letter in text)}"'


def _escape_letter(letter: str) -> str:
    if letter.isprintable():
        return letter
    code = ord(letter)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
