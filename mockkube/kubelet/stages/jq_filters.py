"""Filters of jq: functions from one value to any number of values.

upstream: jq 1.7 manual
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from mockkube.kubelet.stages.jq_functions import (
    JqError,
    add,
    divide,
    is_true,
    modulo,
    multiply,
    sort_key,
    subtract,
    type_name,
)

# Returns the outputs for one input; JqError if it fails.
Filter = Callable[[Any], Iterator[Any]]

# Binary operators by precedence, weakest first.
OPERATORS: Final[tuple[Mapping[str, Callable[[Any, Any], Any]], ...]] = (
    {
        "==": operator.eq,
        "!=": operator.ne,
        "<": lambda one, other: sort_key(one) < sort_key(other),
        "<=": lambda one, other: sort_key(one) <= sort_key(other),
        ">": lambda one, other: sort_key(one) > sort_key(other),
        ">=": lambda one, other: sort_key(one) >= sort_key(other),
    },
    {"+": add, "-": subtract},
    {"*": multiply, "/": divide, "%": modulo},
)


def identity(value: Any) -> Iterator[Any]:
    """Return the value itself (`.`)."""

    yield value


def constant(result: Any) -> Filter:
    """Return a filter that outputs a constant."""

    return lambda value: iter((result,))


def pipe(first: Filter, second: Filter) -> Filter:
    """Return a filter that passes all outputs of the first to the second (`|`)."""

    return lambda value: (result for middle in first(value) for result in second(middle))


def comma(first: Filter, second: Filter) -> Filter:
    """Return a filter that outputs those of the first, then those of the second (`,`)."""

    def run(value: Any) -> Iterator[Any]:
        yield from first(value)
        yield from second(value)

    return run


def index(of: Filter, key: Filter) -> Filter:
    """Return a filter that looks up object fields or array elements by key."""

    def run(value: Any) -> Iterator[Any]:
        for container in of(value):
            for name in key(value):
                yield _look_up(container, name)

    return run


def _look_up(whole: Any, name: Any) -> Any:
    if whole is None:
        return None
    if isinstance(whole, dict) and isinstance(name, str):
        return whole.get(name)
    if isinstance(whole, list) and type_name(name) == "number":
        at = int(name)
        return whole[at] if -len(whole) <= at < len(whole) else None
    raise JqError(f"cannot index {type_name(whole)} with {type_name(name)}")


def slice_values(of: Filter, start: Filter | None, end: Filter | None) -> Filter:
    """Return a filter that slices strings or arrays."""

    def run(value: Any) -> Iterator[Any]:
        for sliced in of(value):
            if sliced is not None and not isinstance(sliced, str | list):
                raise JqError(f"cannot cut {type_name(sliced)}")
            first, last = _find_bound(start, value), _find_bound(end, value)
            yield None if sliced is None else sliced[first:last]

    return run


def _find_bound(find: Filter | None, value: Any) -> int | None:
    for at in () if find is None else find(value):
        if at is not None and type_name(at) != "number":
            raise JqError("only numbers say where to cut")
        return None if at is None else int(at)
    return None


def iterate(value: Any) -> Iterator[Any]:
    """Return the elements of an array, or the values of an object (`.[]`)."""

    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value
    else:
        raise JqError(f"cannot iterate over {type_name(value)}")


def recurse(value: Any) -> Iterator[Any]:
    """Return the value and everything inside it (`..`)."""

    yield value
    if isinstance(value, dict | list):
        for one in iterate(value):
            yield from recurse(one)


def suppress_errors(attempt: Filter) -> Filter:
    """Return a filter that ends its outputs at the first error (`?`)."""

    def run(value: Any) -> Iterator[Any]:
        try:
            yield from attempt(value)
        except JqError:
            return

    return run


def binary_operator(left: Filter, work: Callable[[Any, Any], Any], right: Filter) -> Filter:
    """Return a filter that applies an operator to all pairs of outputs."""

    # jq varies the left operand fastest.
    return lambda value: (work(one, other) for other in right(value) for one in left(value))


def alternative(left: Filter, right: Filter) -> Filter:
    """Return a filter of true outputs of the left, or all outputs of the right (`//`)."""

    def run(value: Any) -> Iterator[Any]:
        found = [one for one in suppress_errors(left)(value) if is_true(one)]
        yield from found or right(value)

    return run


def boolean_operator(left: Filter, word: str, right: Filter) -> Filter:
    """Return a filter of `and` or `or`, which evaluates the right side only if needed."""

    def run(value: Any) -> Iterator[Any]:
        for one in left(value):
            if is_true(one) == (word == "or"):
                yield word == "or"
            else:
                yield from (is_true(other) for other in right(value))

    return run


def conditional(condition: Filter, then: Filter, otherwise: Filter) -> Filter:
    """Return a filter of `if`, `then` and `else`."""

    def run(value: Any) -> Iterator[Any]:
        for result in condition(value):
            yield from (then if is_true(result) else otherwise)(value)

    return run


def construct_object(fields: list[tuple[Filter, Filter]]) -> Filter:
    """Return a filter that outputs an object for each combination of keys and values."""

    def run(value: Any, at: int = 0) -> Iterator[Any]:
        if at == len(fields):
            yield {}
            return
        key, content = fields[at]
        for name in key(value):
            if not isinstance(name, str):
                raise JqError("keys are strings")
            for one in content(value):
                for rest in run(value, at + 1):
                    yield {name: one, **rest}

    return run


def call(work: Callable[[Any], Any]) -> Filter:
    """Return a filter that calls a function on the value."""

    def run(value: Any) -> Iterator[Any]:
        try:
            yield work(value)
        except (TypeError, ValueError, AttributeError) as error:
            raise JqError(str(error)) from error

    return run


def call_with_argument(work: Callable[[Any, Any], Any], argument: Filter) -> Filter:
    """Return a filter that calls a function on the value and each output of its argument."""

    def run(value: Any) -> Iterator[Any]:
        for one in argument(value):
            try:
                yield work(value, one)
            except (TypeError, AttributeError, re.error) as error:
                raise JqError(str(error)) from error

    return run


def select(argument: Filter) -> Filter:
    """Return a filter that outputs the value once for each true output of the condition."""

    return lambda value: iter([value for condition in argument(value) if is_true(condition)])


# Functions whose one argument is a filter, by name.
FUNCTIONS_OF_FILTER: Final[Mapping[str, Callable[[Filter], Filter]]] = {
    "select": select,
    "map": lambda argument: call(lambda value: [one for item in iterate(value) for one in argument(item)]),
    "any": lambda argument: call(lambda value: any(is_true(v) for item in iterate(value) for v in argument(item))),
    "all": lambda argument: call(lambda value: all(is_true(v) for item in iterate(value) for v in argument(item))),
    "first": lambda argument: lambda value: islice(argument(value), 1),
}
