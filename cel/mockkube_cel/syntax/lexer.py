"""Lexer: splits an expression into tokens.

upstream 1.36: cel-go parser/gen/CEL.g4
"""

import re
from dataclasses import dataclass
from typing import Final

ESCAPE: Final = r"""\\(?:[abfnrtv"'`?\\]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7][0-7])"""
_STRING: Final = "|".join(
    (
        rf'"""(?:{ESCAPE}|[^\\])*?"""',
        rf"'''(?:{ESCAPE}|[^\\])*?'''",
        rf'"(?:{ESCAPE}|[^\\"\n\r])*"',
        rf"'(?:{ESCAPE}|[^\\'\n\r])*'",
        r'[rR]"""(?s:.*?)"""',
        r"[rR]'''(?s:.*?)'''",
        r'[rR]"[^"\n\r]*"',
        r"[rR]'[^'\n\r]*'",
    )
)
_EXPONENT: Final = r"[eE][+-]?[0-9]+"
# The first alternative that matches wins: doubles come before the ints they begin with, and strings before identifiers,
# because `r"` and `b"` begin like a name.
_KINDS: Final = {
    "skip": r"[\t\n\r\f ]+|//[^\n]*",
    "float": rf"[0-9]+\.[0-9]+(?:{_EXPONENT})?|[0-9]+{_EXPONENT}|\.[0-9]+(?:{_EXPONENT})?",
    "uint": r"(?:0x[0-9a-fA-F]+|[0-9]+)[uU]",
    "int": r"0x[0-9a-fA-F]+|[0-9]+",
    "bytes": rf"[bB](?:{_STRING})",
    "string": _STRING,
    "ident": "[A-Za-z_][A-Za-z0-9_]*",
    "escaped": "`[A-Za-z0-9_./ -]+`",
    "operator": r"==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%]",
}
_TOKEN: Final = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))
_KEYWORDS: Final = frozenset({"in", "true", "false", "null"})


class BadSyntax(Exception):
    """Expression that does not parse; `syntax.errors` describes why."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token; the kind of operators and keywords is their text."""

    kind: str
    text: str
    offset: int


def match_token(text: str, position: int) -> "re.Match[str] | None":
    """Match the token at a position; the last group is its kind."""
    return _TOKEN.match(text, position)


def tokenize(text: str) -> list[Token]:
    """Split the text into tokens, the last one of kind `end`."""
    tokens = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise BadSyntax
        kind = match.lastgroup or ""
        if kind != "skip":
            word = match[0]
            plain = kind == "operator" or word in _KEYWORDS
            tokens.append(Token(word if plain else kind, word, position))
        position = match.end()
    tokens.append(Token("end", "", len(text)))
    return tokens
