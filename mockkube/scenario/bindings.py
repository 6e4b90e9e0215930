"""Evaluate variables and expressions: `($name)` in text, and JMESPath in parentheses, as in chainsaw."""

import re
from collections.abc import Mapping
from typing import Any, Final

import jmespath  # type: ignore[import-untyped] # ships no types
from jmespath import exceptions, functions

from mockkube.scenario.errors import StepFailed

_BARE_VARIABLE: Final = re.compile(r"(?<![\w$'\"`])\$([A-Za-z_]\w*)")
_QUOTED: Final = re.compile(r"('(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|\"(?:\\.|[^\"\\])*\")")
_VARIABLE: Final = re.compile(r"(?<!\$)\(\$([A-Za-z_]\w*)\)")


class _Functions(functions.Functions):  # type: ignore[misc] # untyped above
    """JMESPath's functions, with those that chainsaw adds and scenarios use."""

    def __init__(self, bindings: Mapping[str, Any]) -> None:
        super().__init__()
        self._bindings = bindings

    @functions.signature({"types": ["string"]})  # type: ignore[untyped-decorator] # untyped above
    def _func_bound(self, name: str) -> Any:
        if name not in self._bindings:
            known = ", ".join(f"${one}" for one in sorted(self._bindings)) or "nothing"
            raise StepFailed(f"${name} is not bound: known are {known}")
        return self._bindings[name]

    @functions.signature({"types": ["string"]}, {"types": ["string"]})  # type: ignore[untyped-decorator] # above
    def _func_split(self, text: str, separator: str) -> list[str]:
        return text.split(separator)

    @functions.signature({"types": ["string"]}, {"types": ["string"]})  # type: ignore[untyped-decorator] # above
    def _func_trim(self, text: str, characters: str) -> str:
        return text.strip(characters)

    @functions.signature({"types": ["string"]}, {"types": ["string"]})  # type: ignore[untyped-decorator] # above
    def _func_regex_match(self, pattern: str, text: str) -> bool:
        return re.search(pattern, text) is not None


def is_expression(value: Any) -> bool:
    """Return whether a value is text in parentheses, which is evaluated."""
    return isinstance(value, str) and len(value) > 2 and value[0] == "(" and value[-1] == ")" and _is_one_group(value)


def _is_one_group(text: str) -> bool:
    """Return whether the first parenthesis is closed by the last character."""
    depth = 0
    # `(a) and (b)` begins and ends with parentheses, but is not one expression in them.
    for index, character in enumerate(_QUOTED.sub(lambda match: "." * len(match[0]), text)):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return index == len(text) - 1
    return False


def evaluate(expression: str, value: Any, bindings: Mapping[str, Any]) -> Any:
    """Return the value of an expression (without its parentheses); StepFailed if it cannot be evaluated."""
    # JMESPath has no variables: `$name` outside of quotes becomes a call of the function `bound`.
    parts = _QUOTED.split(expression)
    parts[::2] = [_BARE_VARIABLE.sub(r"bound('\1')", part) for part in parts[::2]]
    try:
        compiled = jmespath.compile("".join(parts))
        return compiled.search(value, jmespath.Options(custom_functions=_Functions(bindings)))
    except exceptions.JMESPathError as error:
        raise StepFailed(f"expression ({expression}): {' '.join(str(error).split())}") from None


def resolve(value: Any, bindings: Mapping[str, Any]) -> Any:
    """Return a value with every expression in it evaluated, and every `($name)` in text replaced."""
    if isinstance(value, dict):
        return {_resolve_key(key, bindings): resolve(item, bindings) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve(item, bindings) for item in value]
    if is_expression(value):
        return evaluate(value[1:-1], {}, bindings)
    return substitute(value, bindings) if isinstance(value, str) else value


def _resolve_key(key: str, bindings: Mapping[str, Any]) -> str:
    return str(evaluate(key[1:-1], {}, bindings)) if is_expression(key) else substitute(key, bindings)


def substitute(text: str, bindings: Mapping[str, Any]) -> str:
    """Return a text with each `($name)` replaced by its value; unknown names stay."""
    return _VARIABLE.sub(lambda match: str(bindings[match[1]]) if match[1] in bindings else match[0], text)
