"""Order of API versions: stable before beta before alpha, higher numbers first, other names last."""

# upstream 1.36: apimachinery/pkg/version/helpers.go

import re
from collections.abc import Iterable
from typing import Final

_VERSION: Final = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES: Final = {None: 2, "beta": 1, "alpha": 0}
VersionRank = tuple[int, int, int, int]


def rank_version(name: str) -> VersionRank:
    """Return the sort key of a version; the greater one is preferred. Names that are no versions have equal keys."""
    match = _VERSION.fullmatch(name)
    if match is None:
        return (0, 0, 0, 0)
    return (1, _STAGES[match[2]], int(match[1]), int(match[3] or 0))


def sort_by_preference(names: Iterable[str]) -> list[str]:
    """Return the versions in discovery's order of preference."""
    return sorted(sorted(names), key=lambda name: tuple(-part for part in rank_version(name)))
