"""As much of Go's text/template as stages are written in: pipelines, variables, if, with, range, and functions.

upstream: Go's text/template; a missing field is nil, and prints as `<no value>`
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Function = Callable[..., Any]

_ACTION: Final = re.compile(
    r"\{\{(?P<left>- )?(?P<body>(?:\"(?:[^\"\\]|\\.)*\"|`[^`]*`|.)*?)(?P<right> -)?\}\}", re.DOTALL
)
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|`[^`]*`)|(?P<number>-?\d+(?:\.\d+)?)|(?P<variable>\$\w*)
    |(?P<field>\.\w+)|(?P<name>[A-Za-z_]\w*)|(?P<mark>:=|[=|(),.]))""",
    re.VERBOSE,
)
_CONSTANTS: Final = {"true": True, "false": False, "nil": None}
_NO_VALUE: Final = "<no value>"


class TemplateError(ValueError):
    """A template that is not understood, or cannot be executed."""


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


@dataclass(slots=True)
class _Scope:
    """Where an expression is evaluated: the dot, the variables by name, the functions."""

    dot: Any
    variables: dict[str, Any]
    functions: Mapping[str, Function]

    def inner(self, dot: Any, **named: Any) -> "_Scope":
        return _Scope(dot, _Variables(self.variables, named), self.functions)


class _Variables(dict[str, Any]):
    """The variables of a block; those of outer blocks can be read, and assigned to."""

    def __init__(self, outer: dict[str, Any], named: Mapping[str, Any]) -> None:
        super().__init__(named)
        self._outer = outer

    def __missing__(self, name: str) -> Any:
        return self._outer[name]

    def assign(self, name: str, value: Any) -> None:
        if name in self or not isinstance(self._outer, _Variables):
            self[name] = value
        else:
            self._outer.assign(name, value)


Expression = Callable[[_Scope], Any]
Node = Callable[[_Scope], str]


@dataclass(slots=True)
class _Block:
    """Nodes in order; `otherwise` is what stands after an else."""

    nodes: list[Node] = field(default_factory=list)

    def run(self, scope: _Scope) -> str:
        return "".join([node(scope) for node in self.nodes])


class Template:
    """A compiled template."""

    def __init__(self, text: str, functions: Mapping[str, Function]) -> None:
        self._functions = {**_BUILT_IN, **functions}
        self._block = _Parser(text, self._functions).whole()

    def render(self, dot: Any) -> str:
        """Return the text for a value; TemplateError when it cannot be made."""
        scope = _Scope(dot, _Variables({}, {"$": dot}), self._functions)
        try:
            return self._block.run(scope)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise TemplateError(f"the template cannot be executed: {error!r}") from error


def shown(value: Any) -> str:
    """Return a value as Go prints it."""
    if value is None:
        return _NO_VALUE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{shown(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(shown(one) for one in value)}]"
    return str(value)


def _index(value: Any, *keys: Any) -> Any:
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
        return json.dumps(value) if verb == "q" else shown(value)

    return re.sub(r"%[-+0-9.]*[a-zA-Z%]", put, form)


_BUILT_IN: Final[Mapping[str, Function]] = {
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
    "index": _index,
    "print": lambda *values: "".join(shown(value) for value in values),
    "printf": _printf,
}


