"""Operators: declarations of arithmetic, ordering, equality, logic and membership.

upstream 1.36: cel-go common/stdlib/standard.go
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from mockkube_cel import costs, types, values
from mockkube_cel.declarations import CallEstimate, Function, Overload, SizedOperand, global_overload
from mockkube_cel.interpreter import arithmetic
from mockkube_cel.sizes import ONE, TRAVERSAL_FACTOR, UNKNOWN, Interval
from mockkube_cel.types import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT, CelType

_A: Final = types.param("A")
_B: Final = types.param("B")
_LIST: Final = types.list_of(_A)
_MAP: Final = types.map_of(_A, _B)
_FORMAT_SIZE: Final = Interval(1, 64)

_NAMES: Final = {
    BOOL: "bool",
    BYTES: "bytes",
    DOUBLE: "double",
    DURATION: "duration",
    INT: "int64",
    STRING: "string",
    TIMESTAMP: "timestamp",
    UINT: "uint64",
}


def _estimate_equal(operands: Sequence[SizedOperand]) -> CallEstimate:
    left, right = operands
    # Types that Kubernetes adds have estimates of their own, for comparisons with their own type only.
    special = _EQUALITY_ESTIMATES.get(left.type.name) if left.type.name == right.type.name else None
    return special(right) if special else costs.estimate_comparison(operands)


def _estimate_url_equality(right: SizedOperand) -> CallEstimate:
    largest = 1 if right.size == UNKNOWN else right.size.max
    return CallEstimate(Interval(1, largest).scale_by(TRAVERSAL_FACTOR))


_EQUALITY_ESTIMATES: Final[dict[str, Callable[[SizedOperand], CallEstimate]]] = {
    "net.IP": lambda right: CallEstimate(ONE),
    "net.CIDR": lambda right: CallEstimate(ONE),
    "kubernetes.Quantity": lambda right: CallEstimate(ONE),
    "kubernetes.Semver": lambda right: CallEstimate(ONE),
    **{
        f"kubernetes.authorization.{name}": lambda right: CallEstimate(ONE)
        for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
    },
    "kubernetes.URL": _estimate_url_equality,
    "kubernetes.NamedFormat": lambda right: CallEstimate(_FORMAT_SIZE.scale_by(TRAVERSAL_FACTOR)),
}


def _charge_equal(args: Sequence[Any], result: Any) -> int:
    return 1 if values.is_opaque(args[0]) else costs.charge_comparison(args, result)


def _estimate_in_list(operands: Sequence[SizedOperand]) -> CallEstimate:
    return CallEstimate(operands[1].size)


def _charge_in_list(args: Sequence[Any], result: Any) -> int:
    return values.size_of(args[1])


def _estimate_list_sum(operands: Sequence[SizedOperand]) -> CallEstimate:
    return CallEstimate(ONE, operands[0].size + operands[1].size)


def _estimate_choice(operands: Sequence[SizedOperand]) -> CallEstimate:
    """Return the size of the result only; the estimator itself computes the cost of a ternary."""
    return CallEstimate(ONE, operands[1].size | operands[2].size)


def _same_type_overloads(name: str, *kinds: CelType) -> tuple[Overload, ...]:
    """Declare overloads whose two operands and result have the same type."""
    return tuple(global_overload(f"{name}_{_NAMES[kind]}", (kind, kind), kind) for kind in kinds)


def _mixed_overloads(name: str, left: CelType, right: CelType, result: CelType) -> Overload:
    return global_overload(f"{name}_{_NAMES[left]}_{_NAMES[right]}", (left, right), result)


def _concatenation_overload(overload_id: str, kind: CelType) -> Overload:
    estimate, charge = costs.estimate_concatenation, costs.charge_concatenation
    return Overload(overload_id, (kind, kind), kind, estimate=estimate, charge=charge)


def _add_overloads() -> tuple[Overload, ...]:
    return (
        _concatenation_overload("add_bytes", BYTES),
        *_same_type_overloads("add", DOUBLE),
        _mixed_overloads("add", DURATION, DURATION, DURATION),
        _mixed_overloads("add", DURATION, TIMESTAMP, TIMESTAMP),
        _mixed_overloads("add", TIMESTAMP, DURATION, TIMESTAMP),
        *_same_type_overloads("add", INT),
        Overload("add_list", (_LIST, _LIST), _LIST, estimate=_estimate_list_sum),
        _concatenation_overload("add_string", STRING),
        *_same_type_overloads("add", UINT),
    )


def _ordering_overloads(name: str) -> tuple[Overload, ...]:
    """Declare the overloads of a comparison, numbers of different types included."""
    # In the order in which cel-go declares them, and in which the checker tries them.
    numbers = {INT: (INT, DOUBLE, UINT), UINT: (UINT, DOUBLE, INT), DOUBLE: (DOUBLE, INT, UINT)}
    plain = [(left, right) for left, rights in numbers.items() for right in rights]
    return (
        global_overload(f"{name}_bool", (BOOL, BOOL), BOOL),
        *(_mixed_overloads(name, left, right, BOOL) for left, right in plain),
        *(_text_comparison_overload(f"{name}_{_NAMES[kind]}", kind) for kind in (STRING, BYTES)),
        *(_mixed_overloads(name, kind, kind, BOOL) for kind in (TIMESTAMP, DURATION)),
    )


def _text_comparison_overload(overload_id: str, kind: CelType) -> Overload:
    estimate, charge = costs.estimate_comparison, costs.charge_comparison
    return Overload(overload_id, (kind, kind), BOOL, estimate=estimate, charge=charge)


def _declare_equality(function: str, overload_id: str, estimate: Any, charge: Any) -> Function:
    return Function(function, (Overload(overload_id, (_A, _A), BOOL, estimate=estimate, charge=charge),))


FUNCTIONS: Final = (
    Function("_?_:_", (Overload("conditional", (BOOL, _A, _A), _A, estimate=_estimate_choice),)),
    Function("_&&_", (global_overload("logical_and", (BOOL, BOOL), BOOL),)),
    Function("_||_", (global_overload("logical_or", (BOOL, BOOL), BOOL),)),
    Function("!_", (global_overload("logical_not", (BOOL,), BOOL),), run=arithmetic.logical_not),
    Function(
        "@not_strictly_false",
        (global_overload("not_strictly_false", (BOOL,), BOOL),),
        run=arithmetic.not_strictly_false,
    ),
    _declare_equality("_==_", "equals", _estimate_equal, _charge_equal),
    _declare_equality("_!=_", "not_equals", costs.estimate_comparison, costs.charge_comparison),
    Function("_+_", _add_overloads(), run=arithmetic.add),
    Function("_/_", _same_type_overloads("divide", DOUBLE, INT, UINT), run=arithmetic.divide),
    Function("_%_", _same_type_overloads("modulo", INT, UINT), run=arithmetic.modulo),
    Function("_*_", _same_type_overloads("multiply", DOUBLE, INT, UINT), run=arithmetic.multiply),
    Function(
        "-_",
        (global_overload("negate_double", (DOUBLE,), DOUBLE), global_overload("negate_int64", (INT,), INT)),
        run=arithmetic.negate,
    ),
    Function(
        "_-_",
        (
            *_same_type_overloads("subtract", DOUBLE),
            _mixed_overloads("subtract", DURATION, DURATION, DURATION),
            *_same_type_overloads("subtract", INT),
            _mixed_overloads("subtract", TIMESTAMP, DURATION, TIMESTAMP),
            _mixed_overloads("subtract", TIMESTAMP, TIMESTAMP, DURATION),
            *_same_type_overloads("subtract", UINT),
        ),
        run=arithmetic.subtract,
    ),
    Function("_<_", _ordering_overloads("less"), run=arithmetic.make_ordering("_<_", frozenset({-1}))),
    Function("_<=_", _ordering_overloads("less_equals"), run=arithmetic.make_ordering("_<=_", frozenset({-1, 0}))),
    Function("_>_", _ordering_overloads("greater"), run=arithmetic.make_ordering("_>_", frozenset({1}))),
    Function("_>=_", _ordering_overloads("greater_equals"), run=arithmetic.make_ordering("_>=_", frozenset({1, 0}))),
    Function("_[_]", (global_overload("index_list", (_LIST, INT), _A), global_overload("index_map", (_MAP, _A), _B))),
    Function(
        "@in",
        (
            Overload("in_list", (_A, _LIST), BOOL, estimate=_estimate_in_list, charge=_charge_in_list),
            global_overload("in_map", (_A, _MAP), BOOL),
        ),
        run=arithmetic.is_in,
    ),
)
