"""Integer expressions of a shell: `$((...))` and `((...))`."""

import re
from collections.abc import Callable, MutableMapping
from typing import Final

from mockkube.shell.machine.errors import Unsupported

_TOKEN: Final = re.compile(
    r"\s*(0[xX][0-9a-fA-F]+|\d+|\$?[A-Za-z_]\w*|\+\+|--|\*\*|<<=?|>>=?|[<>=!+\-*/%&|^]=|&&|\|\||[-+*/%<>=!~&|^?:()])"
)
_NUMBER: Final = re.compile(r"\s*[-+]?(?:0[xX][0-9a-fA-F]+|\d+)\s*$")
_NAME: Final = re.compile(r"\$?[A-Za-z_]\w*$")
_PRECEDENCE_LEVELS: Final = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
_ASSIGNMENT_OPERATORS: Final = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
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
    reader = _ExpressionEvaluator(tokens, variables)
    value = reader.evaluate_assignment()
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


class _ExpressionEvaluator:
    """Evaluator that consumes tokens from the front."""

    def __init__(self, tokens: list[str], variables: MutableMapping[str, str]) -> None:
        self.tokens, self.variables = tokens, variables
        # Operands that do not count are parsed, but they assign nothing and cannot fail.
        self._is_skipping = False

    def evaluate_assignment(self) -> int:
        """Evaluate an assignment or a conditional expression."""
        if len(self.tokens) > 1 and _NAME.match(self.tokens[0]) and self.tokens[1] in _ASSIGNMENT_OPERATORS:
            name, operator = self._take(), self._take()
            value = self.evaluate_assignment()
            if operator != "=":
                value = self._compute(operator[:-1], self._read_variable(name), value)
            return self._assign_variable(name, value)
        return self._evaluate_conditional()

    def _evaluate_conditional(self) -> int:
        condition = self._evaluate_binary(0)
        if self._peek() != "?":
            return condition
        self._take()
        first = self._evaluate_if(bool(condition), self.evaluate_assignment)
        if self._take() != ":":
            raise Unsupported
        second = self._evaluate_if(not condition, self.evaluate_assignment)
        return first if condition else second

    def _evaluate_if(self, counts: bool, evaluate: Callable[[], int]) -> int:
        """Evaluate an operand; without effects if it does not count."""
        before = self._is_skipping
        self._is_skipping = before or not counts
        try:
            return evaluate()
        finally:
            self._is_skipping = before

    def _compute(self, operator: str, left: int, right: int) -> int:
        return 0 if self._is_skipping else to_int64(_BINARY[operator](left, right))

    def _evaluate_binary(self, level: int) -> int:
        if level == len(_PRECEDENCE_LEVELS):
            return self._evaluate_unary()
        left = self._evaluate_binary(level + 1)
        while self._peek() in _PRECEDENCE_LEVELS[level]:
            operator = self._take()
            counts = bool(left) if operator == "&&" else not left if operator == "||" else True
            right = self._evaluate_if(counts, lambda: self._evaluate_binary(level + 1))
            left = self._compute(operator, left, right)
        return left

    def _evaluate_unary(self) -> int:
        sign = self._take()
        match sign:
            case "-":
                return -self._evaluate_unary()
            case "+":
                return self._evaluate_unary()
            case "!":
                return int(not self._evaluate_unary())
            case "~":
                return ~self._evaluate_unary()
            case "(":
                value = self.evaluate_assignment()
                if self._take() != ")":
                    raise Unsupported
                return value
            case "++" | "--":
                name = self._take()
                return self._assign_variable(name, self._read_variable(name) + (1 if sign == "++" else -1))
        return self._evaluate_operand(sign)

    def _evaluate_operand(self, token: str) -> int:
        if not _NAME.match(token):
            return _parse_number(token)
        value = self._read_variable(token)
        if self._peek() in ("++", "--"):
            self._assign_variable(token, value + (1 if self._take() == "++" else -1))
        return value

    def _read_variable(self, name: str) -> int:
        if self._is_skipping:
            return 0
        text = self.variables.get(name.lstrip("$"), "") or "0"
        if not _NUMBER.match(text):
            raise Unsupported
        return _parse_number(text)

    def _assign_variable(self, name: str, value: int) -> int:
        if not _NAME.match(name):
            raise Unsupported
        if not self._is_skipping:
            self.variables[name.lstrip("$")] = str(to_int64(value))
        return to_int64(value)

    def _peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def _take(self) -> str:
        if not self.tokens:
            raise Unsupported
        return self.tokens.pop(0)


def _parse_number(text: str) -> int:
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
