"""Compiler of a subset of jq: paths, iteration, pipes, operators, constructors, function calls.

differs: no variables, reductions, definitions nor assignments; a stage that uses them is rejected when it is parsed.
"""

import json
import re
from typing import Final

from mockkube.kubelet.stages import jq_filters as filters
from mockkube.kubelet.stages.jq_filters import FUNCTIONS_OF_FILTER, OPERATORS, Filter
from mockkube.kubelet.stages.jq_functions import FUNCTIONS_OF_VALUE, FUNCTIONS_WITHOUT_ARGUMENT, JqError, subtract

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)
    |(?P<field>\.(?:[A-Za-z_]\w*|"(?:[^"\\]|\\.)*"))|(?P<mark>\.\.|//|==|!=|<=|>=|[][.(){}|?<>,:+*/%-]))""",
    re.VERBOSE,
)
_CONSTANTS: Final = {"true": True, "false": False, "null": None}


def compile_jq(text: str) -> Filter:
    """Compile an expression; JqError if it is invalid."""
    return _Parser(text).parse()


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

    def parse(self) -> Filter:
        result = self._parse_pipeline()
        if self._next < len(self._tokens):
            raise self._make_unexpected_error()
        return result

    def _make_unexpected_error(self) -> JqError:
        if self._next >= len(self._tokens):
            return JqError(f"{self._text!r}: ends too early")
        return JqError(f"{self._text!r}: {self._tokens[self._next][1]!r} is not expected")

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._next] if self._next < len(self._tokens) else ("", "")

    def _accept(self, *marks: str) -> str:
        kind, text = self._peek()
        if kind in ("mark", "name") and text in marks:
            self._next += 1
            return text
        return ""

    def _expect(self, mark: str) -> None:
        if not self._accept(mark):
            raise JqError(f"{self._text!r}: {mark!r} is missing")

    def _parse_pipeline(self) -> Filter:
        result = self._parse_alternatives()
        while self._accept(","):
            result = filters.comma(result, self._parse_alternatives())
        if self._accept("|"):
            return filters.pipe(result, self._parse_pipeline())
        return result

    def _parse_alternatives(self) -> Filter:
        result = self._parse_or()
        if self._accept("//"):
            return filters.alternative(result, self._parse_alternatives())
        return result

    def _parse_or(self) -> Filter:
        result = self._parse_and()
        while self._accept("or"):
            result = filters.boolean_operator(result, "or", self._parse_and())
        return result

    def _parse_and(self) -> Filter:
        result = self._parse_operators(0)
        while self._accept("and"):
            result = filters.boolean_operator(result, "and", self._parse_operators(0))
        return result

    def _parse_operators(self, level: int) -> Filter:
        if level == len(OPERATORS):
            return self._parse_signed()
        result = self._parse_operators(level + 1)
        while mark := self._accept(*OPERATORS[level]):
            result = filters.binary_operator(result, OPERATORS[level][mark], self._parse_operators(level + 1))
        return result

    def _parse_signed(self) -> Filter:
        if self._accept("-"):
            return filters.binary_operator(filters.constant(0), subtract, self._parse_signed())
        return self._parse_postfix()

    def _parse_postfix(self) -> Filter:
        result = self._parse_primary()
        while True:
            kind, text = self._peek()
            if kind == "field":
                self._next += 1
                result = filters.index(result, filters.constant(_parse_field_name(text)))
            elif self._accept("["):
                result = self._parse_bracket(result)
            elif self._accept("?"):
                result = filters.suppress_errors(result)
            # jq accepts `.a.[0]` as well as `.a[0]`.
            elif text == "." and self._tokens[self._next + 1 :][:1] == [("mark", "[")]:
                self._next += 1
            else:
                return result

    def _parse_bracket(self, of: Filter) -> Filter:
        if self._accept("]"):
            return filters.pipe(of, filters.iterate)
        start = None if self._peek() == ("mark", ":") else self._parse_pipeline()
        if self._accept(":"):
            end = None if self._peek() == ("mark", "]") else self._parse_pipeline()
            self._expect("]")
            return filters.slice_values(of, start, end)
        self._expect("]")
        assert start is not None, "only a slice begins nowhere"
        return filters.index(of, start)

    def _parse_primary(self) -> Filter:
        kind, text = self._peek()
        self._next += 1
        match kind, text:
            case "string", _:
                return filters.constant(_parse_string(text))
            case "number", _:
                return filters.constant(json.loads(text))
            case "field", _:
                return filters.index(filters.identity, filters.constant(_parse_field_name(text)))
            case "name", _:
                return self._parse_name(text)
            case _, ".":
                return filters.identity
            case _, "..":
                return filters.recurse
            case _, "(":
                result = self._parse_pipeline()
                self._expect(")")
                return result
            case _, "[":
                return self._parse_array()
            case _, "{":
                return self._parse_object()
        self._next -= 1
        raise self._make_unexpected_error()

    def _parse_array(self) -> Filter:
        if self._accept("]"):
            return filters.call(lambda value: [])
        items = self._parse_pipeline()
        self._expect("]")
        return filters.call(lambda value: list(items(value)))

    def _parse_object(self) -> Filter:
        fields: list[tuple[Filter, Filter]] = []
        while not self._accept("}"):
            if fields:
                self._expect(",")
            kind, text = self._peek()
            self._next += 1
            key = filters.constant(_parse_string(text) if kind == "string" else text)
            if kind == "mark" and text == "(":
                key = self._parse_pipeline()
                self._expect(")")
            elif kind not in ("string", "name"):
                self._next -= 1
                raise self._make_unexpected_error()
            # A key without value is a short form: `{name}` takes the field of the same name.
            content = self._parse_alternatives() if self._accept(":") else filters.index(filters.identity, key)
            fields.append((key, content))
        return filters.construct_object(fields)

    def _parse_name(self, name: str) -> Filter:
        if name in _CONSTANTS:
            return filters.constant(_CONSTANTS[name])
        if name == "if":
            return self._parse_if()
        if name == "empty":
            return lambda value: iter(())
        if self._accept("("):
            argument = self._parse_pipeline()
            self._expect(")")
            if name in FUNCTIONS_OF_FILTER:
                return FUNCTIONS_OF_FILTER[name](argument)
            if name in FUNCTIONS_OF_VALUE:
                return filters.call_with_argument(FUNCTIONS_OF_VALUE[name], argument)
        elif name in FUNCTIONS_WITHOUT_ARGUMENT:
            return filters.call(FUNCTIONS_WITHOUT_ARGUMENT[name])
        raise JqError(f"{self._text!r}: there is no {name}")

    def _parse_if(self) -> Filter:
        condition = self._parse_pipeline()
        self._expect("then")
        then = self._parse_pipeline()
        if self._accept("elif"):
            return filters.conditional(condition, then, self._parse_if())
        otherwise = self._parse_pipeline() if self._accept("else") else filters.identity
        self._expect("end")
        return filters.conditional(condition, then, otherwise)


def _parse_field_name(text: str) -> str:
    return _parse_string(text[1:]) if text[1] == '"' else text[1:]


def _parse_string(text: str) -> str:
    if "\\(" in text:
        raise JqError(f"{text}: values in strings are not understood")
    return str(json.loads(text))
