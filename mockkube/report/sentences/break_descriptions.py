"""Descriptions of broken invariants: what each means for pods and their users."""

from collections.abc import Iterable
from typing import Final

from mockkube.explore.exploration import OrderVerdict
from mockkube.explore.plans import invariants
from mockkube.explore.search import InvariantBreak

_SAID: Final = {
    invariants.TOLERATED_STAY: "running pods evicted or removed for taints that they tolerate",
    invariants.ADMITTED_SCHEDULABLE: "accepted pods stay Pending",
    invariants.BOUND_RUN: "pods rejected by their kubelet",
    invariants.FIELDS_KEPT: "fields lost",
    invariants.NO_HOT_LOOP: "pods created and lost in a hot loop",
    invariants.ROLLBACK_RESTORES: "running pods lost and not back at the end",
    invariants.REPLICAS_UP: "replicas missing",
}
# A pod that never ran loses less than one that did: readers judge the two cases differently.
_NEW: Final = "new pods evicted or removed as soon as they have a node, for taints that they tolerate"


def broken_invariants(one: OrderVerdict) -> list[str]:
    """Return the names of the invariants that an order breaks."""
    return list(dict.fromkeys(each.invariant for each in one.worst.breaks))


def describe_breaks(breaks: Iterable[InvariantBreak]) -> list[str]:
    """Return a description of each broken invariant, each once."""
    listed = list(breaks)
    running = any(one.ran for one in listed if one.invariant == invariants.TOLERATED_STAY)
    names = dict.fromkeys(one.invariant for one in listed)
    return [
        _NEW if name == invariants.TOLERATED_STAY and not running else _SAID.get(name, f"`{name}` does not hold")
        for name in names
    ]


def join_breaks(breaks: Iterable[InvariantBreak]) -> str:
    """Return the descriptions of broken invariants in one line."""
    return "; ".join(describe_breaks(breaks))
