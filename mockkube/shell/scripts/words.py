"""Parser for words of a script: quotes, parameters, substitutions."""

import re
from collections.abc import Callable
from typing import Final

from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.scripts.syntax import Arithmetic, Parameter, Script, Substitution, Text, Word

ParseScript = Callable[[str, int], tuple[Script, int]]
"""Parses the script at a position up to its closing parenthesis, and returns the position."""

ENDS: Final = frozenset(" \t\n;&|()<>")
"""Characters that end an unquoted word."""
_PLAIN: Final = re.compile(r"[^\s;&|()<>'\"\\$`]+")
_IN_QUOTES: Final = re.compile(r"[^\"\\$`]+")
_NAME: Final = re.compile(r"[A-Za-z_]\w*|[0-9?#@*$!-]")
_BRACED: Final = re.compile(r"(#?)([A-Za-z_]\w*|[0-9]+|[?#@*$!-])")
_OPERATOR: Final = re.compile(r":?[-=+?]|##?|%%?|(?=\})")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=")
_ESCAPED_IN_QUOTES: Final = '"\\$`\n'
LENGTH: Final = "length"
"""Operator of `${#NAME}`."""


def match_assignment(text: str, at: int) -> re.Match[str] | None:
    """Return the match of an assignment at this position, whose first group is the name; None if there is none."""
    return _ASSIGNMENT.match(text, at)


def parse_word(text: str, at: int, scripts: ParseScript) -> tuple[Word | None, int]:
    """Parse one word, or None, and return it with its end."""
    reader = _WordParser(text, at, scripts)
    found = reader.parse_unquoted(ENDS)
    return (found if reader.at > at else None), reader.at


def parse_arithmetic(text: str, at: int, scripts: ParseScript) -> tuple[Word, int]:
    """Parse an arithmetic expression up to and including its `))`."""
    level, end = 0, at
    while level or not text.startswith("))", end):
        if end >= len(text):
            raise Unsupported
        level += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return _WordParser(text[at:end], 0, scripts).parse_quoted(""), end + 2


class _WordParser:
    """Parses the parts of a word."""

    def __init__(self, text: str, at: int, scripts: ParseScript) -> None:
        self.text, self.at, self.scripts = text, at, scripts

    def parse_unquoted(self, ends: frozenset[str]) -> Word:
        """Parse up to one of the end characters."""
        parts: list[Text | Parameter | Arithmetic | Substitution] = []
        while self.at < len(self.text) and self.text[self.at] not in ends:
            match self.text[self.at]:
                case "'":
                    parts.append(Text(self._parse_single_quoted(), quoted=True))
                case '"':
                    self.at += 1
                    parts.extend(self.parse_quoted('"') or (Text("", quoted=True),))
                    self._take('"')
                case "\\":
                    escaped = self.text[self.at + 1 : self.at + 2]
                    self.at += 1 + len(escaped)
                    if escaped != "\n":
                        parts.append(Text(escaped or "\\", quoted=True))
                case "$" | "`":
                    parts.append(self._parse_dollar(quoted=False))
                case _:
                    found = _PLAIN.match(self.text, self.at)
                    plain = found[0] if found else self.text[self.at]
                    if "}" in ends and "}" in plain:
                        plain = plain.partition("}")[0]
                    self.at += len(plain)
                    parts.append(Text(plain))
        return tuple(parts)

    def parse_quoted(self, end: str) -> Word:
        """Parse up to the closing double quote, or to the end of a text without one."""
        parts: list[Text | Parameter | Arithmetic | Substitution] = []
        while self.at < len(self.text) and not (end and self.text[self.at] == end):
            char = self.text[self.at]
            if char == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                self.at += 2
                # In double quotes a backslash only escapes these characters, and stays before any other.
                kept = escaped if escaped in _ESCAPED_IN_QUOTES else f"\\{escaped}"
                parts.append(Text("" if escaped == "\n" else kept, quoted=True))
            elif char in "$`":
                parts.append(self._parse_dollar(quoted=True))
            else:
                found = _IN_QUOTES.match(self.text, self.at)
                plain = found[0] if found else char
                self.at += len(plain)
                parts.append(Text(plain, quoted=True))
        return tuple(parts)

    def _parse_single_quoted(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise Unsupported
        begin, self.at = self.at + 1, end + 1
        return self.text[begin:end]

    def _take(self, sign: str) -> None:
        if not self.text.startswith(sign, self.at):
            raise Unsupported
        self.at += len(sign)

    def _parse_dollar(self, *, quoted: bool) -> Text | Parameter | Arithmetic | Substitution:
        if self.text[self.at] == "`":
            return self._parse_backticks(quoted=quoted)
        self.at += 1
        if self.text.startswith("((", self.at):
            expression, self.at = parse_arithmetic(self.text, self.at + 2, self.scripts)
            return Arithmetic(expression, quoted)
        if self.text.startswith("(", self.at):
            return self._parse_substitution(quoted=quoted)
        if self.text.startswith("{", self.at):
            self.at += 1
            return self._parse_braced(quoted=quoted)
        found = _NAME.match(self.text, self.at)
        if found is None:
            if self.text.startswith("'", self.at):
                raise Unsupported
            return Text("$", quoted)
        self.at = found.end()
        return Parameter(found[0], quoted=quoted)

    def _parse_substitution(self, *, quoted: bool) -> Substitution:
        script, end = self.scripts(self.text, self.at + 1)
        self.at = end + 1
        return Substitution(script, quoted)

    def _parse_backticks(self, *, quoted: bool) -> Substitution:
        end = self.text.find("`", self.at + 1)
        # A backslash in backticks may escape a nested substitution, which is not supported.
        if end < 0 or "\\" in self.text[self.at : end]:
            raise Unsupported
        script, _ = self.scripts(f"{self.text[self.at + 1 : end]})", 0)
        self.at = end + 1
        return Substitution(script, quoted)

    def _parse_braced(self, *, quoted: bool) -> Parameter:
        found = _BRACED.match(self.text, self.at)
        if found is None:
            raise Unsupported
        self.at = found.end()
        operator = _OPERATOR.match(self.text, self.at)
        if operator is None or (found[1] and operator[0]):
            raise Unsupported
        self.at = operator.end()
        alternative = self.parse_quoted("}") if quoted else self.parse_unquoted(frozenset("}"))
        self._take("}")
        return Parameter(found[2], LENGTH if found[1] else operator[0], alternative, quoted)
