"""Whole-number expressions of a shell: `$((...))` and `((...))`."""

import re
from collections.abc import Callable, MutableMapping
from typing import Final

from mockkube.shell.syntax import Unread

_TOKEN: Final = re.compile(
    r"\s*(0[xX][0-9a-fA-F]+|\d+|\$?[A-Za-z_]\w*|\+\+|--|\*\*|<<=?|>>=?|[<>=!+\-*/%&|^]=|&&|\|\||[-+*/%<>=!~&|^?:()])"
)
_NUMBER: Final = re.compile(r"\s*[-+]?(?:0[xX][0-9a-fA-F]+|\d+)\s*$")
_NAME: Final = re.compile(r"\$?[A-Za-z_]\w*$")
_LEVELS: Final = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
_ASSIGNING: Final = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
_SHIFT_MAX: Final = 63
_TOKENS_MAX: Final = 200


def evaluate(text: str, variables: MutableMapping[str, str]) -> int:
    """Return the value of an expression, and assign what it assigns; Unread if it is not understood."""
    tokens, at, text = list[str](), 0, text.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or len(tokens) == _TOKENS_MAX:
            raise Unread
        tokens.append(found[1])
        at = found.end()
    if not tokens:
        return 0
    reader = _Reader(tokens, variables)
    value = reader.assignment()
    if reader.tokens:
        raise Unread
    return value


def divided(left: int, right: int) -> int:
    """Return the quotient, rounded towards zero."""
    if right == 0:
        raise Unread
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def remainder(left: int, right: int) -> int:
    """Return what is left of a division that rounds towards zero."""
    return left - right * divided(left, right)


def wrapped(value: int) -> int:
    """Return the value as 64 bits hold it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


_BINARY: Final[dict[str, Callable[[int, int], int]]] = {
    "||": lambda left, right: int(bool(left or right)),
    "&&": lambda left, right: int(bool(left and right)),
    "|": lambda left, right: left | right,
    "^": lambda left, right: left ^ right,
    "&": lambda left, right: left & right,
    "==": lambda left, right: int(left == right),
    "!=": lambda left, right: int(left != right),
    "<": lambda left, right: int(left < right),
    "<=": lambda left, right: int(left <= right),
    ">": lambda left, right: int(left > right),
    ">=": lambda left, right: int(left >= right),
    "<<": lambda left, right: left << (right & _SHIFT_MAX),
    ">>": lambda left, right: left >> (right & _SHIFT_MAX),
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": divided,
    "%": remainder,
}


class _Reader:
    """Takes tokens from the front and computes as it goes."""

    def __init__(self, tokens: list[str], variables: MutableMapping[str, str]) -> None:
        self.tokens, self.variables = tokens, variables

    def assignment(self) -> int:
        """Read an assignment, or a choice."""
        if len(self.tokens) > 1 and _NAME.match(self.tokens[0]) and self.tokens[1] in _ASSIGNING:
            name, operator = self._take(), self._take()
            value = self.assignment()
            if operator != "=":
                value = _BINARY[operator[:-1]](self._value(name), value)
            return self._assign(name, value)
        return self._choice()

    def _choice(self) -> int:
        condition = self._binary(0)
        if self._peek() != "?":
            return condition
        self._take()
        first = self.assignment()
        if self._take() != ":":
            raise Unread
        second = self.assignment()
        return first if condition else second

    def _binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._peek() in _LEVELS[level]:
            operator = self._take()
            left = wrapped(_BINARY[operator](left, self._binary(level + 1)))
        return left

    def _unary(self) -> int:
        sign = self._take()
        match sign:
            case "-":
                return -self._unary()
            case "+":
                return self._unary()
            case "!":
                return int(not self._unary())
            case "~":
                return ~self._unary()
            case "(":
                value = self.assignment()
                if self._take() != ")":
                    raise Unread
                return value
            case "++" | "--":
                name = self._take()
                return self._assign(name, self._value(name) + (1 if sign == "++" else -1))
        return self._operand(sign)

    def _operand(self, token: str) -> int:
        if not _NAME.match(token):
            return _number(token)
        value = self._value(token)
        if self._peek() in ("++", "--"):
            self._assign(token, value + (1 if self._take() == "++" else -1))
        return value

    def _value(self, name: str) -> int:
        text = self.variables.get(name.lstrip("$"), "") or "0"
        if not _NUMBER.match(text):
            raise Unread
        return _number(text)

    def _assign(self, name: str, value: int) -> int:
        if not _NAME.match(name):
            raise Unread
        self.variables[name.lstrip("$")] = str(wrapped(value))
        return wrapped(value)

    def _peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def _take(self) -> str:
        if not self.tokens:
            raise Unread
        return self.tokens.pop(0)


def _number(text: str) -> int:
    digits = text.strip().lstrip("+-")
    if not digits[:1].isdigit():
        raise Unread
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    try:
        value = int(digits, 8) if octal else int(digits, 0)
    except ValueError:
        raise Unread from None
    return wrapped(-value if text.strip().startswith("-") else value)
