"""Consumable capacity: how much of a shared device's capacity a request consumes.

upstream 1.36: dynamic-resource-allocation/structured/internal/experimental/consumable_capacity.go
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.quantity import Format, Quantity, parse
from mockkube.lazy_dataclasses import dataclass

Amounts = Mapping[str, Decimal]
ConsumedCapacity = Mapping[str, Quantity]
Capacity = Mapping[str, ReadOnlyObject]
NO_AMOUNTS: Final[Amounts] = {}
_WHOLE: Final = Quantity.value
_MILLI: Final = Quantity.milli


@dataclass(frozen=True, slots=True)
class ConsumableCapacity:
    """Rounds and compares amounts; with `fractions`, steps may be fractions of a unit."""

    fractions: bool = False

    def consumed_by(self, wanted: ConsumedCapacity, capacity: Capacity) -> ConsumedCapacity:
        """Return what a request consumes of each capacity of a device, rounded by the request policy."""
        return {name: self._consumed_amount(wanted.get(name), one) for name, one in capacity.items()}

    def fits(
        self, wanted: ConsumedCapacity, capacity: Capacity, used: Amounts = NO_AMOUNTS, promised: Amounts = NO_AMOUNTS
    ) -> bool:
        """Return whether a device has enough capacity left, beside what is used and what has just been promised."""
        # A device without one of the requested capacities can never serve the request.
        if not wanted.keys() <= capacity.keys():
            return False
        for name, one in capacity.items():
            taken = self._consumed_amount(wanted.get(name), one)
            if self._violates(taken.amount, one.get("requestPolicy")):
                return False
            if used.get(name, Decimal(0)) + promised.get(name, Decimal(0)) + taken.amount > _amount(one["value"]):
                return False
        return True

    def _consumed_amount(self, wanted: Quantity | None, capacity: ReadOnlyObject) -> Quantity:
        policy = capacity.get("requestPolicy")
        if wanted is None:
            # API: without a request the policy's default is consumed, and without a policy all of it.
            return parse(str((policy or {}).get("default", capacity["value"])))
        if policy is None:
            return wanted
        if "min" in (policy.get("validRange") or {}):
            return self._round_up(wanted, policy["validRange"])
        larger = (one for value in policy.get("validValues") or () if (one := parse(str(value))) >= wanted)
        # An amount above all valid values stays as it is, and is rejected as a violation afterwards.
        return next(larger, wanted)

    def _round_up(self, wanted: Quantity, steps: ReadOnlyObject) -> Quantity:
        least = parse(str(steps["min"]))
        if wanted < least:
            return least
        if "step" not in steps:
            return wanted
        step = parse(str(steps["step"]))
        unit, style = (_MILLI, step.format) if self._uses_fractions(steps) else (_WHOLE, Format.BINARY_SI)
        # Upstream computes in integers of units, or of thousandths where fractions are allowed.
        count = -(-(unit(wanted) - unit(least)) // unit(step))
        total = unit(least) + unit(step) * count
        return Quantity(Decimal(total) / 1000 if unit is _MILLI else Decimal(total), style)

    def _violates(self, amount: Decimal, policy: ReadOnlyObject | None) -> bool:
        if policy is None or ("default" in policy and amount == _amount(policy["default"])):
            return False
        if (steps := policy.get("validRange")) is not None:
            return self._is_outside_range(amount, steps)
        values = policy.get("validValues") or ()
        return bool(values) and all(amount != _amount(value) for value in values)

    def _is_outside_range(self, amount: Decimal, steps: ReadOnlyObject) -> bool:
        if "max" in steps and amount > _amount(steps["max"]):
            return True
        if "step" not in steps:
            return False
        unit = _MILLI if self._uses_fractions(steps) else _WHOLE
        beyond = unit(Quantity(amount)) - unit(parse(str(steps["min"])))
        return beyond % unit(parse(str(steps["step"]))) != 0

    def _uses_fractions(self, steps: ReadOnlyObject) -> bool:
        bounds = (parse(str(steps[name])) for name in ("min", "max", "step") if name in steps)
        return self.fractions and not all(bound.is_integer for bound in bounds)


def _amount(text: object) -> Decimal:
    return parse(str(text)).amount
