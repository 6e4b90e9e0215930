"""KEP-5471: `Gt` and `Lt` in tolerations of pods and, from its Beta stage on, of devices."""

import operator
from collections.abc import Mapping
from typing import Final

from mockkube.api.fields import FieldError, invalid, not_supported
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.stages import Maturity
from mockkube.matching import integers, taints
from mockkube.proposals.proposal import Operator, Proposal

GATE: Final = "TaintTolerationComparisonOperators"
COMPARISONS: Final[Mapping[str, taints.ValueOperator]] = {
    "Gt": taints.make_comparison(integers.parse_canonical, operator.gt, "int64"),
    "Lt": taints.make_comparison(integers.parse_canonical, operator.lt, "int64"),
}


def check(toleration: ReadOnlyObject, at: str) -> list[FieldError]:
    """Require a 64-bit integer in canonical form."""
    value = toleration.get("value", "")
    return [invalid(f"{at}.value", value, text) for text in integers.validate_integer(value)]


def refuse(toleration: ReadOnlyObject, at: str) -> list[FieldError]:
    """Reject the operator while the gate is off; upstream lists it as supported nevertheless."""
    return [not_supported(f"{at}.operator", toleration["operator"], ("Equal", "Exists", "Lt", "Gt"))]


PROPOSAL: Final = Proposal(
    kep=5471,
    gate=GATE,
    tolerations={name: Operator(check, test, refuse) for name, test in COMPARISONS.items()},
    device_tolerations={name: Operator(check, test) for name, test in COMPARISONS.items()},
    devices_since=Maturity.BETA,
)
