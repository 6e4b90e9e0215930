"""Declarations of functions: overloads, implementations and cost functions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mockkube_cel.sizes import UNKNOWN, Cost, Size
from mockkube_cel.types import CelType


@dataclass(frozen=True, slots=True)
class SizedOperand:
    """An operand in a cost estimate: its type, its size, that of its elements, its value if it is a constant."""

    type: CelType
    size: Size
    element_size: Size = UNKNOWN
    constant: Any = None


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """Estimated cost of a call without its operands, and the size of its result."""

    cost: Cost
    result: Size | None = None


# Estimates a call from its operands, the target first.
Estimate = Callable[[Sequence[SizedOperand]], CallEstimate]
# Returns the actual cost of a call, from its operands and its result.
Charge = Callable[[Sequence[Any], Any], int]
# Computes a call. It never sees an error as operand, unless it is lenient, and returns a `CelError` for failure.
Implementation = Callable[..., Any]


@dataclass(frozen=True, slots=True, eq=False)
class Overload:
    """One signature of a function.

    `run` is None where the function as a whole has one implementation. With `eager` the call stops at the first
    operand that fails; other calls evaluate all of them first.
    """

    id: str
    args: tuple[CelType, ...]
    result: CelType
    run: Implementation | None = None
    member: bool = False
    eager: bool = False
    estimate: Estimate | None = None
    charge: Charge | None = None
    params: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        names = {name for given in (*self.args, self.result) for name in _type_parameter_names(given)}
        # Computed once: the checker instantiates these parameters anew for every call of the function.
        object.__setattr__(self, "params", frozenset(names))


def _type_parameter_names(given: CelType) -> list[str]:
    if given.kind.name == "PARAM":
        return [given.name]
    return [name for inner in given.parameters for name in _type_parameter_names(inner)]


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function and its overloads, in the order in which they are tried.

    With `run` all overloads share one implementation, which checks the types itself. `guarded` means that an
    overload's own implementation is only called with values of its types. `charge` and `estimate` apply to all
    overloads without their own.
    """

    name: str
    overloads: tuple[Overload, ...]
    run: Implementation | None = None
    guarded: bool = True
    estimate: Estimate | None = None
    charge: Charge | None = None

    def merge(self, other: "Function") -> "Function":
        """Return one function with the overloads of both, and the costs of the one that has any."""
        return Function(
            self.name,
            self.overloads + other.overloads,
            self.run or other.run,
            self.guarded and other.guarded,
            self.estimate or other.estimate,
            self.charge or other.charge,
        )


def global_overload(
    overload_id: str, args: Sequence[CelType], result: CelType, run: Implementation | None = None
) -> Overload:
    """Declare an overload called as `f(x)`."""
    return Overload(overload_id, tuple(args), result, run)


def member_overload(
    overload_id: str, args: Sequence[CelType], result: CelType, run: Implementation | None = None
) -> Overload:
    """Declare an overload called as `x.f(y)`; the target is the first of `args`."""
    return Overload(overload_id, tuple(args), result, run, member=True)


def merge(libraries: Iterable[Iterable[Function]]) -> Mapping[str, Function]:
    """Return the functions of several libraries by name.

    The order of the libraries decides which overloads of a function are tried first.
    """
    functions: dict[str, Function] = {}
    for library in libraries:
        for function in library:
            known = functions.get(function.name)
            functions[function.name] = known.merge(function) if known else function
    return functions
