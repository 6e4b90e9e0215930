"""KEP-5471: what is still proposed of it. `Gt` and `Lt` in the tolerations of devices, from its Beta stage on.

The rest is released: tolerations of pods are judged in `api/validation/tolerations.py`, matched in `matching`.
"""

from typing import Final

from mockkube.api.fields import FieldError, invalid, not_supported
from mockkube.api.types import ReadOnlyObject
from mockkube.features.stages import Maturity
from mockkube.matching import integers, taints
from mockkube.proposals.proposal import Operator, Proposal


def check(toleration: ReadOnlyObject, at: str) -> list[FieldError]:
    """Ask for an integer in its one canonical form, as pods are asked."""
    value = toleration.get("value", "")
    return [invalid(f"{at}.value", value, text) for text in integers.integer_errors(value)]


def refuse(toleration: ReadOnlyObject, at: str) -> list[FieldError]:
    """Refuse the operator as released code does that never heard of it."""
    return [not_supported(f"{at}.operator", toleration["operator"], ("Equal", "Exists"))]


PROPOSAL: Final = Proposal(
    kep=5471,
    gate=taints.NUMERIC_GATE,
    since=Maturity.BETA,
    device_tolerations={name: Operator(check, test, refuse) for name, test in taints.NUMERIC.items()},
)
