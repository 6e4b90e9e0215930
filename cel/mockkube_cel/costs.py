"""Cost functions of calls: estimates from operand sizes, charges from actual values.

upstream 1.36: cel-go checker/cost.go and interpreter/runtimecost.go, apiserver/pkg/cel/library/cost.go
"""

import math
from collections.abc import Sequence
from typing import Any, Final

from mockkube_cel.declarations import CallEstimate, Charge, Estimate, SizedOperand
from mockkube_cel.sizes import LARGEST, ONE, REGEX_FACTOR, TRAVERSAL_FACTOR, Cost, Interval
from mockkube_cel.values import from_key, size_of

# Charged for nearly every call on a string: a look-up is cheaper than a multiplication of floats and a ceiling.
_TRAVERSAL_COSTS: Final = tuple(math.ceil(length * TRAVERSAL_FACTOR) for length in range(1024))


def traversal_cost(length: int) -> int:
    """Return the cost of reading that many characters."""
    return _TRAVERSAL_COSTS[length] if length < 1024 else math.ceil(length * TRAVERSAL_FACTOR)


UNIT_ESTIMATE: Final[CallEstimate] = CallEstimate(ONE)


def estimate_unit(operands: Sequence[SizedOperand]) -> CallEstimate:
    """Estimate a cost of 1 for any operands."""
    return UNIT_ESTIMATE


def charge_unit(args: Sequence[Any], result: Any) -> int:
    """Charge 1 for any operands."""
    return 1


def estimate_traversal(index: int = 0, walks: int = 1, *, keeps_size: bool = False) -> Estimate:
    """Estimate `walks` reads of an operand; with `keeps_size` the result is as large as the operand."""
    factor = walks * TRAVERSAL_FACTOR

    def estimate(operands: Sequence[SizedOperand]) -> CallEstimate:
        size = operands[index].size
        return CallEstimate(size.scale_by(factor), size if keeps_size else None)

    return estimate


def charge_traversal(index: int = 0, walks: int = 1) -> Charge:
    """Charge `walks` reads of an operand."""
    if walks == 1:
        return lambda args, result: traversal_cost(size_of(args[index]))
    return lambda args, result: math.ceil(size_of(args[index]) * walks * TRAVERSAL_FACTOR)


def _pattern_cost(subject: Interval, pattern: Interval) -> Cost:
    # One is added so that matching the empty string does not multiply the cost by zero.
    return (subject + ONE).scale_by(TRAVERSAL_FACTOR) * pattern.scale_by(REGEX_FACTOR)


def estimate_match(operands: Sequence[SizedOperand]) -> CallEstimate:
    """Estimate `matches`: the size of the string times the size of the pattern."""
    return CallEstimate(_pattern_cost(operands[0].size, operands[1].size))


def estimate_find(operands: Sequence[SizedOperand]) -> CallEstimate:
    """Estimate `find`: as `matches`, with a result at most as large as the string."""
    cost = _pattern_cost(operands[0].size, operands[1].size)
    return CallEstimate(cost, Interval(0, operands[0].size.max))


def charge_match(args: Sequence[Any], result: Any) -> int:
    """Charge `matches`: the size of the string times the size of the pattern."""
    return pattern_charge(size_of(args[0]), size_of(args[1]))


def pattern_charge(subject: int, pattern: int) -> int:
    """Return the charge for matching a string of one length with a pattern of another."""
    return traversal_cost(subject + 1) * math.ceil(pattern * REGEX_FACTOR)


def estimate_comparison(operands: Sequence[SizedOperand]) -> CallEstimate:
    """Estimate a comparison: reading the smaller of two operands."""
    least = min(operands[0].size.max, operands[1].size.max)
    return CallEstimate(Interval(1 if least > 0 else 0, least).scale_by(TRAVERSAL_FACTOR))


def charge_comparison(args: Sequence[Any], result: Any) -> int:
    """Charge a comparison: reading the smaller of two operands."""
    return traversal_cost(min(size_of(args[0]), size_of(args[1])))


def estimate_concatenation(operands: Sequence[SizedOperand]) -> CallEstimate:
    """Estimate joining two strings."""
    size = operands[0].size + operands[1].size
    return CallEstimate(size.scale_by(TRAVERSAL_FACTOR), size)


def charge_concatenation(args: Sequence[Any], result: Any) -> int:
    """Charge joining two strings."""
    return traversal_cost(size_of(args[0]) + size_of(args[1]))


def to_uint64(number: int) -> int:
    """Return the number as an unsigned 64-bit integer; negative numbers wrap around."""
    return number % (LARGEST + 1)


def charge_deep_traversal(value: Any) -> int:
    """Return the cost of traversing a value: strings by their bytes, rounded down, all else in it 1 each."""
    if type(value) is str:
        return int(len(value.encode(errors="surrogatepass")) * TRAVERSAL_FACTOR)
    if type(value) is bytes:
        return int(len(value) * TRAVERSAL_FACTOR)
    if isinstance(value, list):
        return sum(map(charge_deep_traversal, value))
    if isinstance(value, dict):
        return sum(charge_deep_traversal(from_key(key)) + charge_deep_traversal(item) for key, item in value.items())
    return 1
