"""Release trains: how proposed features travel through the releases, and what if one took another train.

A train gives a gate its history. Those of proposals stand in PROPOSED; a cluster's configuration may replace them or
give a gate of upstream another history (`what if CEL went beta in 1.38?`).
"""

from dataclasses import dataclass
from typing import Final

from mockkube.features.stages import Maturity, Stage
from mockkube.features.versions import Version


@dataclass(frozen=True, slots=True)
class ReleaseTrain:
    """A gate, the other names it goes by, and its stages in order of version."""

    gate: str
    aliases: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ()

    def departed(self, release: Version) -> bool:
        """Whether a binary of that release has the code at all."""
        return bool(self.stages) and self.stages[0].version <= release


PROPOSED: Final = (
    # Neither proposal names a milestone. They extend the operators of KEP-5471, so they board where those did: a
    # component of 1.35 or later can be told to use them, one of 1.34 or earlier has never heard of any.
    ReleaseTrain(
        "TaintTolerationNodeAffinitySemverComparisonOperators",  # KEP-5721
        aliases=("TolerationAffinitySemverOperators",),
        stages=(Stage(Version(1, 35), Maturity.ALPHA, False),),
    ),
    ReleaseTrain("TaintTolerationCEL", stages=(Stage(Version(1, 35), Maturity.ALPHA, False),)),  # KEP-5500
)
