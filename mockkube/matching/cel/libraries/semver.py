"""Semantic version functions: parsing, comparison and parts of `kubernetes.Semver`.

upstream 1.36: apiserver/pkg/cel/library/semverlib.go
"""

from collections.abc import Callable
from typing import Any, Final

from mockkube_cel import costs, types, values
from mockkube_cel.declarations import Function, Implementation, global_overload, member_overload
from mockkube_cel.types import BOOL, INT, STRING, CelType
from mockkube_cel.values import CelError

from mockkube.matching import semver
from mockkube.matching.semver import SemanticVersion

_SEMVER: Final = types.struct("kubernetes.Semver")
values.register_opaque_type(SemanticVersion, values.OpaqueType(_SEMVER, "cel.Semver", lambda one, other: one == other))


def _to_int64(number: int) -> int:
    """Return a uint64 converted to Go's int64."""
    return number if number < 2**63 else number - 2**64


def _parse_or_error(text: str, *, normalize: bool = False) -> Any:
    try:
        return semver.parse_normalized(text) if normalize else semver.parse(text)
    except semver.SemverError as error:
        return CelError(str(error))


def _declare_accessor(name: str, read: Callable[[SemanticVersion], int]) -> Function:
    overload = member_overload(f"semver_{name}", (_SEMVER,), INT, lambda version: _to_int64(read(version)))
    return Function(name, (overload,), estimate=costs.estimate_unit)


def _declare_comparison(name: str, overload_id: str, result: CelType, run: Implementation) -> Function:
    return Function(
        name, (member_overload(overload_id, (_SEMVER, _SEMVER), result, run),), estimate=costs.estimate_unit
    )


FUNCTIONS: Final = (
    Function(
        "semver",
        (
            global_overload("string_to_semver", (STRING,), _SEMVER, _parse_or_error),
            global_overload(
                "string_bool_to_semver",
                (STRING, BOOL),
                _SEMVER,
                lambda text, flag: _parse_or_error(text, normalize=flag),
            ),
        ),
        estimate=costs.estimate_traversal(),
        charge=costs.charge_traversal(),
    ),
    Function(
        "isSemver",
        (
            global_overload(
                "is_semver_string", (STRING,), BOOL, lambda text: type(_parse_or_error(text)) is SemanticVersion
            ),
            global_overload(
                "is_semver_string_bool",
                (STRING, BOOL),
                BOOL,
                lambda text, flag: type(_parse_or_error(text, normalize=flag)) is SemanticVersion,
            ),
        ),
        estimate=costs.estimate_traversal(),
        charge=costs.charge_traversal(),
    ),
    _declare_comparison("isGreaterThan", "semver_is_greater_than", BOOL, lambda one, other: one > other),
    _declare_comparison("isLessThan", "semver_is_less_than", BOOL, lambda one, other: one < other),
    _declare_comparison("compareTo", "semver_compare_to", INT, lambda one, other: one.compare(other)),
    _declare_accessor("major", lambda version: version.major),
    _declare_accessor("minor", lambda version: version.minor),
    _declare_accessor("patch", lambda version: version.patch),
)
