"""KEP-5721: compare semantic versions in tolerations, and in node affinity of pods and persistent volumes."""

import operator
from collections.abc import Mapping
from typing import Final

from mockkube.api.fields import FieldError, invalid, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.matching import semver, taints
from mockkube.proposals.proposal import Operator, Proposal

GATE: Final = "TaintTolerationNodeAffinitySemverComparisonOperators"
COMPARISONS: Final[Mapping[str, taints.ValueOperator]] = {
    "SemverGt": taints.make_comparison(semver.parse_tolerant, operator.gt, "semantic version"),
    "SemverLt": taints.make_comparison(semver.parse_tolerant, operator.lt, "semantic version"),
    "SemverEq": taints.make_comparison(semver.parse_tolerant, operator.eq, "semantic version"),
}
_ONE_VALUE: Final = "must be specified single value when `operator` is 'SemverLt' or 'SemverGt' or 'SemverEq'"


def check_toleration(toleration: ReadOnlyObject, at: str) -> list[FieldError]:
    """Require a version that parses tolerantly."""
    return _validate_version(toleration.get("value", ""), f"{at}.value")


def check_requirement(requirement: ReadOnlyObject, at: str) -> list[FieldError]:
    """Require exactly one value, which is a version."""
    values = requirement.get("values", ())
    errors = [] if len(values) == 1 else [required(f"{at}.values", _ONE_VALUE)]
    # The proposal's code reports the path of the list, its example that of the value; users see what the example shows.
    return errors + [error for i, value in enumerate(values) for error in _validate_version(value, f"{at}.values[{i}]")]


def _validate_version(text: str, at: str) -> list[FieldError]:
    try:
        semver.parse_tolerant(text)
    except semver.SemverError as error:
        return [invalid(at, text, str(error))]
    return []


PROPOSAL: Final = Proposal(
    kep=5721,
    gate=GATE,
    tolerations={name: Operator(check_toleration, test) for name, test in COMPARISONS.items()},
    node_selectors={name: Operator(check_requirement, test) for name, test in COMPARISONS.items()},
)
