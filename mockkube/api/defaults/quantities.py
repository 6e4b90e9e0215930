"""Amounts finer than a thousandth are rounded up."""

from typing import Final

from mockkube.api.types import Object

_FINER: Final = {"n": 10**6, "u": 10**3}
"""How many of the unit make one thousandth."""


def round_up(amounts: Object | None) -> None:
    """Round the quantities of a resource list up to milli; they are canonical, so few need a closer look."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, SetDefaults_ResourceList
    if not amounts:
        return
    for name, text in amounts.items():
        if text[-1] in _FINER:
            amounts[name] = _in_milli(int(text[:-1]), _FINER[text[-1]])
        elif "e-" in text:
            digits, _, exponent = text.partition("e-")
            if int(exponent) > 3:
                amounts[name] = _in_exponents(int(digits), 10 ** (int(exponent) - 3))


def round_up_resources(resources: Object | None) -> None:
    """Round the limits and requests of a container, pod or claim."""
    if resources:
        round_up(resources.get("limits"))
        round_up(resources.get("requests"))


def _in_milli(amount: int, per_milli: int) -> str:
    milli = _away_from_zero(amount, per_milli)
    for suffix in ("m", "", "k", "M"):
        if milli % 1000:
            return f"{milli}{suffix}"
        milli //= 1000
    return f"{milli}G"


def _in_exponents(amount: int, per_milli: int) -> str:
    value, exponent = _away_from_zero(amount, per_milli), -3
    while value % 1000 == 0:
        value, exponent = value // 1000, exponent + 3
    return f"{value}e{exponent}" if exponent else str(value)


def _away_from_zero(amount: int, unit: int) -> int:
    whole = -(-abs(amount) // unit)
    return whole if amount > 0 else -whole
