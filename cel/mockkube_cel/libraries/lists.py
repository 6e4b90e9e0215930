"""List functions: order, search, sums, slices, sorting.

upstream 1.36: apiserver/pkg/cel/library/lists.go, cel-go ext/lists.go (version 3)
"""

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Any, Final

from mockkube_cel import types, values
from mockkube_cel.costs import charge_deep_traversal
from mockkube_cel.declarations import (
    CallEstimate,
    Charge,
    Estimate,
    Function,
    Implementation,
    Overload,
    SizedOperand,
    member_overload,
)
from mockkube_cel.interpreter import arithmetic
from mockkube_cel.sizes import LARGEST, LIST_COST, ONE, TRAVERSAL_FACTOR, Size, fixed
from mockkube_cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, CelType, Kind
from mockkube_cel.values import (
    CelError,
    Duration,
    InternalError,
    UInt,
    error_or_no_overload,
    go_type_name,
    size_of,
    type_of,
)

_T: Final = types.param("T")
_LIST: Final = types.list_of(_T)
_COMPARABLE: Final = {
    "int": INT, "uint": UINT, "double": DOUBLE, "bool": BOOL,
    "duration": DURATION, "timestamp": TIMESTAMP, "string": STRING, "bytes": BYTES,
}  # fmt: skip
_ZEROS: Final[dict[str, Any]] = {"int": 0, "uint": UInt(0), "double": 0.0, "duration": Duration(0)}
_ALLOCATION: Final = LIST_COST + 1
# Longer than any cost limit allows.
_RANGE_MAX: Final = 10_000_000


def is_sorted(elements: list[Any]) -> Any:
    """Compute `elements.isSorted()`."""
    return all(arithmetic.compare(before, after) != 1 for before, after in pairwise(elements))


def _make_sum(zero: Any) -> Implementation:
    def run(elements: list[Any]) -> Any:
        total = zero
        for element in elements:
            total = arithmetic.add(total, element)
            if type(total) is CelError:
                return error_or_no_overload(total)
        return total

    return run


def _make_extreme(name: str, worse: int) -> Implementation:
    """Return the implementation of `min` or `max`; an element that compares as `worse` is replaced."""

    def run(elements: list[Any]) -> Any:
        if not elements:
            return CelError(f"{name} called on empty list")
        best = elements[0]
        for element in elements[1:]:
            if arithmetic.compare(best, element) == worse:
                best = element
        return best

    return run


def index_of(elements: list[Any], value: Any) -> int:
    """Compute `elements.indexOf(value)`."""
    return next((index for index, element in enumerate(elements) if values.equal(element, value) is True), -1)


def last_index_of(elements: list[Any], value: Any) -> int:
    """Compute `elements.lastIndexOf(value)`."""
    return next((i for i in range(len(elements) - 1, -1, -1) if values.equal(elements[i], value) is True), -1)


def list_range(length: int) -> list[int]:
    """Compute `lists.range(length)`."""
    if length > _RANGE_MAX:
        # differs: upstream would first run out of memory.
        raise InternalError(f"lists.range({length}) is too long")
    return list(range(length))


def slice_list(elements: list[Any], start: int, end: int) -> Any:
    """Compute `elements.slice(start, end)`."""
    if start < 0 or end < 0:
        return CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        return CelError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(elements) < end:
        return CelError(f"cannot slice({start}, {end}), list is length {len(elements)}")
    return elements[start:end]


def flatten(elements: Any, depth: Any = 1) -> Any:
    """Compute `elements.flatten(depth)`."""
    if not isinstance(elements, list) or type(depth) is not int:
        name = type_of(elements).name
        return CelError(f"no such overload: {name}.flatten({type_of(depth).name})")
    if depth < 0:
        return CelError("level must be non-negative")
    flat: list[Any] = []
    for element in elements:
        if isinstance(element, list) and depth > 0:
            flat += flatten(element, depth - 1)
        else:
            flat.append(element)
    return flat


def sort(elements: Any) -> Any:
    """Compute `elements.sort()`."""
    return sort_by_keys(elements, elements)


