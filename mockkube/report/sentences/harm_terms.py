"""Definitions of harm: what is counted, when, and with which weight."""

from collections.abc import Mapping, Sequence
from typing import Final

from mockkube.explore.harm import WEIGHTS, Harm
from mockkube.explore.plans.invariants import INVARIANTS
from mockkube.explore.plans.plan import RolloutPlan

HARM_MEANINGS: Final[Mapping[str, str]] = {
    "evicted": "a pod deleted by the taint eviction of kube-controller-manager for a taint that its manifest tolerates",
    "rejected": "a pod that its kubelet sets to Failed at admission (also when the kubelet restarts) and would admit "
    "if it had changed",
    "removed": "a pod that the DaemonSet controller deletes and would keep if it had changed",
    "lost": "a field that users wrote and that is no longer stored, or not in the pods created from it",
    "loops": "a move in which a controller kept creating pods without end (a hot loop)",
    "refused": "a workload whose pod was rejected by kube-apiserver in a move (counted once per workload and move)",
    "stuck": "an accepted pod without a node (Pending) when a move ends, which would have one if every component had "
    "changed",
    "missing": "a replica that is wanted and not ready when a move ends, and would be if every component had changed",
}
COUNTING_RULES: Final = (
    "A move is the change of one component, with the disturbances and pauses that follow. All counts are added up over "
    "the moves of an order. `stuck` and `missing` are counted at the end of each move, so "
    "one pod that waits through four moves counts four times, and a pod that is stuck is also missing. In a move with "
    "a hot loop, the number of pods depends on when the loop was stopped. Such a move counts as one loop, and each "
    "affected workload counts *once* for `evicted`, `rejected` and `removed`; `stuck` and `refused` are not counted."
)
# Added to a lost field that users could have kept by waiting.
WRITTEN_TOO_EARLY: Final = (
    "Users wrote it before kube-apiserver had changed, as before the rollout. Do they wait? "
    "Then give the plan `workloadAfter: kube-apiserver`."
)
# Description of an invariant that only the plan has.
OWN_INVARIANT: Final = "Defined in the plan (see `invariants`)."
SAFE_MEANING: Final = (
    "An order is *safe* when no invariant breaks on any path that uses it, and at least one object was created, "
    "changed or restarted after the first change. It was *not tried* when no object was."
)


def list_weights() -> Sequence[tuple[str, str, str]]:
    """Return each kind of harm with its weight and its meaning."""
    return [(name, str(weight), HARM_MEANINGS[name]) for name, weight in WEIGHTS.items()]


def format_harm_name(name: str) -> str:
    """Return the name of a kind of harm: the key is `loops`, but alone the word would not say which loops."""
    return "hot loops" if name == "loops" else name


def format_harm(harm: Harm) -> str:
    """Return the counts of harm in a line."""
    # The key is `loops`, but alone the word would not say which loops.
    words = [f"{count} {'hot loop' + 's' * (count > 1) if name == 'loops' else name}"
             for name, count in harm.nonzero_counts().items()]  # fmt: skip
    return ", ".join(words) or "none"


def list_invariants(plan: RolloutPlan) -> Sequence[tuple[str, str]]:
    """Return the invariants of a plan with their descriptions."""
    return [(one.name, INVARIANTS.get(one.name, OWN_INVARIANT)) for one in plan.invariants]
