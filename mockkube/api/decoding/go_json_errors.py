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


def find_syntax_error(text: bytes) -> str:
    """Return Go's message for the first position where a text is no JSON."""
    try:
        _Scanner(text).scan_document()
    except _SyntaxFailure as found:
        return str(found)
    return "invalid character in string"  # text that Go's parser would mend: broken UTF-8, a lone surrogate


def quote_byte(char: bytes) -> str:
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
        self.text, self.position = text, 0
        self.open_containers: list[bytes] = []

    def scan_document(self) -> None:
        step: _Step = self.scan_value
        while step is not None:
            step = step()
        if char := self.peek():
            self.fail(char, "after top-level value")

    def peek(self) -> bytes:
        while self.position < len(self.text) and self.text[self.position] in _SPACE:
            self.position += 1
        return self.text[self.position : self.position + 1]

    def fail(self, char: bytes, where: str) -> NoReturn:
        raise _SyntaxFailure(f"invalid character {quote_byte(char)} {where}" if char else _END)

    def scan_value(self) -> "_Step":
        char = self.peek()
        match char:
            case b"{" | b"[":
                self.position += 1
                return self.enter_container(char)
            case b'"':
                self.scan_string()
            case b"t" | b"f" | b"n":
                self.scan_literal({b"t": b"true", b"f": b"false", b"n": b"null"}[char])
            case _ if char == b"-" or char.isdigit():
                self.scan_number()
            case _:
                self.fail(char, "looking for beginning of value")
        return self.after_value if self.open_containers else None

    def enter_container(self, char: bytes) -> "_Step":
        if len(self.open_containers) >= _DEPTH_MAX:
            raise _SyntaxFailure("exceeded max depth")
        if self.peek() == (b"}" if char == b"{" else b"]"):
            self.position += 1
            return self.after_value if self.open_containers else None
        self.open_containers.append(char)
        return self.scan_key if char == b"{" else self.scan_value

    def scan_key(self) -> "_Step":
        if self.peek() != b'"':
            self.fail(self.peek(), "looking for beginning of object key string")
        self.scan_string()
        if self.peek() != b":":
            self.fail(self.peek(), "after object key")
        self.position += 1
        return self.scan_value

    def after_value(self) -> "_Step":
        char, container = self.peek(), self.open_containers[-1]
        closing, where = (b"}", "after object key:value pair") if container == b"{" else (b"]", "after array element")
        if char == closing:
            self.position += 1
            self.open_containers.pop()
            return self.after_value if self.open_containers else None
        if char == b",":
            self.position += 1
            return self.scan_key if container == b"{" else self.scan_value
        return self.fail(char, where)

    def scan_string(self) -> None:
        self.position += 1
        while True:
            char = self.text[self.position : self.position + 1]
            self.position += 1
            match char:
                case b'"':
                    return
                case b"\\":
                    self.scan_escape()
                case _ if char < b" ":
                    self.fail(char, "in string literal")

    def scan_escape(self) -> None:
        char = self.text[self.position : self.position + 1]
        self.position += 1
        if char == b"u":
            for digit in (self.text[self.position + i : self.position + i + 1] for i in range(4)):
                if not re.fullmatch(rb"[0-9a-fA-F]", digit):
                    self.fail(digit, "in \\u hexadecimal character escape")
            self.position += 4
        elif char not in (b'"', b"\\", b"/", b"b", b"f", b"n", b"r", b"t"):
            self.fail(char, "in string escape code")

    def scan_literal(self, word: bytes) -> None:
        for index in range(len(word)):
            char = self.text[self.position : self.position + 1]
            if char != word[index : index + 1]:
                self.fail(char, f"in literal {word.decode()} (expecting '{chr(word[index])}')")
            self.position += 1

    def scan_number(self) -> None:
        match = _NUMBER.match(self.text, self.position)
        if match is None:
            self.fail(self.text[self.position + 1 : self.position + 2], "in numeric literal")
        self.position = match.end()
        char = self.text[self.position : self.position + 1]
        # The pattern stopped before a point or an exponent that has no digits.
        if char == b".":
            self.fail(self.text[self.position + 1 : self.position + 2], "after decimal point in numeric literal")
        if char in (b"e", b"E"):
            self.fail(self.text[self.position + 1 : self.position + 2], "in exponent of numeric literal")