def sort_by_keys(elements: Any, keys: Any) -> Any:
    """Sort a list by the keys at the same indices of another list."""
    if not isinstance(elements, list):
        return arithmetic.unsupported_type("sort" if elements is keys else "@sortByAssociatedKeys", elements)
    if not elements:
        return elements
    kind = type_of(keys[0])
    if kind.name not in _COMPARABLE_NAMES:
        return CelError("list elements must be comparable")
    if any(type_of(key).name != kind.name for key in keys):
        return CelError("list elements must have the same type")
    # Indices are sorted, not pairs: elements without an order may be sorted by their keys.
    by_key = cmp_to_key(lambda one, other: _compare_keys(keys[one], keys[other]))
    return [elements[index] for index in sorted(range(len(elements)), key=by_key)]


_COMPARABLE_NAMES: Final = frozenset(kind.name for kind in _COMPARABLE.values())


def _compare_keys(one: Any, other: Any) -> int:
    order = arithmetic.compare(one, other)
    return order if type(order) is int else 0


def distinct(elements: list[Any]) -> list[Any]:
    """Compute `elements.distinct()`."""
    unique: list[Any] = []
    for element in elements:
        if not values.contains(unique, element):
            unique.append(element)
    return unique


def _estimate_traversal(operands: Sequence[SizedOperand]) -> CallEstimate:
    elements = operands[0]
    if not elements.type.parameters:
        return CallEstimate(elements.size.scale_by(TRAVERSAL_FACTOR))
    inner = elements.type.parameters[0].kind
    each = ONE + elements.element_size.scale_by(TRAVERSAL_FACTOR) if inner in (Kind.STRING, Kind.BYTES) else ONE
    return CallEstimate(elements.size * each)


def _charge_traversal(args: Sequence[Any], result: Any) -> int:
    return charge_deep_traversal(args[0])


def _allocation_estimate(factor: float, size: Size) -> CallEstimate:
    return CallEstimate(size.scale_by(factor) + fixed(1) + fixed(LIST_COST), size)


def _constant_or(operand: SizedOperand, default: int) -> int:
    return max(0, operand.constant) if type(operand.constant) is int else default


def _estimate_slice(operands: Sequence[SizedOperand]) -> CallEstimate:
    start = _constant_or(operands[1], 0)
    end = _constant_or(operands[2], operands[0].size.max)
    # Upstream subtracts unsigned numbers: an end before the start wraps around to a huge cost.
    return _allocation_estimate(1, fixed((end - start) % (LARGEST + 1)))


def _estimate_flatten(operands: Sequence[SizedOperand]) -> CallEstimate:
    depth = _constant_or(operands[1], LARGEST) if len(operands) > 1 else 1
    return _allocation_estimate(float(depth), operands[0].size)


def _estimate_range(operands: Sequence[SizedOperand]) -> CallEstimate:
    return _allocation_estimate(1, fixed(_constant_or(operands[0], LARGEST)))


def _estimate_reverse(operands: Sequence[SizedOperand]) -> CallEstimate:
    return _allocation_estimate(1, operands[0].size)


def _estimate_distinct(operands: Sequence[SizedOperand]) -> CallEstimate:
    return _allocation_estimate(2, operands[0].size * operands[0].size)


def _estimate_sort(index: int, kind: CelType) -> Estimate:
    factor = 2 + TRAVERSAL_FACTOR if kind in (STRING, BYTES) else 2.0
    return lambda operands: _allocation_estimate(factor, operands[index].size * operands[index].size)


def _charge_output(args: Sequence[Any], result: Any) -> int:
    return size_of(result) + _ALLOCATION


def _charge_flatten(args: Sequence[Any], result: Any) -> int:
    depth = 1
    if len(args) == 2:
        # Upstream asserts the Go type while it charges, and panics for any other.
        if type(args[1]) is not int:
            raise InternalError(f"interface conversion: ref.Val is {go_type_name(args[1])}, not types.Int")
        depth = args[1]
    return int(size_of(args[0]) * float(depth)) + _ALLOCATION


def _charge_comparisons(index: int) -> Charge:
    def charge(args: Sequence[Any], result: Any) -> int:
        elements = args[index]
        if not isinstance(elements, list):
            raise InternalError(
                f"interface conversion: {go_type_name(elements)} is not traits.Lister: missing method Add"
            )
        length = len(elements)
        # Comparing strings reads them; upstream takes the type of the first element for that of all.
        has_text = length and type(elements[0]) in (str, bytes)
        return int(length * length * (2 + TRAVERSAL_FACTOR if has_text else 2.0)) + _ALLOCATION

    return charge


