"""Set functions on lists: `sets.contains`, `sets.equivalent`, `sets.intersects`.

upstream 1.36: cel-go ext/sets.go
"""

from collections.abc import Sequence
from typing import Any, Final

from mockkube_cel import types, values
from mockkube_cel.declarations import CallEstimate, Charge, Estimate, Function, Implementation, Overload, SizedOperand
from mockkube_cel.sizes import fixed
from mockkube_cel.types import BOOL

_LIST: Final = types.list_of(types.param("T"))


def contains(elements: list[Any], others: list[Any]) -> bool:
    """Compute `sets.contains(elements, others)`."""
    return all(values.contains(elements, other) for other in others)


def equivalent(elements: list[Any], others: list[Any]) -> bool:
    """Compute `sets.equivalent(elements, others)`."""
    return contains(elements, others) and contains(others, elements)


def intersects(elements: list[Any], others: list[Any]) -> bool:
    """Compute `sets.intersects(elements, others)`."""
    return any(values.contains(others, element) for element in elements)


def _make_estimate(factor: float) -> Estimate:
    def estimate(operands: Sequence[SizedOperand]) -> CallEstimate:
        return CallEstimate((operands[0].size * operands[1].size).scale_by(factor) + fixed(1))

    return estimate


def _make_charge(factor: float) -> Charge:
    return lambda args, result: 1 + int(values.size_of(args[0]) * values.size_of(args[1]) * factor)


def _declare_function(name: str, factor: float, run: Implementation) -> Function:
    overload = Overload(
        f"list_sets_{name}_list",
        (_LIST, _LIST),
        BOOL,
        run,
        estimate=_make_estimate(factor),
        charge=_make_charge(factor),
    )
    return Function(f"sets.{name}", (overload,))


FUNCTIONS: Final = (
    _declare_function("contains", 1.0, contains),
    _declare_function("equivalent", 2.0, equivalent),
    _declare_function("intersects", 1.0, intersects),
)
