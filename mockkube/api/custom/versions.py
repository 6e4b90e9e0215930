"""The order of versions: stable before beta before alpha, the greater number first, other names last."""

# upstream 1.36: apimachinery/pkg/version/helpers.go

import re
from collections.abc import Iterable
from typing import Final

_VERSION: Final = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES: Final = {None: 2, "beta": 1, "alpha": 0}
Rank = tuple[int, int, int, int]


def rank(name: str) -> Rank:
    """What a version is compared by; the greater is preferred. Names that are no versions compare alike."""
    match = _VERSION.fullmatch(name)
    if match is None:
        return (0, 0, 0, 0)
    return (1, _STAGES[match[2]], int(match[1]), int(match[3] or 0))


def preferred_first(names: Iterable[str]) -> list[str]:
    """Return the versions in the order in which discovery prefers them."""
    return sorted(sorted(names), key=lambda name: tuple(-part for part in rank(name)))
