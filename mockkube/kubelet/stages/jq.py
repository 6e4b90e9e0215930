"""Compiler of a subset of jq: paths, iteration, pipes, operators, constructors, function calls.

differs: no variables, reductions, definitions nor assignments; a stage that uses them is rejected when it is parsed.
"""

import json
import re
from typing import Final

from mockkube.kubelet.stages import jq_filters as filters
from mockkube.kubelet.stages.jq_filters import OPERATORS, WITH_FILTER, Filter
from mockkube.kubelet.stages.jq_functions import PLAIN, WITH_VALUE, JqError, subtracted

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)
    |(?P<field>\.(?:[A-Za-z_]\w*|"(?:[^"\\]|\\.)*"))|(?P<mark>\.\.|//|==|!=|<=|>=|[][.(){}|?<>,:+*/%-]))""",
    re.VERBOSE,
)
_CONSTANTS: Final = {"true": True, "false": False, "null": None}


def compile_jq(text: str) -> Filter:
    """Compile an expression; JqError if it is invalid."""
    return _Parser(text).whole()


class _Parser:
    """Recursive descent parser; a method for each level of precedence."""

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
            raise self._unexpected()
        return result

    def _unexpected(self) -> JqError:
        if self._next >= len(self._tokens):
            return JqError(f"{self._text!r}: ends too early")
        return JqError(f"{self._text!r}: {self._tokens[self._next][1]!r} is not expected")

    def _current(self) -> tuple[str, str]:
        return self._tokens[self._next] if self._next < len(self._tokens) else ("", "")

    def _take(self, *marks: str) -> str:
        kind, text = self._current()
        if kind in ("mark", "name") and text in marks:
            self._next += 1
            return text
        return ""

    def _expect(self, mark: str) -> None:
        if not self._take(mark):
            raise JqError(f"{self._text!r}: {mark!r} is missing")

    def _pipeline(self) -> Filter:
        result = self._alternatives()
        while self._take(","):
            result = filters.beside(result, self._alternatives())
        if self._take("|"):
            return filters.pipe(result, self._pipeline())
        return result

    def _alternatives(self) -> Filter:
        result = self._either()
        if self._take("//"):
            return filters.alternative(result, self._alternatives())
        return result

    def _either(self) -> Filter:
        result = self._and()
        while self._take("or"):
            result = filters.logic(result, "or", self._and())
        return result

    def _and(self) -> Filter:
        result = self._operators(0)
        while self._take("and"):
            result = filters.logic(result, "and", self._operators(0))
        return result

    def _operators(self, level: int) -> Filter:
        if level == len(OPERATORS):
            return self._signed()
        result = self._operators(level + 1)
        while mark := self._take(*OPERATORS[level]):
            result = filters.operated(result, OPERATORS[level][mark], self._operators(level + 1))
        return result

    def _signed(self) -> Filter:
        if self._take("-"):
            return filters.operated(filters.constant(0), subtracted, self._signed())
        return self._postfix()

    def _postfix(self) -> Filter:
        result = self._primary()
        while True:
            kind, text = self._current()
            if kind == "field":
                self._next += 1
                result = filters.items_of(result, filters.constant(_field_name(text)))
            elif self._take("["):
                result = self._bracket(result)
            elif self._take("?"):
                result = filters.tried(result)
            # jq accepts `.a.[0]` as well as `.a[0]`.
            elif text == "." and self._tokens[self._next + 1 :][:1] == [("mark", "[")]:
                self._next += 1
            else:
                return result

    def _bracket(self, of: Filter) -> Filter:
        if self._take("]"):
            return filters.pipe(of, filters.each_of)
        start = None if self._current() == ("mark", ":") else self._pipeline()
        if self._take(":"):
            end = None if self._current() == ("mark", "]") else self._pipeline()
            self._expect("]")
            return filters.slice_of(of, start, end)
        self._expect("]")
        assert start is not None, "only a slice begins nowhere"
        return filters.items_of(of, start)

    def _primary(self) -> Filter:
        kind, text = self._current()
        self._next += 1
        match kind, text:
            case "string", _:
                return filters.constant(_string(text))
            case "number", _:
                return filters.constant(json.loads(text))
            case "field", _:
                return filters.items_of(filters.identity, filters.constant(_field_name(text)))
            case "name", _:
                return self._named(text)
            case _, ".":
                return filters.identity
            case _, "..":
                return filters.everything
            case _, "(":
                result = self._pipeline()
                self._expect(")")
                return result
            case _, "[":
                return self._list()
            case _, "{":
                return self._map()
        self._next -= 1
        raise self._unexpected()

    def _list(self) -> Filter:
        if self._take("]"):
            return filters.called(lambda value: [])
        items = self._pipeline()
        self._expect("]")
        return filters.called(lambda value: list(items(value)))

    def _map(self) -> Filter:
        fields: list[tuple[Filter, Filter]] = []
        while not self._take("}"):
            if fields:
                self._expect(",")
            kind, text = self._current()
            self._next += 1
            key = filters.constant(_string(text) if kind == "string" else text)
            if kind == "mark" and text == "(":
                key = self._pipeline()
                self._expect(")")
            elif kind not in ("string", "name"):
                self._next -= 1
                raise self._unexpected()
            # A key without value is a short form: `{name}` takes the field of the same name.
            content = self._alternatives() if self._take(":") else filters.items_of(filters.identity, key)
            fields.append((key, content))
        return filters.object_of(fields)

    def _named(self, name: str) -> Filter:
        if name in _CONSTANTS:
            return filters.constant(_CONSTANTS[name])
        if name == "if":
            return self._if()
        if name == "empty":
            return lambda value: iter(())
        if self._take("("):
            argument = self._pipeline()
            self._expect(")")
            if name in WITH_FILTER:
                return WITH_FILTER[name](argument)
            if name in WITH_VALUE:
                return filters.with_argument(WITH_VALUE[name], argument)
        elif name in PLAIN:
            return filters.called(PLAIN[name])
        raise JqError(f"{self._text!r}: there is no {name}")

    def _if(self) -> Filter:
        condition = self._pipeline()
        self._expect("then")
        then = self._pipeline()
        if self._take("elif"):
            return filters.either(condition, then, self._if())
        otherwise = self._pipeline() if self._take("else") else filters.identity
        self._expect("end")
        return filters.either(condition, then, otherwise)


def _field_name(text: str) -> str:
    return _string(text[1:]) if text[1] == '"' else text[1:]


def _string(text: str) -> str:
    if "\\(" in text:
        raise JqError(f"{text}: values in strings are not understood")
    return str(json.loads(text))
