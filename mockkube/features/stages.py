"""Stages of a gate, and the stage in force at a version."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mockkube.features.versions import Version


class Maturity(StrEnum):
    """Maturity of a feature, spelled as in upstream's tables."""

    PRE_ALPHA = "PreAlpha"  # the gate is known, and comes later
    ALPHA = "Alpha"
    BETA = "Beta"
    GA = "GA"
    DEPRECATED = "Deprecated"

    @property
    def metric(self) -> str:
        """Stage label of `kubernetes_feature_enabled`: upper case, empty for GA."""
        return "" if self is Maturity.GA else self.upper()


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage that lasts from `version` to the next one; `minimum` is its minimum compatibility version."""

    version: Version
    maturity: Maturity
    default: bool
    locked: bool = False
    minimum: Version | None = None


PRE_ALPHA: Final = Stage(Version(0, 0), Maturity.PRE_ALPHA, False)


def stage_at(history: Sequence[Stage], version: Version, minimum: Version) -> Stage:
    """Return the stage in force at a version that stays compatible down to `minimum`; PRE_ALPHA before the first.

    A stage without a minimum of its own inherits that of the one before it.
    """
    found = PRE_ALPHA
    asked: Version | None = None
    for stage in history:
        if stage.version > version:
            break
        asked = stage.minimum or asked
        if asked is None or minimum >= asked:
            found = stage
    return found
