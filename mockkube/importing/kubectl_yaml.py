"""Parser of the part of YAML that kubectl writes: block style, one scalar to a line, five times as fast as libyaml.

Whatever else YAML has (flow style, folded lines, anchors, other numbers) is left to the complete parser.
"""

import re
from enum import IntEnum
from typing import Any, Final

import orjson

_KEY: Final = re.compile(r"([A-Za-z_][^\s:#'\"{}\[\],&*!|>%@`]*|[0-9]+(?=:)|\"[^\"\\]*\"|'[^']*'):(?: +(.*))?")
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_FLOAT: Final = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+")
# Plain scalars that YAML 1.1 may take for numbers or times of another notation.
_ODD_NUMBER: Final = re.compile(
    r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9_]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?|"
    r"[-+]?0[xob][0-9a-fA-F_]+|[-+]?\.(?:inf|nan)",
    re.I,
)
_CONSTANTS: Final = {"null": None, "~": None, "true": True, "false": False}
_ODD_WORDS: Final = frozenset(
    word
    for one in ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
    for word in (one, one.title(), one.upper())
) - _CONSTANTS.keys()  # fmt: skip
_LITERALS: Final = ("|", "|-", "|+")
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


class _Kind(IntEnum):
    """Kind of a line, by what it holds after its indentation."""

    EMPTY = 0
    # A key with a scalar.
    SCALAR = 1
    # A key with an empty map or list, of which each line needs a new one.
    EMPTY_CONTAINER = 2
    # A key whose value is on the lines below it, or which has none.
    NESTED = 3
    # A key with a literal block.
    LITERAL = 4
    # A dash with a scalar.
    SCALAR_ITEM = 5
    # A dash with the first line of a block.
    BLOCK_ITEM = 6
    # A dash with an empty map or list.
    EMPTY_CONTAINER_ITEM = 7
    UNSUPPORTED = 8


# Indentation, kind, key and value; the value of a block item is its first line without the dash.
_Line = tuple[int, _Kind, str, Any]
_ITEMS: Final = (_Kind.SCALAR_ITEM, _Kind.BLOCK_ITEM, _Kind.EMPTY_CONTAINER_ITEM)
# Dumps repeat most of their lines.
_SCANNED: dict[str, _Line] = {}
_SCANNED_MAX: Final = 200_000


def _scan(line: str) -> _Line:
    """Return what a line holds, and remember it."""
    try:
        scanned = _scan_line(line)
    except (_UnsupportedError, ValueError):
        scanned = (_indent_of(line), _Kind.UNSUPPORTED, "", None)
    if len(_SCANNED) >= _SCANNED_MAX:
        _SCANNED.clear()
    _SCANNED[line] = scanned
    return scanned


def _scan_line(line: str) -> _Line:
    depth = _indent_of(line)
    if depth == len(line):
        return depth, _Kind.EMPTY, "", None
    if _is_item(line, depth):
        return _scan_item(line, depth)
    match = _KEY.fullmatch(line, depth)
    if match is None:
        raise _UnsupportedError
    key, rest = match.groups()
    if key[0] in "\"'":
        key = key[1:-1]
    elif key in _ODD_WORDS or key in _CONSTANTS:
        raise _UnsupportedError
    if not rest:
        return depth, _Kind.NESTED, key, None
    if rest in _LITERALS:
        return depth, _Kind.LITERAL, key, rest[1:]
    value = _parse_scalar(rest.rstrip())
    return depth, _Kind.EMPTY_CONTAINER if isinstance(value, dict | list) else _Kind.SCALAR, key, value


def _scan_item(line: str, depth: int) -> _Line:
    rest = line[depth + 2 :]
    if not rest.strip() or rest in _LITERALS:
        raise _UnsupportedError
    if rest.startswith("- ") or _KEY.fullmatch(rest):
        return depth, _Kind.BLOCK_ITEM, "", " " * (depth + 2) + rest
    value = _parse_scalar(rest.rstrip())
    return depth, _Kind.EMPTY_CONTAINER_ITEM if isinstance(value, dict | list) else _Kind.SCALAR_ITEM, "", value


class _Parser:
    """Parser of one document, line by line."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def parse(self) -> Any:
        """Return the value of the whole text."""
        first = self._peek()
        if first is None:
            raise _UnsupportedError
        value = self._parse_block(first)
        if self._peek() is not None:
            raise _UnsupportedError
        return value

    def _peek(self) -> _Line | None:
        """Return the next line that is not empty; None at the end."""
        lines = self._lines
        while self._at < len(lines):
            line = lines[self._at]
            scanned = _SCANNED.get(line) or _scan(line)
            if scanned[1] is not _Kind.EMPTY:
                return scanned
            self._at += 1
        return None

    def _parse_block(self, first: _Line) -> Any:
        return self._parse_list(first[0]) if first[1] in _ITEMS else self._parse_map(first[0])

    def _parse_map(self, indent: int) -> dict[str, Any]:  # hot: every line of a dump
        found: dict[str, Any] = {}
        lines, known, last = self._lines, _SCANNED, len(self._lines)
        while self._at < last:
            line = lines[self._at]
            depth, kind, key, value = known.get(line) or _scan(line)
            if kind is _Kind.EMPTY:
                self._at += 1
                continue
            if depth < indent or (depth == indent and kind in _ITEMS):
                break
            if depth > indent or kind is _Kind.UNSUPPORTED:
                raise _UnsupportedError
            self._at += 1
            if kind is _Kind.SCALAR:
                found[key] = value
            elif kind is _Kind.NESTED:
                found[key] = self._parse_nested(indent)
            else:
                found[key] = self._parse_literal(indent, value) if kind is _Kind.LITERAL else type(value)()
        return found

    def _parse_list(self, indent: int) -> list[Any]:
        found: list[Any] = []
        lines, known, last = self._lines, _SCANNED, len(self._lines)
        while self._at < last:
            line = lines[self._at]
            depth, kind, _, value = known.get(line) or _scan(line)
            if kind is _Kind.EMPTY:
                self._at += 1
                continue
            if depth < indent or (depth == indent and kind not in _ITEMS and kind is not _Kind.UNSUPPORTED):
                break
            if depth > indent or kind is _Kind.UNSUPPORTED:
                raise _UnsupportedError
            if kind is _Kind.BLOCK_ITEM:
                # What follows the dash is the first line of a block of its own.
                lines[self._at] = value
                found.append(self._parse_block(known.get(value) or _scan(value)))
            else:
                self._at += 1
                found.append(value if kind is _Kind.SCALAR_ITEM else type(value)())
        return found

    def _parse_nested(self, indent: int) -> Any:
        """Return the value of a key without one on its line."""
        following = self._peek()
        # Items of a list stand at the indentation of its key, or deeper.
        if following is not None and (following[0] > indent or (following[0] == indent and following[1] in _ITEMS)):
            return self._parse_block(following)
        return None

    def _parse_literal(self, indent: int, chomping: str) -> str:
        """Return a block scalar; its lines are indented by more than its key."""
        lines, first = self._lines, self._at
        while first < len(lines) and not lines[first].strip():
            first += 1
        depth = _indent_of(lines[first]) if first < len(lines) else 0
        if depth <= indent or chomping == "+":
            raise _UnsupportedError
        found: list[str] = []
        while self._at < len(lines) and (not lines[self._at].strip() or _indent_of(lines[self._at]) >= depth):
            found.append(lines[self._at][depth:])
            self._at += 1
        if self._at < len(lines) and _indent_of(lines[self._at]) > indent:
            raise _UnsupportedError
        return "\n".join(found).rstrip("\n") + ("" if chomping == "-" else "\n")


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
