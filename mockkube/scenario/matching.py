"""Compare an object with a partial one, by chainsaw's rules.

Named members must match, others do not count. Lists match element by element, and must have the same length.
A key in parentheses is an expression about the object, and its value is the expected result; `~.(key)` or `~(key)`
applies to every element. A value in parentheses is an expression about the value in its place.
"""

# chainsaw: kyverno-json assertion trees
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.bindings import evaluate, is_expression

_SHOWN_MAX: Final = 160
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that differs from the expected one."""

    at: str
    expected: Any
    actual: Any
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return f"{self.at}: {self.reason}"
        return f"{self.at}: expected {format_value(self.expected)}, found {format_value(self.actual)}"


def format_value(value: Any) -> str:
    """Return a value as text, cut at a maximum length."""
    if value is _MISSING:
        return "nothing"
    text = repr(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[: _SHOWN_MAX - 3]}..."


def find_differences(expected: Any, actual: Any, bindings: Mapping[str, Any]) -> list[Difference]:
    """Return all differences from the expected object; empty if it matches."""
    return list(_compare(expected, actual, bindings, ""))


def _compare(expected: Any, actual: Any, bindings: Mapping[str, Any], at: str) -> Iterator[Difference]:
    if isinstance(expected, dict):
        yield from _compare_map(expected, actual, bindings, at)
    elif isinstance(expected, list):
        yield from _compare_list(expected, actual, bindings, at)
    else:
        wanted = _expected_value(expected, actual, bindings)
        if not _equal(wanted, actual):
            yield Difference(at, wanted, actual)


def _expected_value(expected: Any, actual: Any, bindings: Mapping[str, Any]) -> Any:
    return (
        evaluate(expected[1:-1], None if actual is _MISSING else actual, bindings)
        if is_expression(expected)
        else expected
    )


def _equal(wanted: Any, actual: Any) -> bool:
    # Python's True equals 1; in JSON they differ.
    if isinstance(wanted, bool) or isinstance(actual, bool):
        return wanted is actual
    # chainsaw's JMESPath yields null for a missing member, so null matches it.
    if wanted is None and actual is _MISSING:
        return True
    return bool(wanted == actual)


def _compare_map(
    expected: Mapping[str, Any], actual: Any, bindings: Mapping[str, Any], at: str
) -> Iterator[Difference]:
    # An empty expected map matches a missing one: the API drops empty maps.
    present = {} if actual is _MISSING and not expected else actual
    if not isinstance(present, dict) and not any(map(_is_expression_key, expected)):
        yield Difference(at, dict(expected), actual)
        return
    for key, value in expected.items():
        each = key.startswith("~")
        about = key.removeprefix("~").removeprefix(".") if each else key
        place = f"{at}.{about}" if at else about
        about, _, name = about.partition("->")
        found = _evaluate_key(about, present, bindings)
        scope = {**bindings, name: found} if name else bindings
        if each:
            yield from _compare_each(value, found, scope, place)
        else:
            yield from _compare(value, found, scope, place)


def _is_expression_key(key: str) -> bool:
    """Return whether a key is an expression."""
    return is_expression(key.removeprefix("~").removeprefix(".").partition("->")[0])


def _evaluate_key(about: str, present: Any, bindings: Mapping[str, Any]) -> Any:
    if is_expression(about):
        return evaluate(about[1:-1], None if present is _MISSING else present, bindings)
    return present.get(about, _MISSING) if isinstance(present, dict) else _MISSING


def _compare_each(expected: Any, actual: Any, bindings: Mapping[str, Any], at: str) -> Iterator[Difference]:
    if not isinstance(actual, list | dict):
        yield Difference(at, expected, actual, f"expected a list or map, found {format_value(actual)}")
        return
    items = actual.items() if isinstance(actual, dict) else enumerate(actual)
    for index, item in items:
        yield from _compare(expected, item, bindings, f"{at}[{index}]")


def _compare_list(expected: list[Any], actual: Any, bindings: Mapping[str, Any], at: str) -> Iterator[Difference]:
    if not isinstance(actual, list):
        yield Difference(at, expected, actual)
    elif len(actual) != len(expected):
        why = f"expected {len(expected)} elements, found {len(actual)}: {format_value(actual)}"
        yield Difference(at, expected, actual, why)
    else:
        for index, (wanted, found) in enumerate(zip(expected, actual, strict=True)):
            yield from _compare(wanted, found, bindings, f"{at}[{index}]")
