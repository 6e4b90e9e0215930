"""Lexer that reports what is no token and goes on behind it.

upstream 1.36: antlr4-go/antlr lexer.go (a token that fails is skipped up to the character that does not fit)
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mockkube_cel.syntax.lexer import ESCAPE, match_token
from mockkube_cel.syntax.recovery.grammar import END, TOKENS

# Names in the grammar of the kinds of tokens that have many texts.
KINDS: Final = {
    "float": "NUM_FLOAT",
    "int": "NUM_INT",
    "uint": "NUM_UINT",
    "string": "STRING",
    "bytes": "BYTES",
    "ident": "IDENTIFIER",
    "escaped": "ESC_IDENTIFIER",
}
_KEYWORDS: Final = frozenset(token.strip("'") for token in TOKENS if token.startswith("'"))
_HEX: Final = "[0-9a-fA-F]"
_BROKEN_ESCAPE: Final = rf"\\(?:[xX]{_HEX}?|u{_HEX}{{0,3}}|U{_HEX}{{0,7}}|[0-3][0-7]?)?"
# As much of a token as fits, up to the character that does not.
_BEGINNING: Final = re.compile(
    rf"""(?:"(?:{ESCAPE}|[^\\"\n\r])*(?:{_BROKEN_ESCAPE})?|'(?:{ESCAPE}|[^\\'\n\r])*(?:{_BROKEN_ESCAPE})?"""
    r"|`[A-Za-z0-9_./ -]*|[=&|])?(?s:.)?"
)


@dataclass(frozen=True, slots=True)
class RecoveryToken:
    """A token of the grammar; its kind is as messages name it."""

    kind: str
    text: str
    offset: int

    @property
    def shown(self) -> str:
        """Text in messages."""
        return self.text or END


def remove_errors(text: str, start: int, end: int) -> str:
    """Return a part of the text without what is no token."""
    parts = []
    while start < end:
        match = match_token(text, start)
        if match is None:
            start = _match_beginning(text, start).end()
        else:
            parts.append(match[0])
            start = match.end()
    return "".join(parts)


def _match_beginning(text: str, position: int) -> "re.Match[str]":
    broken = _BEGINNING.match(text, position)
    assert broken is not None
    return broken


def tokenize(text: str, report: Callable[[int, str], None]) -> list[RecoveryToken]:
    """Return the tokens, the last one of kind END; call `report` with offset and message of each error."""
    tokens: list[RecoveryToken] = []
    position = 0
    while position < len(text):
        match = match_token(text, position)
        if match is None:
            broken = _match_beginning(text, position)
            report(position, f"token recognition error at: '{broken[0]}'")
            position = broken.end()
            continue
        if match.lastgroup != "skip":
            word = match[0]
            kind = f"'{word}'" if word in _KEYWORDS else KINDS[match.lastgroup or ""]
            tokens.append(RecoveryToken(kind, word, position))
        position = match.end()
    tokens.append(RecoveryToken(END, "", len(text)))
    return tokens
