"""Expressions of stages over an object, in jq (most of them) or CEL.

upstream: github.com/kubernetes-sigs/kwok, pkg/utils/expression, pkg/utils/lifecycle/value_*_from.go
"""

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from mockkube_cel import types
from mockkube_cel.golang.gotime import parse_duration
from mockkube_cel.schema import Schema
from mockkube_cel.values import CelError

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.kubelet.stages.jq import compile_jq
from mockkube.kubelet.stages.jq_functions import JqError
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.cel.environment import kubernetes_environment

# Returns the values of an expression for an object; none if it fails.
FindValues = Callable[[ReadOnlyObject], list[Any]]

_NANOSECONDS: Final = 1e9
_COST_MAX: Final = 1_000_000
_CEL_ENVIRONMENT: Final = kubernetes_environment(Schema(variables={"self": types.DYN}, messages={}))
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_INTEGER: Final = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|[0-9]+)")


class ExpressionError(ValueError):
    """Error of an expression that cannot be compiled."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression of a stage's selector."""

    find: FindValues
    operator: str
    values: frozenset[str]

    def matches(self, obj: ReadOnlyObject) -> bool:
        """Return whether an object meets the requirement."""
        found = self.find(obj)
        if self.operator in ("Exists", "DoesNotExist"):
            return bool(found) == (self.operator == "Exists")
        return any(to_selector_text(value) in self.values for value in found) == (self.operator == "In")


def compile_requirement(given: ReadOnlyObject) -> Requirement:
    """Compile one expression of a selector; ExpressionError if it is invalid."""
    if (cel := given.get("cel")) is not None:
        return Requirement(compile_cel_expression(cel.get("expression", "")), "In", frozenset({"true"}))
    parts = given.get("jq") or given
    operator, values = parts.get("operator", ""), frozenset(parts.get("values") or ())
    if operator not in _OPERATORS:
        raise ExpressionError(f"operator {operator!r} is not one of {', '.join(_OPERATORS)}")
    if bool(values) != (operator in ("In", "NotIn")):
        raise ExpressionError(f"operator {operator} needs {'no values' if values else 'values'}")
    return Requirement(compile_jq_expression(parts.get("key", "")), operator, values)


def compile_expression_from(given: ReadOnlyObject | None) -> FindValues | None:
    """Compile an `ExpressionFrom`; None without one."""
    given = given or {}
    if text := (given.get("cel") or {}).get("expression"):
        return compile_cel_expression(text)
    text = (given.get("jq") or {}).get("expression") or given.get("expressionFrom")
    return compile_jq_expression(text) if text else None


def compile_jq_expression(text: str) -> FindValues:
    """Compile a jq expression."""
    try:
        query = compile_jq(text)
    except JqError as error:
        raise ExpressionError(str(error)) from error

    def find(obj: ReadOnlyObject) -> list[Any]:
        try:
            return [value for value in query(obj) if value is not None]
        except JqError:
            return []

    return find


def compile_cel_expression(text: str) -> FindValues:
    """Compile a CEL expression over `self`."""
    compiled = _CEL_ENVIRONMENT.compile(text, boolean=False)
    if compiled.program is None:
        raise ExpressionError(compiled.error or f"{text!r} is no expression")
    program = compiled.program

    def find(obj: ReadOnlyObject) -> list[Any]:
        value = program.evaluate({"self": obj}, _COST_MAX).value
        return [] if isinstance(value, CelError) else [value]

    return find


def to_selector_text(value: Any) -> str:
    """Return a value as selectors compare it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, default=str)


def find_weight(find: FindValues, obj: ReadOnlyObject, default: int) -> int | None:
    """Return a stage's weight from an object; None if the value is not an integer."""
    # As in KWOK, only the first value of an expression counts.
    for value in find(obj)[:1]:
        if isinstance(value, bool):
            return default
        if isinstance(value, int | float):
            return int(value)
        if isinstance(value, str):
            return _parse_integer(value)
    return default


def _parse_integer(text: str) -> int | None:
    """Parse an integer as Go's strconv.ParseInt with base 0 does."""
    if _INTEGER.fullmatch(text) is None:
        return None
    digits = text.lstrip("+-")
    is_octal = digits[0] == "0" and digits[1:].isdigit()
    number = int(digits, 8 if is_octal else 0)
    return -number if text[0] == "-" else number


def find_seconds(find: FindValues, obj: ReadOnlyObject, now: datetime, default: float | None) -> float | None:
    """Return a duration from an object, or the time left until a timestamp; None: no delay at all."""
    for value in find(obj)[:1]:
        if value == "":
            return None
        if isinstance(value, timedelta):
            return value / timedelta(seconds=1)
        if isinstance(value, str):
            if (span := parse_duration(value)) is not None:
                return span.nanos / _NANOSECONDS
            try:
                return (parse_time(value) - now) / timedelta(seconds=1)
            except ValueError:
                return default
    return default
