"""Programs: closures over a frame that counts their cost.

upstream 1.36: cel-go cel/program.go, interpreter/runtimecost.go
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mockkube_cel.recursion import SHALLOW_DEPTH_MAX, raised_recursion_limit
from mockkube_cel.values import CelError, InternalError, TooLong


class CostExceeded(Exception):
    """Evaluation that exceeded its cost limit."""


class Unset:
    """Accumulator of a comprehension before its first read."""


UNSET: Final = Unset()
_LENGTH_PER_COST: Final = 10
_CANCELLED: Final = CelError("operation cancelled: actual cost limit exceeded")


class Frame:
    """One evaluation: variables, slots of bound names, and the cost so far."""

    __slots__ = ("backwards", "cost", "length", "limit", "slots", "variables")

    def __init__(self, variables: Mapping[str, Any], slots: int, limit: int) -> None:
        self.variables = variables
        self.slots: list[Any] = [UNSET] * slots
        self.cost = 0
        # Characters and elements of all results, which have to be made even where upstream charges nothing for it.
        self.length = 0
        self.limit = limit
        # Upstream's order of map keys is random: evaluating in both directions shows whether a cost depends on it.
        self.backwards = False

    def count_length(self, length: int) -> None:
        """Count the length of a result; as many may be made as an expression of known types could pay for."""
        # differs: cel-go charges 1 for joining two strings whose types it does not know, however long they are.
        self.length += length
        if self.length > self.limit * _LENGTH_PER_COST:
            raise TooLong

    def exceed_limit(self) -> CostExceeded:
        """Record that attribute steps exceeded the limit; return the exception to raise."""
        self.cost = self.limit + 1
        return CostExceeded()


# Evaluates a part of an expression and charges for it.
Run = Callable[[Frame], Any]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Value of an expression, or a `CelError`, and its actual cost."""

    value: Any
    cost: int


@dataclass(frozen=True, slots=True)
class Program:
    """A planned expression that can be evaluated any number of times."""

    run: Run
    slots: int
    height: int

    def evaluate(self, variables: Mapping[str, Any], cost_max: int, *, backwards: bool = False) -> Evaluation:
        """Evaluate with these values of the variables; exceeding `cost_max` ends with an error.

        With `backwards`, comprehensions over maps iterate in the opposite order.
        """
        frame = Frame(variables, self.slots, cost_max)
        frame.backwards = backwards
        try:
            # Raising the recursion limit costs more than a small expression; few nest deeper than this.
            if self.height > SHALLOW_DEPTH_MAX:
                with raised_recursion_limit(self.height):
                    value = self.run(frame)
            else:
                value = self.run(frame)
        except CostExceeded:
            value = _CANCELLED
        except TooLong:
            frame.cost = max(frame.cost, cost_max + 1)
            value = _CANCELLED
        except InternalError as error:
            value = CelError(f"internal error: {error}")
        return Evaluation(value, frame.cost)
