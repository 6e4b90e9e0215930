"""JSON syntax errors in the words of Go's parser, for texts that the faster parser has rejected."""

import re
from collections.abc import Callable
from typing import Any, Final, NoReturn

_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_SPACE: Final = b" \t\r\n"
_DEPTH_MAX: Final = 10_000
_END: Final = "unexpected end of JSON input"


# Scans the next part of the text; returns the step after it.
_Step = Callable[[], Any] | None


class _SyntaxFailure(Exception):
    """First syntax error; ends the scan."""


def complaint(text: bytes) -> str:
    """Return Go's message for the first position where a text is no JSON."""
    try:
        _Scanner(text).document()
    except _SyntaxFailure as found:
        return str(found)
    return "invalid character in string"  # text that Go's parser would mend: broken UTF-8, a lone surrogate


def quoted(char: bytes) -> str:
    """Quote a byte as Go quotes a character."""
    match char:
        case b"'":
            return r"'\''"
        case b'"':
            return "'\"'"
    if b" " <= char <= b"~":
        return f"'{char.decode()}'"
    named = {b"\n": r"\n", b"\t": r"\t", b"\r": r"\r", b"\x00": r"\x00"}.get(char)
    if named:
        return f"'{named}'"
    value = char[0]
    return f"'\\x{value:02x}'" if value < 0xA1 or value == 0xAD else f"'{chr(value)}'"


class _Scanner:
    """Scanner of one text, with a stack of its own: depth costs no recursion."""

    def __init__(self, text: bytes) -> None:
        self.text, self.at = text, 0
        self.open: list[bytes] = []

    def document(self) -> None:
        step: _Step = self.value
        while step is not None:
            step = step()
        if char := self.peek():
            self.bad(char, "after top-level value")

    def peek(self) -> bytes:
        while self.at < len(self.text) and self.text[self.at] in _SPACE:
            self.at += 1
        return self.text[self.at : self.at + 1]

    def bad(self, char: bytes, where: str) -> NoReturn:
        raise _SyntaxFailure(f"invalid character {quoted(char)} {where}" if char else _END)

    def value(self) -> "_Step":
        char = self.peek()
        match char:
            case b"{" | b"[":
                self.at += 1
                return self.enter(char)
            case b'"':
                self.string()
            case b"t" | b"f" | b"n":
                self.literal({b"t": b"true", b"f": b"false", b"n": b"null"}[char])
            case _ if char == b"-" or char.isdigit():
                self.number()
            case _:
                self.bad(char, "looking for beginning of value")
        return self.after_value if self.open else None

    def enter(self, char: bytes) -> "_Step":
        if len(self.open) >= _DEPTH_MAX:
            raise _SyntaxFailure("exceeded max depth")
        if self.peek() == (b"}" if char == b"{" else b"]"):
            self.at += 1
            return self.after_value if self.open else None
        self.open.append(char)
        return self.key if char == b"{" else self.value

    def key(self) -> "_Step":
        if self.peek() != b'"':
            self.bad(self.peek(), "looking for beginning of object key string")
        self.string()
        if self.peek() != b":":
            self.bad(self.peek(), "after object key")
        self.at += 1
        return self.value

    def after_value(self) -> "_Step":
        char, container = self.peek(), self.open[-1]
        closing, where = (b"}", "after object key:value pair") if container == b"{" else (b"]", "after array element")
        if char == closing:
            self.at += 1
            self.open.pop()
            return self.after_value if self.open else None
        if char == b",":
            self.at += 1
            return self.key if container == b"{" else self.value
        return self.bad(char, where)

    def string(self) -> None:
        self.at += 1
        while True:
            char = self.text[self.at : self.at + 1]
            self.at += 1
            match char:
                case b'"':
                    return
                case b"\\":
                    self.escape()
                case _ if char < b" ":
                    self.bad(char, "in string literal")

    def escape(self) -> None:
        char = self.text[self.at : self.at + 1]
        self.at += 1
        if char == b"u":
            for digit in (self.text[self.at + i : self.at + i + 1] for i in range(4)):
                if not re.fullmatch(rb"[0-9a-fA-F]", digit):
                    self.bad(digit, "in \\u hexadecimal character escape")
            self.at += 4
        elif char not in (b'"', b"\\", b"/", b"b", b"f", b"n", b"r", b"t"):
            self.bad(char, "in string escape code")

    def literal(self, word: bytes) -> None:
        for index in range(len(word)):
            char = self.text[self.at : self.at + 1]
            if char != word[index : index + 1]:
                self.bad(char, f"in literal {word.decode()} (expecting '{chr(word[index])}')")
            self.at += 1

    def number(self) -> None:
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            self.bad(self.text[self.at + 1 : self.at + 2], "in numeric literal")
        self.at = match.end()
        char = self.text[self.at : self.at + 1]
        # The pattern stopped before a point or an exponent that has no digits.
        if char == b".":
            self.bad(self.text[self.at + 1 : self.at + 2], "after decimal point in numeric literal")
        if char in (b"e", b"E"):
            self.bad(self.text[self.at + 1 : self.at + 2], "in exponent of numeric literal")
