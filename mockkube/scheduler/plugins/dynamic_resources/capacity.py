"""How much of a device's capacity a request takes, when several claims may share it.

upstream 1.36: dynamic-resource-allocation/structured/internal/experimental/consumable_capacity.go
"""

from collections.abc import Mapping
from decimal import Decimal

from mockkube.api.quantity import Format, Quantity, parse
from mockkube.api.types import ReadOnlyObject

Amounts = Mapping[str, Decimal]
Taken = Mapping[str, Quantity]


def taken_by(wanted: Taken, capacity: Mapping[str, ReadOnlyObject]) -> Taken:
    """Return what a request for these amounts takes of each capacity of a device, rounded as its policy has it."""
    return {name: _taken(wanted.get(name), one) for name, one in capacity.items()}


def fits(wanted: Taken, capacity: Mapping[str, ReadOnlyObject], used: Amounts, promised: Amounts) -> bool:
    """Whether a device has that left over, beside what is used and what has just been promised."""
    if not wanted.keys() <= capacity.keys():
        return False
    for name, one in capacity.items():
        taken = _taken(wanted.get(name), one)
        if _violates(taken.amount, one.get("requestPolicy")):
            return False
        if used.get(name, Decimal(0)) + promised.get(name, Decimal(0)) + taken.amount > _amount(one["value"]):
            return False
    return True


def _taken(wanted: Quantity | None, capacity: ReadOnlyObject) -> Quantity:
    policy = capacity.get("requestPolicy")
    if wanted is None:
        return parse(str((policy or {}).get("default", capacity["value"])))
    if policy is None:
        return wanted
    if "min" in (policy.get("validRange") or {}):
        return _rounded_up(wanted, policy["validRange"])
    larger = (one for value in policy.get("validValues") or () if (one := parse(str(value))) >= wanted)
    return next(larger, wanted)


def _rounded_up(wanted: Quantity, steps: ReadOnlyObject) -> Quantity:
    least = parse(str(steps["min"]))
    if wanted < least:
        return least
    if "step" not in steps:
        return wanted
    step = parse(str(steps["step"])).value()
    count = -(-(wanted.value() - least.value()) // step)
    return Quantity(Decimal(least.value() + step * count), Format.BINARY_SI)


def _violates(amount: Decimal, policy: ReadOnlyObject | None) -> bool:
    if policy is None or ("default" in policy and amount == _amount(policy["default"])):
        return False
    if (steps := policy.get("validRange")) is not None:
        return _outside(amount, steps)
    values = policy.get("validValues") or ()
    return bool(values) and all(amount != _amount(value) for value in values)


def _outside(amount: Decimal, steps: ReadOnlyObject) -> bool:
    if "max" in steps and amount > _amount(steps["max"]):
        return True
    if "step" not in steps:
        return False
    beyond = Quantity(amount).value() - parse(str(steps["min"])).value()
    return beyond % parse(str(steps["step"])).value() != 0


def _amount(text: object) -> Decimal:
    return parse(str(text)).amount
