"""Catalogue of the built-in proposals, in the order of their numbers.

KEP-3094 is not among them: it is released in full, so `kep_3094.py` has no `PROPOSAL`, only what kube-scheduler makes
of its fields. Proposals of users come with the trains that bring them: see `loading.py`.
"""

from typing import Final

from mockkube.features.trains import PROPOSAL_TRAINS, ReleaseTrain
from mockkube.proposals import kep_5471, kep_5500, kep_5721
from mockkube.proposals.proposal import Proposal

PROPOSALS: Final[tuple[Proposal, ...]] = (
    kep_5471.PROPOSAL,
    kep_5500.PROPOSAL,
    kep_5721.PROPOSAL,
)

# Release trains of the built-in proposals, unless a cluster's configuration says otherwise.
TRAINS: Final[tuple[ReleaseTrain, ...]] = (
    *PROPOSAL_TRAINS,
    *(proposal.train for proposal in PROPOSALS if proposal.train is not None),
)


def all_proposals(trains: tuple[ReleaseTrain, ...]) -> tuple[Proposal, ...]:
    """Return the built-in proposals, and those of users that these trains bring."""
    return (*PROPOSALS, *(train.proposal for train in trains if train.proposal is not None))
