"""Calls: closures that evaluate operands, call the implementation and charge for it.

Errors are operands like others: a call that fails is charged like one that succeeds, with the failed value of size 1.
upstream 1.36: cel-go interpreter/interpretable.go
"""

from collections.abc import Sequence
from typing import Any

from mockkube_cel import costs, values
from mockkube_cel.declarations import Charge, Function, Implementation, Overload
from mockkube_cel.program import CostExceeded, Frame, Run
from mockkube_cel.types import CelType, Kind
from mockkube_cel.values import CelError, Optional, error_or_no_overload, type_of

_GROWING = (str, bytes, list)


def plan_logical(left: Run, right: Run, *, decisive: bool) -> Run:
    """Return a closure of `&&` (decisive: False) or `||` (True).

    An error counts only if the other operand does not decide the result.
    """

    def run(frame: Frame) -> Any:
        first = left(frame)
        if first is decisive:
            return decisive
        second = right(frame)
        if second is decisive:
            return decisive
        if type(first) is not bool:
            return error_or_no_overload(first)
        return second if type(second) is bool else error_or_no_overload(second)

    return run


def plan_equality(left: Run, right: Run, *, negated: bool) -> Run:
    """Return a closure of `==` or `!=`."""

    def run(frame: Frame) -> Any:  # hot: every comparison
        first, second = left(frame), right(frame)
        kind = type(first)
        if kind is str and type(second) is str:
            frame.cost += costs.traversal_cost(min(len(first), len(second)))
            result: Any = (first == second) is not negated
        else:
            result = _compare_equal(first, second, negated=negated)
            # Kubernetes prices `==` of its own types at 1; `!=` is left to cel-go, which goes by their size.
            has_unit_cost = not negated and values.is_opaque(first)
            frame.cost += (
                1 if has_unit_cost else costs.traversal_cost(min(values.size_of(first), values.size_of(second)))
            )
        if frame.cost > frame.limit:
            raise CostExceeded
        return result

    return run


def _compare_equal(first: Any, second: Any, *, negated: bool) -> Any:
    for value in (first, second):
        if type(value) is CelError:
            return value
    same = values.equal(first, second)
    return same is not True if negated else same


def plan_optional_or(left: Run, right: Run, *, unwrap: bool) -> Run:
    """Return a closure of `or` and, with `unwrap`, of `orValue`; both are free of charge."""

    def run(frame: Frame) -> Any:
        first = left(frame)
        if type(first) is not Optional:
            return first
        if not first.present:
            return right(frame)
        return first.value if unwrap else first

    return run


def plan_call(implementation: Implementation, operands: Sequence[Run], charge: Charge | None, *, eager: bool) -> Run:
    """Return a call of an implementation that does not check its operands; without `charge` it costs 1."""
    # cel-go has nodes of their own for one and two operands, which evaluate all of them before they look for errors.
    if eager or len(operands) not in (1, 2):
        return _plan_eager(implementation, tuple(operands), charge or costs.charge_unit)
    if len(operands) == 1:
        return _plan_unary(implementation, operands[0], charge)
    return _plan_binary(implementation, operands[0], operands[1], charge)


def _plan_unary(implementation: Implementation, operand: Run, charge: Charge | None) -> Run:
    def run(frame: Frame) -> Any:
        value = operand(frame)
        result = value if type(value) is CelError else implementation(value)
        frame.cost += 1 if charge is None else charge((value,), result)
        if frame.cost > frame.limit:
            raise CostExceeded
        return result

    return run


def _plan_binary(implementation: Implementation, left: Run, right: Run, charge: Charge | None) -> Run:
    def run(frame: Frame) -> Any:
        first, second = left(frame), right(frame)
        if type(first) is CelError:
            result: Any = first
        else:
            result = second if type(second) is CelError else implementation(first, second)
            if type(result) in _GROWING:
                frame.count_length(len(result))
        frame.cost += 1 if charge is None else charge((first, second), result)
        if frame.cost > frame.limit:
            raise CostExceeded
        return result

    return run


def _plan_eager(implementation: Implementation, operands: tuple[Run, ...], charge: Charge) -> Run:
    """Return a call that stops at the first failing operand, and is charged only if that was the last."""

    def run(frame: Frame) -> Any:
        args: list[Any] = []
        for operand in operands:
            value = operand(frame)
            args.append(value)
            if type(value) is CelError:
                result = value
                break
        else:
            result = implementation(*args)
            if type(result) in _GROWING:
                frame.count_length(len(result))
        if len(args) == len(operands):
            frame.cost += charge(args, result)
            if frame.cost > frame.limit:
                raise CostExceeded
        return result

    return run


def plan_lenient_call(implementation: Implementation, operand: Run) -> Run:
    """Return a call that passes errors to the implementation."""

    def run(frame: Frame) -> Any:
        result = implementation(operand(frame))
        frame.cost += 1
        if frame.cost > frame.limit:
            raise CostExceeded
        return result

    return run


def with_type_check(function: str, overload: Overload, implementation: Implementation) -> Implementation:
    """Return the implementation behind a type check of its operands."""

    def run(*args: Any) -> Any:
        if all(values.has_type(expected, arg) for expected, arg in zip(overload.args, args, strict=True)):
            return implementation(*args)
        return no_overload_error(function, args)

    return run


def make_dispatcher(function: Function) -> Implementation:
    """Return an implementation that calls the first overload whose types match the values."""

    def run(*args: Any) -> Any:
        for overload in function.overloads:
            if overload.run is None or len(overload.args) != len(args):
                continue
            pairs = zip(overload.args, args, strict=True)
            # The first overload that matches is called; cel-go resolves calls with dyn operands in the same order.
            if not function.guarded or all(values.has_type(expected, arg) for expected, arg in pairs):
                return overload.run(*args)
        return no_overload_error(function.name, args)

    return run


def no_overload_error(function: str, args: Sequence[Any]) -> CelError:
    """Return the error that no overload takes values of these types."""
    return CelError(f"no such overload: {function}({', '.join(type_of(arg).name for arg in args)})")


def is_dynamic(given: CelType) -> bool:
    """Return whether values of other types may occur at run time where this type is expected."""
    if given.is_dyn or given.nullable or given.kind in (Kind.PARAM, Kind.ERROR, Kind.NULL):
        return True
    return any(map(is_dynamic, given.parameters))
