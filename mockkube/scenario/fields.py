"""Parse YAML into dataclasses by their annotations, with errors that name file, line and remedy.

A step is a frozen dataclass; its fields are its arguments, their annotations give types and help texts. The same
annotations make the JSON schema for editors (`json_schema`).
"""

import dataclasses
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from difflib import get_close_matches
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from mockkube_cel.golang import gotime

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.bindings import is_expression, resolve
from mockkube.scenario.errors import ScenarioError
from mockkube.scenario.yaml_lines import get_line

# A duration, written like 90s or 1h30m.
Seconds = NewType("Seconds", float)
# A part of a partial object: expressions in it are about the object, so they are evaluated only when it is compared.
Tree = NewType("Tree", object)

T = TypeVar("T")
_NANOS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Argument:
    """One field of a dataclass as YAML gives it."""

    # Name of the field in Python.
    name: str
    hint: Any
    # Help text: the second part of `Annotated`.
    text: str
    required: bool


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Location in a file, and the variables bound there. Without bindings, expressions are not evaluated."""

    file: str
    line: int = 0
    path: str = ""
    bindings: Mapping[str, Any] | None = None

    def child(self, node: Any, key: str | int) -> "SourceLocation":
        """Return the location of a value in a node."""
        below = f"[{key}]" if isinstance(key, int) else f".{key}" if self.path else key
        return SourceLocation(self.file, get_line(node, key) or self.line, f"{self.path}{below}", self.bindings)

    def error(self, text: str) -> ScenarioError:
        """Return an error at this location."""
        where = f"{self.file}:{self.line}" if self.line else self.file
        return ScenarioError(f"{where}: {self.path}: {text}" if self.path else f"{where}: {text}")


def list_arguments(cls: Any) -> Mapping[str, Argument]:
    """Return the fields of a dataclass by their names in YAML."""
    return _arguments(cls)


@lru_cache(maxsize=256)
def _arguments(cls: Any) -> Mapping[str, Argument]:
    hints = get_type_hints(cls, include_extras=True)
    return {
        _to_camel_case(one.name): _make_argument(one, hints[one.name]) for one in dataclasses.fields(cls) if one.init
    }


def _to_camel_case(name: str) -> str:
    # A trailing underscore marks names that are keywords of Python: `as_`, `for_`, `assert_`.
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)


def _make_argument(one: "dataclasses.Field[Any]", hint: Any) -> Argument:
    required = one.default is MISSING and one.default_factory is MISSING
    if get_origin(hint) is Annotated:
        plain, text, *_ = get_args(hint)
        return Argument(one.name, plain, text, required)
    return Argument(one.name, hint, "", required)


def read(cls: type[T], node: Any, at: SourceLocation) -> T:
    """Parse a node into a dataclass; ScenarioError for the first mistake."""
    adapt = getattr(cls, "adapt", None)
    given = node if adapt is None else adapt(node)
    known = list_arguments(cls)
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise at.error(f"{_format_node(given)} is not a mapping: give one of {', '.join(known)}")
    for key in given:
        if key not in known:
            raise at.child(given, key).error(f"unknown field: {_suggest_field(key, known)}")
    values: dict[str, Any] = {}
    for key, one in known.items():
        if key in given:
            values[one.name] = read_value(one.hint, given[key], at.child(given, key))
        elif one.required:
            raise at.error(f"{key} is missing: {one.text or 'give it'}")
    parsed = cls(**values)
    # Only when the file is loaded: with variables bound the same check would repeat itself on each run.
    if (complaint := getattr(parsed, "complaint", None)) is not None and at.bindings is None and (text := complaint()):
        raise at.error(text)
    return parsed


def read_value(hint: Any, node: Any, at: SourceLocation) -> Any:
    """Parse one value of a type."""
    if hint is Tree or Tree in get_args(hint):
        return node
    if isinstance(node, str) and is_expression(node):
        # While the file is loaded the value of an expression is unknown, so its type cannot be checked yet.
        if at.bindings is None:
            return node
        node = resolve(node, at.bindings)
    elif isinstance(node, str) and at.bindings is not None:
        node = resolve(node, at.bindings)
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _read_union(hint, node, at)
    if origin is Literal:
        return _read_literal(get_args(hint), node, at)
    if origin is tuple:
        return _read_tuple(get_args(hint)[0], node, at)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _read_mapping(get_args(hint)[1], node, at)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return read(hint, node, at)
    return _read_scalar(hint, node, at)


def _read_union(hint: Any, node: Any, at: SourceLocation) -> Any:
    options = get_args(hint)
    if node is None and type(None) in options:
        return None
    remaining = [option for option in options if option is not type(None)]
    # The last type is tried without a look, so that its error message is the one that users see.
    for option in remaining[:-1]:
        if _matches_type(option, node):
            return read_value(option, node, at)
    return read_value(remaining[-1], node, at)


def _matches_type(hint: Any, node: Any) -> bool:
    """Return whether a value looks like the type; used to choose between the types of a union."""
    origin = get_origin(hint) or hint
    if origin in (str, int, float, bool):
        return type(node) is origin
    if origin is tuple:
        return isinstance(node, Sequence) and not isinstance(node, str)
    return isinstance(node, Mapping)


def _read_literal(options: Sequence[Any], node: Any, at: SourceLocation) -> Any:
    if node is False and "false" in options:
        return "false"  # YAML reads the word as a truth value
    if node not in options:
        raise at.error(f"{_format_node(node)} is none of {', '.join(map(str, options))}")
    return node


def _read_tuple(hint: Any, node: Any, at: SourceLocation) -> tuple[Any, ...]:
    if not isinstance(node, list | tuple):
        raise at.error(f"{_format_node(node)} is not a list: give one")
    return tuple(read_value(hint, item, at.child(node, index)) for index, item in enumerate(node))


def _read_mapping(hint: Any, node: Any, at: SourceLocation) -> dict[str, Any]:
    if not isinstance(node, Mapping):
        raise at.error(f"{_format_node(node)} is not a mapping: give one")
    spelled = node if at.bindings is None else {resolve(key, at.bindings): item for key, item in node.items()}
    return {str(key): read_value(hint, item, at.child(node, key)) for key, item in spelled.items()}


def _read_scalar(hint: Any, node: Any, at: SourceLocation) -> Any:
    if hint is Any or hint is object:
        return node if at.bindings is None else resolve(node, at.bindings)
    if hint is Seconds:
        return _parse_seconds(node, at)
    if hint is str and isinstance(node, int | float) and not isinstance(node, bool):
        return str(node)  # versions are written without quotes
    if hint is float and isinstance(node, int) and not isinstance(node, bool):
        return float(node)
    if type(node) is not hint:
        names = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}
        raise at.error(f"{_format_node(node)} is not {names.get(hint, hint.__name__)}: give one")
    return node


def _parse_seconds(node: Any, at: SourceLocation) -> Seconds:
    if isinstance(node, int | float) and not isinstance(node, bool) and node >= 0:
        return Seconds(float(node))
    span = gotime.parse_duration(node) if isinstance(node, str) else None
    if span is None or span.nanos < 0:
        raise at.error(f"{_format_node(node)} is not a duration: give one like 30s or 1h30m")
    return Seconds(span.nanos / _NANOS)


def _suggest_field(key: str, known: Mapping[str, Any]) -> str:
    close = get_close_matches(key, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"


def _format_node(node: Any) -> str:
    text = repr(node)
    return text if len(text) <= 60 else f"{text[:57]}..."
