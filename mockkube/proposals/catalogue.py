"""Every proposal, in the order of its number; a proposal that is released in full has no module any more.

KEP-3094 (`nodeAffinityPolicy`, `nodeTaintsPolicy`) is GA and locked since 1.33: nothing of it is proposed.
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
"""How the proposals travel, unless a cluster's configuration says otherwise."""
