"""Every proposal that is built in, in the order of its number; one that is released in full has no module any more.

KEP-3094 (`nodeAffinityPolicy`, `nodeTaintsPolicy`) is GA and locked since 1.33: nothing of it is proposed. Proposals
from outside come with the trains that bring them: see `outside.py`.
"""

from typing import Final

from mockkube.features.trains import PROPOSED, ReleaseTrain
from mockkube.proposals import kep_5471, kep_5500, kep_5721
from mockkube.proposals.proposal import Proposal

PROPOSALS: Final[tuple[Proposal, ...]] = (
    kep_5471.PROPOSAL,
    kep_5500.PROPOSAL,
    kep_5721.PROPOSAL,
)

TRAINS: Final[tuple[ReleaseTrain, ...]] = (
    *PROPOSED,
    *(proposal.train for proposal in PROPOSALS if proposal.train is not None),
)
"""How the built-in proposals travel, unless a cluster's configuration says otherwise."""


def proposals_on(trains: tuple[ReleaseTrain, ...]) -> tuple[Proposal, ...]:
    """Return the built-in proposals, and those from outside that these trains bring."""
    return (*PROPOSALS, *(train.brings for train in trains if train.brings is not None))
