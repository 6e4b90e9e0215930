"""Quantity functions: parsing, comparison, arithmetic and conversion of `kubernetes.Quantity`.

upstream 1.36: apiserver/pkg/cel/library/quantity.go, apimachinery/pkg/api/resource
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from mockkube_cel import costs, types, values
from mockkube_cel.declarations import Function, Implementation, global_overload, member_overload
from mockkube_cel.types import BOOL, DOUBLE, INT, STRING, CelType
from mockkube_cel.values import CelError

from mockkube.api.quantities import quantity
from mockkube.api.quantities.quantity import Format, Quantity
from mockkube.lazy_dataclasses import dataclass

_QUANTITY: Final = types.struct("kubernetes.Quantity")
_NOT_INTEGER: Final = CelError("cannot convert value to integer")
_TEXT: Final = re.compile(r"[+-]?0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_SCALES: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_POWERS: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_INT64: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity; `scaled` is its number and power of ten while upstream holds it in 64 bits, else None."""

    quantity: Quantity
    scaled: tuple[int, int] | None

    def plus(self, other: "Amount") -> "Amount":
        """Return the sum."""
        return Amount(self.quantity + other.quantity, _add_scaled(self.scaled, other.scaled))

    def minus(self, other: "Amount") -> "Amount":
        """Return the difference."""
        negated = (-other.scaled[0], other.scaled[1]) if other.scaled else None
        return Amount(self.quantity - other.quantity, _add_scaled(self.scaled, negated))

    def compare(self, other: "Amount") -> int:
        """Return -1, 0 or 1."""
        return (self.quantity > other.quantity) - (self.quantity < other.quantity)

    def as_integer(self) -> int | None:
        """Return the integer, if upstream takes it for one: `1.0` and `1000m` are none."""
        if self.scaled is None or self.scaled[1] < 0:
            return None
        number = _multiply_by_power_of_ten(*self.scaled)
        return number if number is not None and number in _INT64 else None

    def as_float(self) -> float:
        """Return the approximate double."""
        if self.scaled is None:
            return float(self.quantity.amount)
        number, scale = self.scaled
        return float(number) * float(f"1e{scale}") if scale else float(number)


values.register_opaque_type(
    Amount, values.OpaqueType(_QUANTITY, "cel.Quantity", lambda one, other: one.quantity == other.quantity)
)


def _multiply_by_power_of_ten(number: int, power: int) -> int | None:
    """Return the number times a power of ten; None if that is far beyond 64 bits."""
    if number == 0:
        return 0
    return number * 10**power if power < 40 else None


def _add_scaled(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    if one is None or other is None:
        return None
    if other[0] == 0 or one[0] == 0:
        return one if other[0] == 0 else other
    scale = min(one[1], other[1])
    first, second = (
        _multiply_by_power_of_ten(one[0], one[1] - scale),
        _multiply_by_power_of_ten(other[0], other[1] - scale),
    )
    if first is None or second is None or first + second not in _INT64:
        return None
    return first + second, scale


def from_int(number: int) -> Amount:
    """Return the quantity of an integer."""
    return Amount(Quantity(Decimal(number), Format.DECIMAL_EXPONENT), (number, 0))


def parse(text: str) -> Any:
    """Compute `quantity(text)`."""
    try:
        # The API forgives spaces around a quantity, expressions do not.
        parsed = quantity.parse(text if text == text.strip() else "")
    except ValueError as error:
        return CelError(str(error))
    return Amount(parsed, _parse_scaled(text))


def _parse_scaled(text: str) -> tuple[int, int] | None:
    """Return number and power of ten if upstream parses this text on its 64-bit path, else None."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    whole, places, suffix = match[1] or "0", match[2] or "", match[3]
    sign = -1 if text.startswith("-") else 1
    if suffix in _BINARY_POWERS:
        power = _BINARY_POWERS[suffix]
        # upstream's own estimate of the digits of 2**power, which rejects some numbers that would fit.
        short = not places and 15 - len(whole) - int(power * 3 / 10) - 1 >= 0
        return (sign * int(whole) << power, 0) if short else None
    scale = _SCALES[suffix] if suffix in _SCALES else int(suffix[1:])
    scale -= len(places)
    # Numbers of 18 digits always fit 64 bits; upstream keeps nothing below a billionth.
    if len(whole) + len(places) > 18 or scale < -9:
        return None
    return sign * int(whole + places), scale


def _integer_or_error(amount: Amount) -> Any:
    number = amount.as_integer()
    return _NOT_INTEGER if number is None else number


def _declare_comparison(name: str, overload_id: str, result: CelType, run: Implementation) -> Function:
    return Function(
        name, (member_overload(overload_id, (_QUANTITY, _QUANTITY), result, run),), estimate=costs.estimate_unit
    )


def _declare_accessor(name: str, overload_id: str, result: CelType, run: Implementation) -> Function:
    return Function(name, (member_overload(overload_id, (_QUANTITY,), result, run),), estimate=costs.estimate_unit)


def _declare_arithmetic(name: str, compute: Callable[[Amount, Amount], Amount]) -> Function:
    return Function(
        name,
        (
            member_overload(f"quantity_{name}", (_QUANTITY, _QUANTITY), _QUANTITY, compute),
            member_overload(
                f"quantity_{name}_int", (_QUANTITY, INT), _QUANTITY, lambda one, number: compute(one, from_int(number))
            ),
        ),
        estimate=costs.estimate_unit,
    )


FUNCTIONS: Final = (
    Function(
        "quantity",
        (global_overload("string_to_quantity", (STRING,), _QUANTITY, parse),),
        estimate=costs.estimate_traversal(),
        charge=costs.charge_traversal(),
    ),
    Function(
        "isQuantity",
        (global_overload("is_quantity_string", (STRING,), BOOL, lambda text: type(parse(text)) is Amount),),
        estimate=costs.estimate_traversal(),
        charge=costs.charge_traversal(),
    ),
    Function(
        "sign",
        (global_overload("quantity_sign", (_QUANTITY,), INT, lambda amount: amount.quantity.sign),),
        estimate=costs.estimate_unit,
    ),
    _declare_comparison("isGreaterThan", "quantity_is_greater_than", BOOL, lambda one, other: one.compare(other) == 1),
    _declare_comparison("isLessThan", "quantity_is_less_than", BOOL, lambda one, other: one.compare(other) == -1),
    _declare_comparison("compareTo", "quantity_compare_to", INT, Amount.compare),
    _declare_accessor("asApproximateFloat", "quantity_get_float", DOUBLE, Amount.as_float),
    _declare_accessor("asInteger", "quantity_get_int", INT, _integer_or_error),
    _declare_accessor("isInteger", "quantity_is_integer", BOOL, lambda amount: amount.as_integer() is not None),
    _declare_arithmetic("add", Amount.plus),
    _declare_arithmetic("sub", Amount.minus),
)
