"""Cost estimator: the minimum and maximum cost of evaluating a checked expression.

upstream 1.36: cel-go checker/cost.go
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from mockkube_cel import types
from mockkube_cel.declarations import CallEstimate, Function, Overload, SizedOperand
from mockkube_cel.sizes import (
    LARGEST,
    LIST_COST,
    MAP_COST,
    ONE,
    STRUCT_COST,
    UNKNOWN,
    ZERO,
    Cost,
    Interval,
    Size,
    SizeEstimator,
    fixed,
)
from mockkube_cel.syntax.tree import Call, Comprehension, Ident, ListNode, Literal, MapNode, Node, Select, StructNode
from mockkube_cel.types import CelType, Kind

_SCALARS: Final = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT})


class FieldPath:
    """Path of a value; appending to it works as with a slice in Go.

    Two paths may share an array, so that what is appended to one replaces the last name of the other: in
    `self.list.all(x, x.a.all(y, y in x.b))` upstream takes the size of `x.b` for that of `x.a`, because it reads the
    path of `x.a` after the body of the loop.
    """

    __slots__ = ("_array", "_length")

    def __init__(self, array: list[str], length: int) -> None:
        self._array = array
        self._length = length

    def append(self, name: str) -> "FieldPath":
        """Return the path of a part."""
        length = self._length
        if length < len(self._array):
            self._array[length] = name
            return FieldPath(self._array, length + 1)
        spare = max(1, 2 * length) - length
        return FieldPath([*self._array[:length], name, *[""] * (spare - 1)], length + 1)

    def names(self) -> tuple[str, ...]:
        """Return the names in the path."""
        return tuple(self._array[: self._length])


_NO_PATH: Final = FieldPath([], 0)


@dataclass(frozen=True, slots=True)
class EntrySizes:
    """Sizes of the entries of a container: keys (or indices) and values."""

    key: Size
    value: Size
    is_list: bool

    def __or__(self, other: "EntrySizes") -> "EntrySizes":
        return EntrySizes(self.key | other.key, self.value | other.value, self.is_list)


@dataclass(frozen=True, slots=True)
class _LocalVariable:
    """A variable in scope: the path of its value, and its sizes as far as known."""

    path: FieldPath
    size: Size | None
    entries: EntrySizes | None


class CostEstimator:
    """Cost estimator of one checked tree; `sizes` bounds paths such as `("taint", "key")`."""

    def __init__(self, functions: Mapping[str, Function], sizes: SizeEstimator) -> None:
        self._functions = functions
        self._estimate_size = sizes
        self._paths: dict[Node, FieldPath] = {}
        self._sizes: dict[Node, Size] = {}
        self._entries: dict[Node, EntrySizes] = {}
        self._locals: dict[str, list[_LocalVariable]] = {}

    def cost(self, node: Node) -> Cost:
        """Return the cost of evaluating the node and everything below it."""
        match node:
            case Literal():
                return ZERO
            case Ident():
                local = self._find_local(node.name)
                self._paths[node] = local.path if local else _NO_PATH.append(node.name)
                return ONE
            case Select():
                return self._cost_select(node)
            case Call():
                return self._cost_call(node)
            case ListNode():
                return self._cost_list(node)
            case MapNode():
                return self._cost_map(node)
            case StructNode():
                return _sum_costs(self.cost(child) for child in node.children()) + fixed(STRUCT_COST)
            case Comprehension():
                return self._cost_binding(node) if node.is_binding else self._cost_comprehension(node)
        raise AssertionError("every kind of node has its case")

    def _find_local(self, name: str) -> _LocalVariable | None:
        bound = self._locals.get(name)
        return bound[-1] if bound else None

    def _path_of(self, node: Node) -> FieldPath:
        if isinstance(node, Ident) and (local := self._find_local(node.name)):
            return local.path
        return self._paths.get(node, _NO_PATH)

    def _cost_select(self, node: Select) -> Cost:
        if node.ident:
            # The checker resolved the selection to one variable, which costs as much as any other.
            self._paths[node] = _NO_PATH.append(node.ident)
            return ONE
        cost = self.cost(node.operand)
        # `has(a.b)` costs what its operand costs: the interpreter does not count the field that is tested either.
        if node.test_only:
            return cost
        if node.operand.type.kind in (Kind.MAP, Kind.STRUCT, Kind.PARAM):
            cost += ONE
        self._paths[node] = self._path_of(node.operand).append(node.field)
        return cost

    def _cost_list(self, node: ListNode) -> Cost:
        costs = [self.cost(element) for element in node.elements]
        sizes = [self._size_or_unknown(element) for element in node.elements]
        self._entries[node] = EntrySizes(ONE, _union_sizes(sizes), is_list=True)
        return _sum_costs(costs) + fixed(LIST_COST)

    def _cost_map(self, node: MapNode) -> Cost:
        costs = [self.cost(child) for child in node.children()]
        keys = _union_sizes([self._size_or_unknown(entry.key) for entry in node.entries])
        values = _union_sizes([self._size_or_unknown(entry.value) for entry in node.entries])
        self._entries[node] = EntrySizes(keys, values, is_list=False)
        return _sum_costs(costs) + fixed(MAP_COST)

    def _cost_binding(self, node: Comprehension) -> Cost:
        # `cel.bind` is a comprehension over an empty range: condition and step never run, so they cost nothing.
        cost = self.cost(node.range) + self.cost(node.init)
        self._bind(node.accumulator, self._local_from_node(node.init))
        cost += self.cost(node.result)
        self._locals[node.accumulator].pop()
        self._copy_sizes(node, node.result)
        return cost

    def _bind(self, name: str, local: _LocalVariable) -> None:
        self._locals.setdefault(name, []).append(local)

    def _local_from_node(self, node: Node) -> _LocalVariable:
        return _LocalVariable(self._path_of(node), self._size_of(node), self._entries_of(node))

    def _copy_sizes(self, to: Node, source: Node) -> None:
        if (size := self._size_of(source)) is not None:
            self._sizes[to] = size
        if (entries := self._entries_of(source)) is not None:
            self._entries[to] = entries

    def _cost_comprehension(self, node: Comprehension) -> Cost:
        cost = self.cost(node.range) + self.cost(node.init)
        self._bind(node.accumulator, self._local_from_node(node.init))
        variables = self._loop_variables(node)
        for name, local in variables.items():
            self._bind(name, local)
        each = self.cost(node.condition) + self.cost(node.step)
        for name in variables:
            self._locals[name].pop()
        cost += self.cost(node.result)
        self._locals[node.accumulator].pop()
        # A range without a known size counts as unbounded, which exceeds every cost limit upstream has.
        count = self._size_or_unknown(node.range)
        self._size_result(node, count)
        return cost + count * each

    def _loop_variables(self, node: Comprehension) -> dict[str, _LocalVariable]:
        entries = self._entries_of(node.range)
        is_list = entries.is_list if entries else node.range.type.kind is Kind.LIST
        base = self._path_of(node.range)
        if node.variable2:
            key_path = base.append("@indices" if is_list else "@keys")
            key = _LocalVariable(key_path, entries.key if entries else None, None)
            value_path = base.append("@items" if is_list else "@values")
            value = _LocalVariable(value_path, entries.value if entries else None, None)
            return {node.variable: key, node.variable2: value}
        size = None if entries is None else entries.value if is_list else entries.key
        return {node.variable: _LocalVariable(base.append("@items" if is_list else "@keys"), size, None)}

    def _size_result(self, node: Comprehension, count: Size) -> None:
        if isinstance(node.init, Literal):
            if (size := self._size_of(node.init)) is not None:
                self._sizes[node] = size
        elif isinstance(node.init, (ListNode, MapNode)):
            self._sizes[node] = count
            if (entries := self._entries_of(node.step)) is not None:
                self._entries[node] = entries

    def _cost_call(self, node: Call) -> Cost:
        if node.function == "dyn":
            cost = ONE + self.cost(node.args[0])
            self._copy_sizes(node, node.args[0])
            return cost
        costs: list[Cost] = []
        operands: list[SizedOperand] = []
        # The size of an operand is read before the next one is walked over, which may change paths.
        for arg in node.args:
            costs.append(self.cost(arg))
            operands.append(self._with_size(arg))
        # Without an overload the tree did not type-check; cel-go estimates such a call as free.
        if not node.overloads:
            return ZERO
        cost = ZERO
        if node.target is not None:
            cost = self.cost(node.target)
            operands.insert(0, self._with_size(node.target))
        function = self._functions[node.function]
        range_of_costs: Cost | None = None
        result: Size | None = None
        for overload in node.overloads:
            estimate = self._estimate_call(node, function, overload, operands, costs)
            range_of_costs = estimate.cost if range_of_costs is None else range_of_costs | estimate.cost
            if estimate.result is not None:
                result = estimate.result if result is None else result | estimate.result
            result = self._size_index(node, overload, result)
            if result is None:
                result = self._size_of(node)
        if result is not None:
            self._sizes[node] = result
        return cost + (range_of_costs or ZERO)

    def _size_index(self, node: Call, overload: Overload, result: Size | None) -> Size | None:
        """Record the path of an index expression; return the size of its operand's entries."""
        if overload.id not in ("index_list", "index_map"):
            return result
        entries = self._entries_of(node.args[0])
        step = "@items" if overload.id == "index_list" else "@values"
        self._paths[node] = self._path_of(node.args[0]).append(step)
        return entries.value if entries else None

    def _estimate_call(
        self, node: Call, function: Function, overload: Overload, operands: list[SizedOperand], costs: list[Cost]
    ) -> CallEstimate:
        """Estimate one overload with its arguments, without its target."""
        match overload.id:
            case "logical_and" | "logical_or":
                # The left operand alone may decide the result, so the minimum leaves the right one out.
                return CallEstimate(Interval(costs[0].min, (costs[0] + costs[1]).max))
            case "conditional":
                self._join_entries(node, node.args[1], node.args[2])
                return CallEstimate(costs[0] + (costs[1] | costs[2]), operands[1].size | operands[2].size)
            case "add_string" | "add_bytes" | "add_list":
                self._join_entries(node, node.args[0], node.args[1])
        estimate = overload.estimate or function.estimate
        if estimate is None:
            return CallEstimate(ONE + _sum_costs(costs))
        own = estimate(operands)
        return CallEstimate(own.cost + _sum_costs(costs), own.result)

    def _join_entries(self, node: Node, one: Node, other: Node) -> None:
        first, second = self._entries_of(one), self._entries_of(other)
        if first is not None and second is not None:
            self._entries[node] = first | second

    def _with_size(self, node: Node) -> SizedOperand:
        constant: Any = node.value if isinstance(node, Literal) else None
        return SizedOperand(node.type, self._size_or_unknown(node), self._element_size(node), constant)

    def _element_size(self, node: Node) -> Size:
        """Return the size of a list's elements as far as their path tells it."""
        if not node.type.parameters:
            return UNKNOWN
        path = self._path_of(node).names()
        size = self._estimate_size((*path, "@items") if path else (), node.type.parameters[0])
        return UNKNOWN if size is None else size

    def _size_or_unknown(self, node: Node) -> Size:
        size = self._size_of(node)
        return UNKNOWN if size is None else size

    def _size_of(self, node: Node) -> Size | None:
        if node in self._sizes:
            return self._sizes[node]
        if (literal := _literal_size(node)) is not None:
            return literal
        if (size := self._estimate_size(self._path_of(node).names(), node.type)) is not None:
            self._sizes[node] = size
            return size
        if _is_scalar(node.type):
            return ONE
        if isinstance(node, Ident) and (local := self._find_local(node.name)):
            return local.size
        return None

    def _entries_of(self, node: Node) -> EntrySizes | None:
        if node in self._entries:
            return self._entries[node]
        if isinstance(node, Ident) and (local := self._find_local(node.name)):
            return local.entries
        return None


def _sum_costs(costs: Any) -> Cost:
    return reduce(lambda one, other: one + other, costs, ZERO)


def _union_sizes(sizes: list[Size]) -> Size:
    return reduce(lambda one, other: one | other, sizes, Interval(LARGEST, 0)) if sizes else ZERO


def _literal_size(node: Node) -> Size | None:
    match node:
        case Literal(value=str() | bytes() as value):
            return fixed(len(value))
        case Literal():
            return ONE
        case ListNode():
            return fixed(len(node.elements))
        case MapNode():
            return fixed(len(node.entries))
    return None


def _is_scalar(given: CelType) -> bool:
    inner, is_optional = types.unwrap_optional(given)
    return _is_scalar(inner) if is_optional else given.kind in _SCALARS
