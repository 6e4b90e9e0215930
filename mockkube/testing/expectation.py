"""Expectations of `kube.wait`: a condition, a value, existence, deletion, or a function."""

import re
from collections.abc import Callable
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.jsonpath import CompiledJsonPath, PathError, compile_path
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.wait_conditions import format_value, has_condition, has_value

Predicate = Callable[[ReadOnlyObject], object]

# `{.status.phase}=Running`; without braces the path ends at the first `=` that is not within brackets.
_BRACED_PATH: Final = re.compile(r"""(?P<quote>['"]?)\{(?P<path>.*)\}(?P=quote)(?:=(?P<value>.*))?""", re.DOTALL)
_PLAIN_PATH: Final = re.compile(r"(?P<path>(?:[^=\[]|\[[^\]]*\])*)(?:=(?P<value>.*))?", re.DOTALL)
_FORMS: Final = "give condition=Ready, jsonpath={.status.phase}=Running, create, delete, or a function"


@dataclass(frozen=True, slots=True)
class Expectation:
    """A state of objects."""

    text: str
    # Returns whether an object has the state.
    holds: Callable[[ReadOnlyObject], bool]
    # Returns how an object without the state differs from it.
    explain: Callable[[ReadOnlyObject], str]
    is_deletion: bool = False


def parse_expectation(until: str | Predicate) -> Expectation:
    """Return the expectation of a text as `kubectl wait --for` takes it, or of a function; ValueError for others."""
    if not isinstance(until, str):
        return _make_predicate(until)
    name, _, value = until.partition("=")
    match name:
        case "condition" if value:
            return _make_condition(until, *value.partition("=")[::2])
        case "jsonpath" if value:
            return _make_json_path(until, value)
        case "create" if not value:
            return Expectation("create", lambda obj: True, lambda obj: "")
        case "delete" if not value:
            return Expectation("delete", lambda obj: False, lambda obj: _explain_deletion(obj), is_deletion=True)
    raise ValueError(f"{until!r} is nothing to wait for: {_FORMS}")


def _make_predicate(predicate: Predicate) -> Expectation:
    name = getattr(predicate, "__qualname__", repr(predicate))
    return Expectation(name, lambda obj: bool(predicate(obj)), lambda obj: f"{name} returns {predicate(obj)!r}")


def _make_condition(text: str, name: str, status: str) -> Expectation:
    def explain(obj: ReadOnlyObject) -> str:
        for condition in obj.get("status", {}).get("conditions") or ():
            if condition["type"].lower() == name.lower():
                reason = ": ".join(filter(None, (condition.get("reason", ""), condition.get("message", ""))))
                return f"{condition['type']} is {condition['status']}{f' ({reason})' if reason else ''}"
        return f"it has no condition {name}"

    return Expectation(text, lambda obj: has_condition(obj, name, status or "True"), explain)


def _make_json_path(text: str, value: str) -> Expectation:
    match = _BRACED_PATH.fullmatch(value) or _PLAIN_PATH.fullmatch(value)
    try:
        path = compile_path(match["path"] if match else value)
    except PathError as error:
        raise ValueError(f"{text!r}: {error}") from None
    expected = match["value"] if match else None
    return Expectation(text, lambda obj: has_value(obj, path, expected), lambda obj: _explain_path(obj, path))


def _explain_path(obj: ReadOnlyObject, path: CompiledJsonPath) -> str:
    try:
        found = path.find(obj)
    except PathError as error:
        return f"the path does not fit it: {error}"
    return f"the value is {', '.join(map(format_value, found))}" if found else "it has no value there"


def _explain_deletion(obj: ReadOnlyObject) -> str:
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata:
        return "it has not been deleted"
    finalizers = metadata.get("finalizers")
    return f"it is being deleted{f', and has the finalizers {finalizers}' if finalizers else ''}"
