"""Validate CEL selectors of devices with a compiler that is passed in."""

from collections.abc import Callable
from typing import Final

from mockkube.api.fields import FieldError, required, too_long
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.resource.device_fields import validate_items
from mockkube.api.strategy import StrategyContext

EXPRESSION_BYTES_MAX: Final = 10 * 1024
SELECTORS_MAX: Final = 32

# Validates an expression at a field path; the last argument tells that the expression is stored already. The compiler
# is passed in because this package must not import CEL.
ExpressionCheck = Callable[[str, str, StrategyContext, bool], list[FieldError]]


def accept_expression(expression: str, at: str, context: StrategyContext, stored: bool) -> list[FieldError]:
    """Accept every expression; used where no CEL compiler is available."""
    return []


def validate_selectors(
    selectors: list[ReadOnlyObject] | None,
    at: str,
    context: StrategyContext,
    check: ExpressionCheck,
    *,
    stored: bool = False,
) -> list[FieldError]:
    """Validate device selectors, which are CEL expressions."""

    def validate_selector(selector: ReadOnlyObject, here: str) -> list[FieldError]:
        if selector.get("cel") is None:
            return [required(f"{here}.cel")]
        expression = selector["cel"].get("expression", "")
        if len(expression.encode()) > EXPRESSION_BYTES_MAX:
            return [too_long(f"{here}.cel.expression", EXPRESSION_BYTES_MAX)]
        return check(expression, f"{here}.cel.expression", context, stored)

    return validate_items(selectors, at, validate_selector, items_max=SELECTORS_MAX)
