"""Intervals of sizes and costs, saturating at 64 bits, and the factors of the cost model.

upstream 1.36: cel-go checker/cost.go, common/cost.go
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mockkube_cel.types import CelType

LARGEST: Final = 2**64 - 1
# Cost per character of a string.
TRAVERSAL_FACTOR: Final = 0.1
# Cost per character of a pattern.
REGEX_FACTOR: Final = 0.25
LIST_COST: Final = 10
MAP_COST: Final = 30
STRUCT_COST: Final = 40


@dataclass(frozen=True, slots=True)
class Interval:
    """The range from `min` to `max` of a size in characters, bytes or entries, or of a cost."""

    min: int
    max: int

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(min(LARGEST, self.min + other.min), min(LARGEST, self.max + other.max))

    def __mul__(self, other: "Interval") -> "Interval":
        return Interval(min(LARGEST, self.min * other.min), min(LARGEST, self.max * other.max))

    def __or__(self, other: "Interval") -> "Interval":
        """Return the smallest interval that contains both."""
        return Interval(min(self.min, other.min), max(self.max, other.max))

    def scale_by(self, factor: float) -> "Interval":
        """Multiply by a factor, in double precision, and round up."""
        return Interval(_scale(self.min, factor), _scale(self.max, factor))


Size = Interval
Cost = Interval
# Names from a variable to a part of it. The path of a call's result is empty, and a path within it has no variable.
Path = tuple[str, ...]
# Returns the size of the value at a path and of a type; None if it is unknown.
SizeEstimator = Callable[[Path, "CelType"], Size | None]


def estimate_no_size(path: Path, kind: "CelType") -> Size | None:
    """Return None: no size is known."""
    return None


def known_sizes(sizes: Mapping[Path, Size]) -> SizeEstimator:
    """Return an estimator that knows the sizes at some paths."""
    return lambda path, kind: sizes.get(path)


def fixed(number: int) -> Interval:
    """Return the interval of one number."""
    return Interval(number, number)


ZERO: Final = fixed(0)
ONE: Final = fixed(1)
UNKNOWN: Final = Interval(0, LARGEST)


def _scale(number: int, factor: float) -> int:
    # Go computes in float64: large sizes lose their last digits there, and must lose the same here.
    exact = float(number)
    if exact > 0 and factor > 0 and exact > LARGEST / factor:
        return LARGEST
    rounded = math.ceil(exact * factor)
    return LARGEST if rounded >= 2**64 else rounded
