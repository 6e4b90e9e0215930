"""KEP-5500: tolerate the taints for which a CEL expression evaluates to true."""

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from mockkube.api.fields import FieldError, forbidden, invalid, too_long
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.proposals.proposal import Field, Proposal

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockkube_cel.environment import Compiled

GATE: Final = "TaintTolerationCEL"
FIELD: Final = "expression"
_EXCLUDED: Final = ("key", "value", "operator", "effect")
_NOT_ALONE: Final = "expression cannot be used with key, value, operator, or effect fields"
_GATE_OFF: Final = f"may not be set when the {GATE} feature gate is disabled"
_DESCRIPTION: Final = (
    "Expression is a CEL expression that evaluates whether this toleration matches a taint. It sees taint.key, "
    "taint.value and taint.effect, and must evaluate to a boolean value. It cannot be used with key, operator, value "
    "or effect."
)


def check(toleration: ReadOnlyObject, at: str) -> list[FieldError]:
    """Require an expression without other fields: not too long, of type bool, and never too expensive."""
    from mockkube.matching.cel.tolerations import EXPRESSION_BYTES_MAX, validate_compiled  # imports all of CEL

    here, expression = f"{at}.{FIELD}", toleration[FIELD]
    errors = [invalid(here, expression, _NOT_ALONE)] if any(toleration.get(name) for name in _EXCLUDED) else []
    if len(expression.encode(errors="surrogatepass")) > EXPRESSION_BYTES_MAX:
        return [*errors, too_long(here, EXPRESSION_BYTES_MAX)]  # and nobody compiles it
    return errors + validate_compiled(expression, compile_expression(expression), here)


def compile_expression(expression: str) -> "Compiled":
    """Return the compiled expression, from a cache of recent ones."""
    return _make_compiler()(expression)


@cache
def _make_compiler() -> "Callable[[str], Compiled]":
    from mockkube.matching.cel.tolerations import PROGRAMS_MAX, TAINT_ENVIRONMENT

    return lru_cache(PROGRAMS_MAX)(TAINT_ENVIRONMENT.compile)


def refuse(toleration: ReadOnlyObject, at: str) -> list[FieldError]:
    """Reject the field while its gate is off; the proposal gives no text for it."""
    return [forbidden(f"{at}.{FIELD}", _GATE_OFF)]


PROPOSAL: Final = Proposal(
    kep=5500,
    gate=GATE,
    toleration_fields={FIELD: Field({"type": "string", "description": _DESCRIPTION}, check, refuse)},
)
