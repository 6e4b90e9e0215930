"""JSONPath templates of `kubectl get -o jsonpath=`: text, `{paths}`, and `{range ...}...{end}`.

`compile_template` parses a template once; `render` prints it for an object. A path without values prints nothing.
"""

# upstream 1.36: client-go/util/jsonpath/{parser,jsonpath}.go

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final, Literal

from mockkube.api.fields import to_go_json
from mockkube.api.printers.jsonpath import CompiledJsonPath, PathError, PathStep, Values, parse_step
from mockkube.lazy_dataclasses import dataclass

_KEYWORD: Final = re.compile(r"(range|end)(?=[\s.,\[\]$@{}]|$)")
_EXPONENT_MIN: Final = -4
_EXPONENT_MAX: Final = 6


@dataclass(frozen=True, slots=True)
class TemplateAction:
    """Path or keyword between two braces."""

    path: CompiledJsonPath
    keyword: Literal["", "range", "end"] = ""


@dataclass(frozen=True, slots=True)
class JsonPathTemplate:
    """Parsed template: texts and actions, in order."""

    nodes: Sequence[str | TemplateAction]

    def evaluate(self, value: Any) -> list[Values]:
        """Return the results of each text and action, in order; raise PathError if one does not fit."""
        return self._evaluate_from(0, value, 0)[0]

    def render(self, value: Any) -> str:
        """Return the text of the template for an object; raise PathError if it does not fit the object."""
        return "".join(" ".join(map(format_value, results)) for results in self.evaluate(value))

    def _evaluate_from(self, start: int, value: Any, depth: int) -> tuple[list[Values], int | None]:
        """Return the results from a node on, and the index of the `end` they stop at; None at the last node."""
        found: list[Values] = []
        at = start
        while at < len(self.nodes):
            node = self.nodes[at]
            if isinstance(node, str):
                found.append([node])
            elif node.keyword == "end":
                if not depth:
                    raise PathError("not in range, nothing to end")
                return found, at
            elif node.keyword == "range":
                looped, end = self._evaluate_range(at + 1, node.path.find(value), depth + 1)
                found += looped
                # a range that is not ended is followed by its own nodes once more, as upstream
                at = at if end is None else end
            else:
                found.append(node.path.find(value))
            at += 1
        return found, None

    def _evaluate_range(self, start: int, values: Values, depth: int) -> tuple[list[Values], int | None]:
        if not values:
            return [], self._evaluate_from(start, None, depth)[1]
        found: list[Values] = []
        end = None
        for value in values:
            results, end = self._evaluate_from(start, value, depth)
            found += results
        return found, end


def compile_template(text: str) -> JsonPathTemplate:
    """Parse a template; raise `PathError` for an incomplete or invalid action."""
    nodes: list[str | TemplateAction] = []
    at = 0
    while at < len(text):
        brace = text.find("{", at)
        if brace < 0:
            nodes.append(text[at:])
            break
        if brace > at:
            nodes.append(text[at:brace])
        action, at = _parse_action(text, brace + 1)
        nodes.append(action)
    return JsonPathTemplate(nodes)


def _parse_action(text: str, at: int) -> tuple[TemplateAction, int]:
    """Parse the action after a brace; return it and the position after it."""
    steps: list[PathStep] = []
    keyword: Literal["", "range", "end"] = ""
    while True:
        if at >= len(text) or text[at] in "\r\n":
            raise PathError("unclosed action")
        if text[at] == "}":
            return TemplateAction(CompiledJsonPath(steps), keyword), at + 1
        if match := _KEYWORD.match(text, at):
            keyword = "range" if match[1] == "range" else "end"
            at = match.end()
        else:
            at = parse_step(text, at, steps)


def format_value(value: Any) -> str:
    """Return a value as kubectl prints it: maps and lists as JSON, everything else as Go does."""
    match value:
        case str():
            return value
        case dict() | list():
            return to_go_json(value, sort_keys=True)
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case float():
            return _format_float(value)
    return str(value)


def _format_float(value: float) -> str:
    """Return the shortest text of a number, with an exponent if it is very small or large."""
    sign, digits, power = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(power, int), "JSON has no infinity"
    exponent = len(digits) + power - 1
    if _EXPONENT_MIN <= exponent < _EXPONENT_MAX:
        return f"{Decimal((sign, digits, power)):f}"
    first, *others = map(str, digits)
    fraction = f".{''.join(others)}" if others else ""
    return f"{'-' * sign}{first}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
