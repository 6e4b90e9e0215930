"""Stages of a feature gate, and the lookup of the stage that applies at a version."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass


class Maturity(StrEnum):
    """Maturity of a feature, spelled as in upstream's tables."""

    PRE_ALPHA = "PreAlpha"  # known to the binary, but not available at this version
    ALPHA = "Alpha"
    BETA = "Beta"
    GA = "GA"
    DEPRECATED = "Deprecated"

    @property
    def metric(self) -> str:
        """Label of the stage in `kubernetes_feature_enabled`: upper case, empty for GA."""
        return "" if self is Maturity.GA else self.upper()


@dataclass(frozen=True, slots=True)
class GateStage:
    """Stage of a gate, from `version` until the next stage.

    `min_compatibility` is the minimum compatibility version from which on the stage applies.
    """

    version: Version
    maturity: Maturity
    default: bool
    locked: bool = False
    min_compatibility: Version | None = None


# The name that proposal files of users import.
Stage = GateStage

PRE_ALPHA: Final = GateStage(Version(0, 0), Maturity.PRE_ALPHA, False)


def stage_at(history: Sequence[GateStage], version: Version, minimum: Version) -> GateStage:
    """Return the stage that applies at a version that is compatible down to `minimum`.

    It is PRE_ALPHA before the first stage. A stage without a minimum inherits that of the stage before it.
    """
    current = PRE_ALPHA
    required: Version | None = None
    for stage in history:
        if stage.version > version:
            break
        required = stage.min_compatibility or required
        if required is None or minimum >= required:
            current = stage
    return current
