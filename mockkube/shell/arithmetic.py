"""Integer expressions of a shell: `$((...))` and `((...))`."""

import re
from collections.abc import Callable, MutableMapping
from typing import Final

from mockkube.shell.syntax import Unsupported

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
    """Return the value of an expression and make its assignments; raise Unsupported if it does not parse."""
    tokens, at, text = list[str](), 0, text.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        # The evaluator recurses for each parenthesis, so the number of tokens is bounded.
        if found is None or len(tokens) == _TOKENS_MAX:
            raise Unsupported
        tokens.append(found[1])
        at = found.end()
    if not tokens:
        return 0
    reader = _Reader(tokens, variables)
    value = reader.assignment()
    if reader.tokens:
        raise Unsupported
    return value


def divide(left: int, right: int) -> int:
    """Return the quotient, rounded towards zero."""
    if right == 0:
        raise Unsupported
    # Shells round towards zero, Python's `//` rounds down.
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def remainder(left: int, right: int) -> int:
    """Return the remainder of a division that rounds towards zero."""
    return left - right * divide(left, right)


def to_int64(value: int) -> int:
    """Return the value as a signed 64-bit integer."""
    # Shells compute with wrapping 64-bit integers, Python's have no bound.
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
    "/": divide,
    "%": remainder,
}


class _Reader:
    """Evaluator that consumes tokens from the front."""

    def __init__(self, tokens: list[str], variables: MutableMapping[str, str]) -> None:
        self.tokens, self.variables = tokens, variables

    def assignment(self) -> int:
        """Evaluate an assignment or a conditional expression."""
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
        # differs: both branches are evaluated, so that assignments in either of them take effect.
        first = self.assignment()
        if self._take() != ":":
            raise Unsupported
        second = self.assignment()
        return first if condition else second

    def _binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._peek() in _LEVELS[level]:
            operator = self._take()
            left = to_int64(_BINARY[operator](left, self._binary(level + 1)))
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
                    raise Unsupported
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
            raise Unsupported
        return _number(text)

    def _assign(self, name: str, value: int) -> int:
        if not _NAME.match(name):
            raise Unsupported
        self.variables[name.lstrip("$")] = str(to_int64(value))
        return to_int64(value)

    def _peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def _take(self) -> str:
        if not self.tokens:
            raise Unsupported
        return self.tokens.pop(0)


def _number(text: str) -> int:
    digits = text.strip().lstrip("+-")
    if not digits[:1].isdigit():
        raise Unsupported
    # A leading zero means octal in a shell, and is an error in Python.
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    try:
        value = int(digits, 8) if octal else int(digits, 0)
    except ValueError:
        raise Unsupported from None
    return to_int64(-value if text.strip().startswith("-") else value)