def _overloads_by_type(names: Sequence[str], make: Callable[[str, CelType], Overload]) -> tuple[Overload, ...]:
    return tuple(make(name, _COMPARABLE[name]) for name in names)


def _declare_element_function(
    name: str, suffix: str, names: Sequence[str], result: CelType | None, run: Callable[[str], Implementation]
) -> Function:
    """Declare a function that walks over a list, for each type of elements."""

    def make(kind_name: str, kind: CelType) -> Overload:
        overload_id = f"list_{kind_name}_{suffix.format(kind_name)}"
        return member_overload(overload_id, (types.list_of(kind),), result or kind, run(kind_name))

    return Function(name, _overloads_by_type(names, make), estimate=_estimate_traversal, charge=_charge_traversal)


def _declare_sort(name: str, suffix: str, index: int, run: Implementation) -> Function:
    def make(kind_name: str, kind: CelType) -> Overload:
        keys = types.list_of(kind)
        args = (keys,) if index == 0 else (_LIST, keys)
        # Sized by the name of the type at run time, as upstream registers it.
        return Overload(
            f"list_{kind.name}_{suffix}", args, args[0], member=True,
            estimate=_estimate_sort(index, kind), charge=_charge_comparisons(index),
        )  # fmt: skip

    return Function(name, _overloads_by_type(tuple(_COMPARABLE), make), run=run)


def _allocating_overload(
    overload_id: str, args: Sequence[CelType], result: CelType, run: Implementation, estimate: Estimate, charge: Charge
) -> Overload:
    return Overload(overload_id, tuple(args), result, run, True, len(args) > 2, estimate, charge)


FUNCTIONS: Final = (
    _declare_element_function("isSorted", "is_sorted_bool", tuple(_COMPARABLE), BOOL, lambda name: is_sorted),
    _declare_element_function("sum", "sum_{}", tuple(_ZEROS), None, lambda name: _make_sum(_ZEROS[name])),
    _declare_element_function("max", "max_{}", tuple(_COMPARABLE), None, lambda name: _make_extreme("max", -1)),
    _declare_element_function("min", "min_{}", tuple(_COMPARABLE), None, lambda name: _make_extreme("min", 1)),
    Function(
        "indexOf",
        (
            Overload(
                "list_a_index_of_int", (_LIST, _T), INT, index_of, member=True,
                estimate=_estimate_traversal, charge=_charge_traversal,
            ),
        ),
    ),
    Function(
        "lastIndexOf",
        (
            Overload(
                "list_a_last_index_of_int", (_LIST, _T), INT, last_index_of, member=True,
                estimate=_estimate_traversal, charge=_charge_traversal,
            ),
        ),
    ),
    Function(
        "slice",
        (_allocating_overload("list_slice", (_LIST, INT, INT), _LIST, slice_list, _estimate_slice, _charge_output),),
    ),
    Function(
        "flatten",
        (
            _allocating_overload(
                "list_flatten", (types.list_of(_LIST),), _LIST, flatten, _estimate_flatten, _charge_flatten
            ),
            _allocating_overload(
                "list_flatten_int", (types.list_of(DYN), INT), types.list_of(DYN), flatten, _estimate_flatten,
                _charge_flatten,
            ),
        ),
        guarded=False,
    ),
    _declare_sort("sort", "sort", 0, sort),
    _declare_sort("@sortByAssociatedKeys", "sortByAssociatedKeys", 1, sort_by_keys),
    Function(
        "lists.range",
        (
            Overload(
                "lists_range", (INT,), types.list_of(INT), list_range,
                estimate=_estimate_range, charge=_charge_output,
            ),
        ),
    ),
    Function(
        "reverse",
        (
            _allocating_overload(
                "list_reverse", (_LIST,), _LIST, lambda elements: elements[::-1], _estimate_reverse, _charge_output
            ),
        ),
    ),
    Function(
        "distinct",
        (
            _allocating_overload(
                "list_distinct", (_LIST,), _LIST, distinct, _estimate_distinct, _charge_comparisons(0)
            ),
        ),
    ),
)  # fmt: skip