class _Parser:
    def __init__(self, text: str, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._pieces = _pieces(text)
        self._next = 0

    def whole(self) -> _Block:
        block, end = self._block()
        if end:
            raise TemplateError(f"unexpected {{{{{end}}}}}")
        return block

    def _block(self) -> tuple[_Block, str]:
        """Return the nodes up to an `else` or `end`, and that word with what follows it."""
        block = _Block()
        while self._next < len(self._pieces):
            is_action, text = self._pieces[self._next]
            self._next += 1
            if not is_action:
                block.nodes.append(lambda scope, text=text: text)  # type: ignore[misc] # mypy: lambda defaults
                continue
            word, _, rest = text.partition(" ")
            if word in ("end", "else"):
                return block, text
            if text.startswith("/*"):
                continue
            block.nodes.append(self._action(word, rest, text))
        return block, ""

    def _action(self, word: str, rest: str, text: str) -> Node:
        match word:
            case "if":
                return self._branch(rest, is_with=False)
            case "with":
                return self._branch(rest, is_with=True)
            case "range":
                return self._range(rest)
            case "break" | "continue":
                return _leaving(_Break if word == "break" else _Continue)
        return self._output(text)

    def _output(self, text: str) -> Node:
        expression, names, mark = self._statement(text)
        if not names:
            return lambda scope: shown(expression(scope))

        def run(scope: _Scope) -> str:
            value = expression(scope)
            if mark == ":=":
                scope.variables[names[0]] = value
            elif isinstance(scope.variables, _Variables):
                scope.variables.assign(names[0], value)
            return ""

        return run

    def _statement(self, text: str) -> tuple[Expression, list[str], str]:
        """Read a pipeline, with the variables that get its value."""
        match = re.match(r"\s*(\$\w*(?:\s*,\s*\$\w+)?)\s*(:=|=)(?!=)\s*", text)
        if match is None:
            return _Expressions(text, self._functions).whole(), [], ""
        names = [name.strip() for name in match[1].split(",")]
        return _Expressions(text[match.end() :], self._functions).whole(), names, match[2]

    def _branch(self, text: str, *, is_with: bool) -> Node:
        expression, names, _ = self._statement(text)
        block, end = self._block()
        otherwise: Node | None = None
        if end.startswith("else"):
            word, _, rest = end.removeprefix("else").strip().partition(" ")
            if word in ("if", "with"):
                otherwise = self._branch(rest, is_with=word == "with")
            else:
                other, end = self._block()
                otherwise = other.run
        if otherwise is None and end != "end":
            raise TemplateError("an {{end}} is missing")

        def run(scope: _Scope) -> str:
            value = expression(scope)
            named = {names[0]: value} if names else {}
            if value:
                return block.run(scope.inner(value if is_with else scope.dot, **named))
            return otherwise(scope.inner(scope.dot, **named)) if otherwise is not None else ""

        return run

    def _range(self, text: str) -> Node:
        expression, names, _ = self._statement(text)
        block, end = self._block()
        otherwise = _Block()
        if end == "else":
            otherwise, end = self._block()
        if end != "end":
            raise TemplateError("an {{end}} is missing")

        def run(scope: _Scope) -> str:
            items = list(_items(expression(scope)))
            if not items:
                return otherwise.run(scope.inner(scope.dot))
            result = []
            for key, value in items:
                named = dict(zip(names, (key, value) if len(names) > 1 else (value,), strict=False))
                try:
                    result.append(block.run(scope.inner(value, **named)))
                except _Continue:
                    continue
                except _Break:
                    break
            return "".join(result)

        return run


def _leaving(signal: type[Exception]) -> Node:
    def run(scope: _Scope) -> str:
        raise signal

    return run


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        yield from sorted(value.items())
    elif isinstance(value, int):
        yield from ((number, number) for number in range(value))
    else:
        yield from enumerate(value or ())


def _pieces(text: str) -> list[tuple[bool, str]]:
    """Cut a template into text and actions; actions may swallow the white space beside them."""
    pieces: list[tuple[bool, str]] = []
    position, swallow = 0, False
    for match in _ACTION.finditer(text):
        before = text[position : match.start()]
        before = before.lstrip() if swallow else before
        pieces.append((False, before.rstrip() if match["left"] else before))
        pieces.append((True, match["body"].strip()))
        position, swallow = match.end(), bool(match["right"])
    rest = text[position:]
    if "{{" in rest:
        raise TemplateError("an action is not closed: }} is missing")
    pieces.append((False, rest.lstrip() if swallow else rest))
    return [piece for piece in pieces if piece[1]]


class _Expressions:
    """Reads one pipeline."""

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

    def whole(self) -> Expression:
        result = self._pipeline()
        if self._next < len(self._tokens):
            raise TemplateError(f"{self._text!r}: {self._tokens[self._next][1]!r} is not expected")
        return result

    def _pipeline(self) -> Expression:
        result = self._command(None)
        while self._next < len(self._tokens) and self._tokens[self._next][1] == "|":
            self._next += 1
            result = self._command(result)
        return result

    def _command(self, piped: Expression | None) -> Expression:
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
            operands.append(self._operand())
        if function is None:
            if len(operands) != 1 or piped is not None:
                raise TemplateError(f"{self._text!r}: a function is expected")
            return operands[0]
        called = function
        if piped is not None:
            operands.append(piped)
        return lambda scope: called(*[operand(scope) for operand in operands])

    def _operand(self) -> Expression:
        kind, text, _ = self._tokens[self._next]
        self._next += 1
        result: Expression
        match kind:
            case "string":
                result = _constant(text[1:-1] if text[0] == "`" else json.loads(text))
            case "number":
                result = _constant(json.loads(text))
            case "name" if text in _CONSTANTS:
                result = _constant(_CONSTANTS[text])
            case "name":
                result = self._niladic(text)
            case "variable":
                result = _variable(text)
            case "field":
                result = _field(_dot, text[1:])
            case _ if text == ".":
                result = _dot
            case _ if text == "(":
                result = self._pipeline()
                self._close()
            case _:
                raise TemplateError(f"{self._text!r}: {text!r} is not expected")
        return self._chain(result)

    def _niladic(self, name: str) -> Expression:
        function = self._functions.get(name)
        if function is None:
            raise TemplateError(f'function "{name}" not defined')
        return lambda scope: function()

    def _close(self) -> None:
        if self._next >= len(self._tokens) or self._tokens[self._next][1] != ")":
            raise TemplateError(f"{self._text!r}: ) is missing")
        self._next += 1

    def _chain(self, result: Expression) -> Expression:
        """Follow the fields that stand right behind an operand."""
        while self._next < len(self._tokens):
            kind, text, adjacent = self._tokens[self._next]
            if kind != "field" or not adjacent:
                break
            self._next += 1
            result = _field(result, text[1:])
        return result


def _dot(scope: _Scope) -> Any:
    return scope.dot


def _constant(value: Any) -> Expression:
    return lambda scope: value


def _variable(name: str) -> Expression:
    return lambda scope: scope.variables[name]


def _field(of: Expression, name: str) -> Expression:
    def run(scope: _Scope) -> Any:
        value = of(scope)
        return value.get(name) if isinstance(value, dict) else None

    return run
