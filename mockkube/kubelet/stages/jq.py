"""As much of jq as stages are written in: paths, iteration, pipes, `select`, comparisons, `//`, and, or, not.

differs: jq has far more; what is not here is refused when a stage is read.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

Filter = Callable[[Any], Iterator[Any]]
"""Makes of one value any number of others."""

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)
    |(?P<field>\.[A-Za-z_]\w*)|(?P<mark>//|==|!=|<=|>=|\.|\[|\]|\(|\)|\||\?|<|>|,))""",
    re.VERBOSE,
)
_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_CONSTANTS: Final = {"true": True, "false": False, "null": None}


class JqError(ValueError):
    """An expression that is not understood."""


def compile_jq(text: str) -> Filter:
    """Compile an expression; JqError if it is not one."""
    return _Parser(text).whole()


def _truthy(value: Any) -> bool:
    return value is not None and value is not False


def _field(name: str) -> Filter:
    def run(value: Any) -> Iterator[Any]:
        if value is None:
            yield None
        elif isinstance(value, dict):
            yield value.get(name)

    return run


def _index(number: int) -> Filter:
    def run(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield value[number] if -len(value) <= number < len(value) else None
        elif value is None:
            yield None

    return run


def _each(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _pipe(first: Filter, second: Filter) -> Filter:
    return lambda value: (result for middle in first(value) for result in second(middle))


def _constant(constant: Any) -> Filter:
    return lambda value: iter((constant,))


def _identity(value: Any) -> Iterator[Any]:
    yield value


def _select(condition: Filter) -> Filter:
    return lambda value: iter([value for verdict in condition(value) if _truthy(verdict)])


def _compared(left: Filter, mark: str, right: Filter) -> Filter:
    compare = _COMPARISONS[mark]

    def run(value: Any) -> Iterator[Any]:
        for one in right(value):
            for other in left(value):
                try:
                    yield compare(other, one)
                except TypeError:
                    yield False

    return run


def _alternative(left: Filter, right: Filter) -> Filter:
    def run(value: Any) -> Iterator[Any]:
        found = [one for one in left(value) if _truthy(one)]
        yield from found or right(value)

    return run


def _logic(left: Filter, word: str, right: Filter) -> Filter:
    def run(value: Any) -> Iterator[Any]:
        for one in left(value):
            if _truthy(one) == (word == "or"):
                yield word == "or"
            else:
                yield from (_truthy(other) for other in right(value))

    return run


def _length(value: Any) -> Iterator[Any]:
    yield 0 if value is None else abs(value) if isinstance(value, int | float) else len(value)


def _negated(value: Any) -> Iterator[Any]:
    yield not _truthy(value)


_FUNCTIONS: Final[dict[str, Filter]] = {"length": _length, "not": _negated}


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str]] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise JqError(f"{text!r}: {text[position:].strip()!r} is not understood")
            assert match.lastgroup is not None, "one of the groups has matched"
            self._tokens.append((match.lastgroup, match[match.lastgroup]))
            position = match.end()
        self._next = 0

    def whole(self) -> Filter:
        result = self._pipeline()
        if self._next < len(self._tokens):
            raise JqError(f"{self._text!r}: {self._tokens[self._next][1]!r} is not expected")
        return result

    def _peek(self, *marks: str) -> str:
        if self._next < len(self._tokens) and self._tokens[self._next][1] in marks:
            return self._tokens[self._next][1]
        return ""

    def _take(self, *marks: str) -> str:
        found = self._peek(*marks)
        self._next += bool(found)
        return found

    def _expect(self, mark: str) -> None:
        if not self._take(mark):
            raise JqError(f"{self._text!r}: {mark!r} is missing")

    def _pipeline(self) -> Filter:
        result = self._alternatives()
        while self._take("|"):
            result = _pipe(result, self._alternatives())
        return result

    def _alternatives(self) -> Filter:
        result = self._either()
        while self._take("//"):
            result = _alternative(result, self._either())
        return result

    def _either(self) -> Filter:
        result = self._both()
        while word := self._take("or"):
            result = _logic(result, word, self._both())
        return result

    def _both(self) -> Filter:
        result = self._comparison()
        while word := self._take("and"):
            result = _logic(result, word, self._comparison())
        return result

    def _comparison(self) -> Filter:
        result = self._postfix()
        if mark := self._take(*_COMPARISONS):
            result = _compared(result, mark, self._postfix())
        return result

    def _postfix(self) -> Filter:
        result = self._primary()
        while True:
            kind, text = self._tokens[self._next] if self._next < len(self._tokens) else ("", "")
            if kind == "field":
                self._next += 1
                result = _pipe(result, _field(text[1:]))
            elif text == "[":
                self._next += 1
                result = _pipe(result, self._bracket())
            elif text == "?" or (text == "." and self._tokens[self._next + 1 :][:1] == [("mark", "[")]):
                self._next += 1
            else:
                return result

    def _bracket(self) -> Filter:
        if self._take("]"):
            return _each
        kind, text = self._tokens[self._next] if self._next < len(self._tokens) else ("", "")
        self._next += 1
        self._expect("]")
        if kind == "string":
            return _field(json.loads(text))
        if kind == "number":
            return _index(int(text))
        raise JqError(f"{self._text!r}: [{text}] is not understood")

    def _primary(self) -> Filter:
        kind, text = self._tokens[self._next] if self._next < len(self._tokens) else ("", "")
        self._next += 1
        match kind:
            case "string" | "number":
                return _constant(json.loads(text))
            case "field":
                return _field(text[1:])
            case "name":
                return self._named(text)
        if text == ".":
            return _identity
        if text == "(":
            result = self._pipeline()
            self._expect(")")
            return result
        raise JqError(f"{self._text!r}: ends too early" if not kind else f"{self._text!r}: {text!r} is not expected")

    def _named(self, name: str) -> Filter:
        if name in _CONSTANTS:
            return _constant(_CONSTANTS[name])
        if name in _FUNCTIONS:
            return _FUNCTIONS[name]
        if name in ("select", "has"):
            self._expect("(")
            argument = self._pipeline()
            self._expect(")")
            return _select(argument) if name == "select" else _has(argument)
        raise JqError(f"{self._text!r}: there is no {name}")


def _has(key: Filter) -> Filter:
    def run(value: Any) -> Iterator[Any]:
        for name in key(value):
            yield isinstance(value, dict) and name in value

    return run
