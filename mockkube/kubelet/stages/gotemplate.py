"""Subset of Go's text/template: text, pipelines, variables, `if`, `with`, `range`, functions.

upstream: Go's text/template
"""

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from mockkube.kubelet.stages.gotemplate_pipeline import (
    BUILT_IN_FUNCTIONS,
    Expression,
    Function,
    PipelineParser,
    Scope,
    TemplateError,
    Variables,
    format_value,
)
from mockkube.lazy_dataclasses import dataclass

_ACTION: Final = re.compile(
    r"\{\{(?P<left>- )?(?P<body>(?:\"(?:[^\"\\]|\\.)*\"|`[^`]*`|.)*?)(?P<right> -)?\}\}", re.DOTALL
)

# Functions of sprig that change their argument.
_CHANGING_FUNCTION: Final = re.compile(r"\b(?:set|unset|merge)\b")


class _Break(Exception):
    """Raised by `{{break}}`, caught by the innermost range."""


class _Continue(Exception):
    """Raised by `{{continue}}`, caught by the innermost range."""


Node = Callable[[Scope], str]


@dataclass(slots=True)
class _Block:
    """Nodes in order."""

    nodes: list[Node] = field(default_factory=list)

    def execute(self, scope: Scope) -> str:
        return "".join([node(scope) for node in self.nodes])


class GoTemplate:
    """A compiled template."""

    def __init__(self, text: str, functions: Mapping[str, Function]) -> None:
        self._functions = {**BUILT_IN_FUNCTIONS, **functions}
        # Such a template gets a copy of its own: what it is rendered for is shared.
        self._needs_copy = _CHANGING_FUNCTION.search(text) is not None
        self._block = _Parser(text, self._functions).parse()

    def render(self, dot: Any) -> str:
        """Return the text for a value; TemplateError if execution fails."""
        dot = copy.deepcopy(dot) if self._needs_copy else dot
        scope = Scope(dot, Variables({}, {"$": dot}), self._functions)
        try:
            return self._block.execute(scope)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise TemplateError(f"the template cannot be executed: {error!r}") from error


class _Parser:
    """Parser of a template's text and actions."""

    def __init__(self, text: str, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._pieces = _split_actions(text)
        self._next = 0

    def parse(self) -> _Block:
        block, end = self._parse_block()
        if end:
            raise TemplateError(f"unexpected {{{{{end}}}}}")
        return block

    def _parse_block(self) -> tuple[_Block, str]:
        """Return the nodes up to an `else` or `end`, and that action's text."""
        block = _Block()
        while self._next < len(self._pieces):
            is_action, text = self._pieces[self._next]
            self._next += 1
            if not is_action:
                # The default argument binds the loop variable's present value.
                block.nodes.append(lambda scope, text=text: text)  # type: ignore[misc] # mypy: lambda defaults
                continue
            word, _, rest = text.partition(" ")
            if word in ("end", "else"):
                return block, text
            if text.startswith("/*"):
                continue
            block.nodes.append(self._parse_action(word, rest, text))
        return block, ""

    def _parse_action(self, word: str, rest: str, text: str) -> Node:
        match word:
            case "if":
                return self._parse_branch(rest, is_with=False)
            case "with":
                return self._parse_branch(rest, is_with=True)
            case "range":
                return self._parse_range(rest)
            case "break" | "continue":
                return _make_raise_node(_Break if word == "break" else _Continue)
        return self._parse_output(text)

    def _parse_output(self, text: str) -> Node:
        expression, names, mark = self._parse_statement(text)
        if not names:
            return lambda scope: format_value(expression(scope))

        def run(scope: Scope) -> str:
            value = expression(scope)
            if mark == ":=":
                scope.variables[names[0]] = value
            elif isinstance(scope.variables, Variables):
                scope.variables.assign(names[0], value)
            return ""

        return run

    def _parse_statement(self, text: str) -> tuple[Expression, list[str], str]:
        """Parse a pipeline and the variables that it assigns."""
        match = re.match(r"\s*(\$\w*(?:\s*,\s*\$\w+)?)\s*(:=|=)(?!=)\s*", text)
        if match is None:
            return PipelineParser(text, self._functions).parse(), [], ""
        names = [name.strip() for name in match[1].split(",")]
        return PipelineParser(text[match.end() :], self._functions).parse(), names, match[2]

    def _parse_branch(self, text: str, *, is_with: bool) -> Node:
        expression, names, _ = self._parse_statement(text)
        block, end = self._parse_block()
        otherwise: Node | None = None
        if end.startswith("else"):
            word, _, rest = end.removeprefix("else").strip().partition(" ")
            if word in ("if", "with"):
                otherwise = self._parse_branch(rest, is_with=word == "with")
            else:
                other, end = self._parse_block()
                otherwise = other.execute
        if otherwise is None and end != "end":
            raise TemplateError("an {{end}} is missing")

        def run(scope: Scope) -> str:
            value = expression(scope)
            named = {names[0]: value} if names else {}
            if value:
                return block.execute(scope.make_inner(value if is_with else scope.dot, **named))
            return otherwise(scope.make_inner(scope.dot, **named)) if otherwise is not None else ""

        return run

    def _parse_range(self, text: str) -> Node:
        expression, names, _ = self._parse_statement(text)
        block, end = self._parse_block()
        otherwise = _Block()
        if end == "else":
            otherwise, end = self._parse_block()
        if end != "end":
            raise TemplateError("an {{end}} is missing")

        def run(scope: Scope) -> str:
            items = list(_iterate_items(expression(scope)))
            if not items:
                return otherwise.execute(scope.make_inner(scope.dot))
            result = []
            for key, value in items:
                named = dict(zip(names, (key, value) if len(names) > 1 else (value,), strict=False))
                try:
                    result.append(block.execute(scope.make_inner(value, **named)))
                except _Continue:
                    continue
                except _Break:
                    break
            return "".join(result)

        return run


def _make_raise_node(signal: type[Exception]) -> Node:
    def run(scope: Scope) -> str:
        raise signal

    return run


def _iterate_items(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        # Go ranges over maps in key order.
        yield from sorted(value.items())
    elif isinstance(value, int):
        yield from ((number, number) for number in range(value))
    else:
        yield from enumerate(value or ())


def _split_actions(text: str) -> list[tuple[bool, str]]:
    """Split a template into text and actions, trimming white space beside `{{-` and `-}}`."""
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
