"""Parser of the part of YAML that kubectl writes: block style, one scalar to a line, five times as fast as libyaml.

Whatever else YAML has (flow style, folded lines, anchors, other numbers) is left to the complete parser.
"""

import re
from typing import Any, Final

import orjson

_KEY: Final = re.compile(r"([A-Za-z_][^\s:#'\"{}\[\],&*!|>%@`]*|[0-9]+(?=:)|\"[^\"\\]*\"|'[^']*'):(?: +(.*))?")
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_FLOAT: Final = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+")
# Plain scalars that YAML 1.1 may take for numbers or times of another notation.
_ODD_NUMBER: Final = re.compile(
    r"[-+.]?[0-9][0-9_]*(?:[:.eE][-+0-9_:.eE]*)?|0[xob][0-9a-fA-F_]+|[-+]?\.(?:inf|nan)", re.I
)
_CONSTANTS: Final = {"null": None, "~": None, "true": True, "false": False}
_ODD_WORDS: Final = frozenset(
    word
    for one in ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
    for word in (one, one.title(), one.upper())
) - _CONSTANTS.keys()  # fmt: skip
_SPECIAL: Final = frozenset("!&*{[|>%@`#\"'?,]}")


class _UnsupportedError(Exception):
    """The text has something that only the complete parser reads."""


def parse_kubectl_yaml(text: bytes) -> Any:
    """Return the value of a YAML document; None if it is not in the form that kubectl writes."""
    if b"\r" in text or b"\t" in text.replace(b"\\t", b""):
        return None
    try:
        return _Parser(text.decode().split("\n")).parse()
    except (_UnsupportedError, ValueError, RecursionError):
        return None


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _is_item(line: str, at: int) -> bool:
    """Return whether an item of a list begins at a place of a line."""
    return line.startswith("-", at) and line[at + 1 : at + 2] in ("", " ")


class _Parser:
    """Parser of one document, line by line."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = [*lines, ""]
        self._at = 0

    def parse(self) -> Any:
        """Return the value of the whole text."""
        self._skip_empty()
        value = self._parse_block(_indent_of(self._lines[self._at]))
        self._skip_empty()
        if self._at < len(self._lines):
            raise _UnsupportedError
        return value

    def _skip_empty(self) -> None:
        while self._at < len(self._lines) and not self._lines[self._at].strip():
            self._at += 1

    def _parse_block(self, indent: int) -> Any:
        return self._parse_list(indent) if _is_item(self._lines[self._at], indent) else self._parse_map(indent)

    def _parse_map(self, indent: int) -> dict[str, Any]:  # hot: every line of a dump
        found: dict[str, Any] = {}
        lines, last = self._lines, len(self._lines)
        while self._at < last:
            line = lines[self._at]
            depth = _indent_of(line)
            if depth == len(line):
                self._at += 1
                continue
            if depth < indent or _is_item(line, depth):
                break
            match = _KEY.fullmatch(line, depth)
            if depth > indent or match is None:
                raise _UnsupportedError
            key, rest = match.groups()
            if key[0] in "\"'":
                key = key[1:-1]
            elif key in _ODD_WORDS or key in _CONSTANTS:
                raise _UnsupportedError
            self._at += 1
            found[key] = self._parse_nested(indent) if not rest else self._parse_value(rest, indent)
        return found

    def _parse_list(self, indent: int) -> list[Any]:
        found: list[Any] = []
        lines, last = self._lines, len(self._lines)
        while self._at < last:
            line = lines[self._at]
            depth = _indent_of(line)
            if depth == len(line):
                self._at += 1
                continue
            is_item = _is_item(line, depth)
            if depth < indent or (depth == indent and not is_item):
                break
            if depth > indent:
                raise _UnsupportedError
            rest = line[depth + 2 :]
            if not rest.strip():
                raise _UnsupportedError
            if rest.startswith("- ") or _KEY.fullmatch(rest):
                # What follows the dash is the first line of a block of its own.
                lines[self._at] = " " * (depth + 2) + rest
                found.append(self._parse_block(depth + 2))
            else:
                self._at += 1
                found.append(self._parse_value(rest, indent))
        return found

    def _parse_nested(self, indent: int) -> Any:
        """Return the value of a key without one on its line."""
        self._skip_empty()
        if self._at >= len(self._lines):
            return None
        line = self._lines[self._at]
        depth = _indent_of(line)
        # Items of a list stand at the indentation of its key, or deeper.
        if depth > indent or (depth == indent and _is_item(line, depth)):
            return self._parse_block(depth)
        return None

    def _parse_value(self, text: str, indent: int) -> Any:
        if text in ("|", "|-", "|+"):
            return self._parse_literal(indent, text[1:])
        return _parse_scalar(text.rstrip())

    def _parse_literal(self, indent: int, chomping: str) -> str:
        """Return a block scalar; its lines are indented by more than its key."""
        lines, first = self._lines, self._at
        while first < len(lines) and not lines[first].strip():
            first += 1
        depth = _indent_of(lines[first]) if first < len(lines) else 0
        if depth <= indent:
            raise _UnsupportedError
        found: list[str] = []
        while self._at < len(lines) and (not lines[self._at].strip() or _indent_of(lines[self._at]) >= depth):
            found.append(lines[self._at][depth:])
            self._at += 1
        if self._at < len(lines) and _indent_of(lines[self._at]) > indent:
            raise _UnsupportedError
        text = "\n".join(found)
        if chomping == "+":
            raise _UnsupportedError
        return text.rstrip("\n") + ("" if chomping == "-" else "\n")


def _parse_scalar(text: str) -> Any:
    first = text[0]
    if first in _SPECIAL:
        return _parse_quoted(text)
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if first.isdigit() or first in "-+.":
        if _INTEGER.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
        if _ODD_NUMBER.fullmatch(text):
            raise _UnsupportedError
    if " #" in text or ": " in text or text.endswith(":") or text in _ODD_WORDS or text.startswith("- "):
        raise _UnsupportedError
    return text


def _parse_quoted(text: str) -> Any:
    if text == "{}":
        return {}
    if text == "[]":
        return []
    inner = text[1:-1]
    if len(text) >= 2 and text[0] == text[-1] == '"':
        if "\\" in inner:
            return orjson.loads(text)
        if '"' not in inner:
            return inner
    if len(text) >= 2 and text[0] == text[-1] == "'" and "'" not in inner.replace("''", ""):
        return inner.replace("''", "'")
    raise _UnsupportedError
