"""Pipelines of Go's text/template: operands, fields, calls, and built-in functions.

upstream: Go's text/template; a missing field is nil, and prints as `<no value>`
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from mockkube.lazy_dataclasses import dataclass

Function = Callable[..., Any]

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|`[^`]*`)|(?P<number>-?\d+(?:\.\d+)?)|(?P<variable>\$\w*)
    |(?P<field>\.\w+)|(?P<name>[A-Za-z_]\w*)|(?P<mark>:=|[=|(),.]))""",
    re.VERBOSE,
)
_CONSTANTS: Final = {"true": True, "false": False, "nil": None}
_NO_VALUE: Final = "<no value>"


class TemplateError(ValueError):
    """Error of a template that cannot be parsed or executed."""


@dataclass(slots=True)
class Scope:
    """Evaluation scope of an expression: dot, variables by name, functions."""

    dot: Any
    variables: dict[str, Any]
    functions: Mapping[str, Function]

    def make_inner(self, dot: Any, **named: Any) -> "Scope":
        """Return the scope of a nested block, with its own dot and variables."""
        return Scope(dot, Variables(self.variables, named), self.functions)


class Variables(dict[str, Any]):
    """Variables of a block; those of outer blocks can be read and assigned."""

    def __init__(self, outer: dict[str, Any], named: Mapping[str, Any]) -> None:
        super().__init__(named)
        self._outer = outer

    def __missing__(self, name: str) -> Any:
        return self._outer[name]

    def assign(self, name: str, value: Any) -> None:
        """Assign a variable where it was declared."""
        if name in self or not isinstance(self._outer, Variables):
            self[name] = value
        else:
            self._outer.assign(name, value)


Expression = Callable[[Scope], Any]


def format_value(value: Any) -> str:
    """Return a value as Go prints it."""
    if value is None:
        return _NO_VALUE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{format_value(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(format_value(one) for one in value)}]"
    return str(value)


def _index_value(value: Any, *keys: Any) -> Any:
    for key in keys:
        if value is None:
            return None
        value = value.get(key) if isinstance(value, dict) else value[key]
    return value


def _and(*values: Any) -> Any:
    return next((value for value in values if not value), values[-1])


def _or(*values: Any) -> Any:
    return next((value for value in values if value), values[-1])


def _printf(form: str, *values: Any) -> str:
    given = iter(values)

    def put(match: re.Match[str]) -> str:
        verb = match[0][-1]
        if verb == "%":
            return "%"
        value = next(given, None)
        return json.dumps(value) if verb == "q" else format_value(value)

    return re.sub(r"%[-+0-9.]*[a-zA-Z%]", put, form)


BUILT_IN_FUNCTIONS: Final[Mapping[str, Function]] = {
    "and": _and,
    "or": _or,
    "not": lambda value: not value,
    "eq": lambda value, *others: any(value == other for other in others),
    "ne": lambda one, other: one != other,
    "lt": lambda one, other: one < other,
    "le": lambda one, other: one <= other,
    "gt": lambda one, other: one > other,
    "ge": lambda one, other: one >= other,
    "len": lambda value: 0 if value is None else len(value),
    "index": _index_value,
    "print": lambda *values: "".join(format_value(value) for value in values),
    "printf": _printf,
}


class PipelineParser:
    """Parser of one pipeline."""

    def __init__(self, text: str, functions: Mapping[str, Function]) -> None:
        self._text, self._functions = text, functions
        self._tokens: list[tuple[str, str, bool]] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise TemplateError(f"{text!r}: {text[position:].strip()!r} is not understood")
            assert match.lastgroup is not None, "one of the groups has matched"
            token = match[match.lastgroup]
            self._tokens.append((match.lastgroup, token, match.start(match.lastgroup) == position))
            position = match.end()
        self._next = 0

    def parse(self) -> Expression:
        """Return the compiled pipeline; TemplateError if it is invalid."""
        result = self._parse_pipeline()
        if self._next < len(self._tokens):
            raise TemplateError(f"{self._text!r}: {self._tokens[self._next][1]!r} is not expected")
        return result

    def _parse_pipeline(self) -> Expression:
        result = self._parse_command(None)
        while self._next < len(self._tokens) and self._tokens[self._next][1] == "|":
            self._next += 1
            result = self._parse_command(result)
        return result

    def _parse_command(self, piped: Expression | None) -> Expression:
        operands: list[Expression] = []
        function: Function | None = None
        if self._next < len(self._tokens) and self._tokens[self._next][0] == "name":
            name = self._tokens[self._next][1]
            if name not in _CONSTANTS:
                function = self._functions.get(name)
                if function is None:
                    raise TemplateError(f'function "{name}" not defined')
                self._next += 1
        while self._next < len(self._tokens) and self._tokens[self._next][1] not in ("|", ")"):
            operands.append(self._parse_operand())
        if function is None:
            if len(operands) != 1 or piped is not None:
                raise TemplateError(f"{self._text!r}: a function is expected")
            return operands[0]
        # A constant binding for the lambda, which mypy knows is not None.
        called = function
        if piped is not None:
            # As in Go, the piped value becomes the last argument.
            operands.append(piped)
        return lambda scope: called(*[operand(scope) for operand in operands])

    def _parse_operand(self) -> Expression:
        kind, text, _ = self._tokens[self._next]
        self._next += 1
        result: Expression
        match kind:
            case "string":
                result = _make_constant(text[1:-1] if text[0] == "`" else json.loads(text))
            case "number":
                result = _make_constant(json.loads(text))
            case "name" if text in _CONSTANTS:
                result = _make_constant(_CONSTANTS[text])
            case "name":
                result = self._parse_call_without_arguments(text)
            case "variable":
                result = _make_variable(text)
            case "field":
                result = _make_field(_evaluate_dot, text[1:])
            case _ if text == ".":
                result = _evaluate_dot
            case _ if text == "(":
                result = self._parse_pipeline()
                self._expect_parenthesis()
            case _:
                raise TemplateError(f"{self._text!r}: {text!r} is not expected")
        return self._parse_field_chain(result)

    def _parse_call_without_arguments(self, name: str) -> Expression:
        function = self._functions.get(name)
        if function is None:
            raise TemplateError(f'function "{name}" not defined')
        return lambda scope: function()

    def _expect_parenthesis(self) -> None:
        if self._next >= len(self._tokens) or self._tokens[self._next][1] != ")":
            raise TemplateError(f"{self._text!r}: ) is missing")
        self._next += 1

    def _parse_field_chain(self, result: Expression) -> Expression:
        """Parse fields that follow an operand without white space."""
        while self._next < len(self._tokens):
            kind, text, adjacent = self._tokens[self._next]
            if kind != "field" or not adjacent:
                break
            self._next += 1
            result = _make_field(result, text[1:])
        return result


def _evaluate_dot(scope: Scope) -> Any:
    return scope.dot


def _make_constant(value: Any) -> Expression:
    return lambda scope: value


def _make_variable(name: str) -> Expression:
    return lambda scope: scope.variables[name]


def _make_field(of: Expression, name: str) -> Expression:
    def run(scope: Scope) -> Any:
        value = of(scope)
        return value.get(name) if isinstance(value, dict) else None

    return run
