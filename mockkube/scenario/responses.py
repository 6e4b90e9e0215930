"""Check the response to a step against `expect`, which may want a rejection, and bind its `outputs`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.bindings import evaluate, is_expression, resolve
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.fields import Tree
from mockkube.scenario.matching import find_differences
from mockkube.scenario.world import World


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expectation about a response; `$error` is the message of a rejection, or null."""

    check: Annotated[Tree, "a partial object, or expressions like ($error != null)"]
    match: Annotated[Tree | None, "which objects it is about: a partial object; all if left out"] = None


@dataclass(frozen=True, slots=True)
class Output:
    """A variable bound to a part of a response."""

    name: Annotated[str, "the name, used later as ($name)"]
    value: Annotated[Tree, "an expression about the answer, in parentheses"]
    match: Annotated[Tree | None, "from which objects it is taken: a partial object; all if left out"] = None


def check_response(
    world: World,
    expectations: Sequence[Expectation],
    sent: ReadOnlyObject,
    answer: ReadOnlyObject,
    error: ApiError | None,
) -> None:
    """Raise StepFailed if the response is not as expected; without expectations, if it is a rejection."""
    bindings = world.context.bindings
    matching = [one for one in expectations if one.match is None or not find_differences(one.match, sent, bindings)]
    if not matching and error is not None:
        raise StepFailed(format_error(error))
    scope = {**bindings, "error": None if error is None else error.message}
    for one in matching:
        found = find_differences(one.check, dict(answer), scope)
        if found:
            rejection = "" if error is None else f" (the answer was {format_error(error)})"
            raise StepFailed("; ".join(map(str, found)) + rejection)


def format_error(error: ApiError) -> str:
    """Return a rejection as text: code, reason and message."""
    # Some errors have no reason, which leaves two spaces.
    return f"{error.code} {error.reason}: {error.message}".replace("  ", " ")


def bind_outputs(world: World, outputs: Sequence[Output], answer: Any) -> None:
    """Bind the variables of a step's outputs."""
    bindings = world.context.bindings
    for one in outputs:
        if one.match is None or not find_differences(one.match, answer, bindings):
            bindings[one.name] = evaluate_output(one.value, answer, bindings)


def evaluate_output(value: Any, answer: Any, bindings: Mapping[str, Any]) -> Any:
    """Return a value, evaluated if it is an expression about the response."""
    return evaluate(value[1:-1], answer, bindings) if is_expression(value) else resolve(value, bindings)
