"""Rounding of the quantities in resource lists to thousandths."""

from decimal import MAX_PREC, ROUND_UP, Context, Decimal
from functools import lru_cache
from typing import Final

from mockkube.api.json_objects import Object
from mockkube.api.quantities.quantity import Quantity, parse

_MILLI: Final = Decimal("0.001")
_EXACT: Final = Context(prec=MAX_PREC)


def round_up_resource_list(amounts: Object | None) -> None:
    """Round the quantities of a resource list up to thousandths, in place."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, SetDefaults_ResourceList
    if amounts:
        for name, text in amounts.items():
            # Only these forms can be finer than a thousandth; parsing the others would be wasted on every pod.
            if text[-1] in "nu" or "." in text or "-" in text:
                amounts[name] = _round(text)


def round_up_resources(resources: Object | None) -> None:
    """Round the limits and requests of a container, pod or claim, in place."""
    if resources:
        round_up_resource_list(resources.get("limits"))
        round_up_resource_list(resources.get("requests"))


@lru_cache(maxsize=1024)
def _round(text: str) -> str:
    quantity = parse(text)
    exponent = quantity.amount.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -3:
        return Quantity(quantity.amount.quantize(_MILLI, ROUND_UP, _EXACT), quantity.format).text
    return text
