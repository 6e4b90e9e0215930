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
    "lost": "a field that users wrote and that is no longer stored, or not in the pods made of it",
    "loops": "a step in which pods were made over and over without end (a hot loop)",
    "refused": "an object for which kube-apiserver refused a pod in a step, however often its controller tried",
    "stuck": "an accepted pod without a node (Pending) when a step ends, which would have one if every component had "
    "changed",
    "missing": "a replica that is wanted and not ready when a step ends, and would be if every component had changed",
}
COUNTING_RULES: Final = (
    "All counts are added up over the steps of an order. `stuck` and `missing` are taken at the end of each step, so "
    "one pod that waits through four steps counts four times, and a pod that is stuck is also missing. A step with a "
    "hot loop is counted otherwise: one loop, and for `evicted`, `rejected` and `removed` each workload that it befell "
    "*once*, however many pods it was, for that depends on where the loop was cut off; `stuck` and `refused` do not "
    "count in it."
)
SAFE_MEANING: Final = (
    "An order is *safe* when no invariant breaks on any path that uses it, and something was tried in it. It was *not "
    "tried* when nothing was created, changed or restarted once a component had changed."
)


def list_weights() -> Sequence[tuple[str, str, str]]:
    """Return each kind of harm with its weight and its meaning."""
    return [(name, str(weight), HARM_MEANINGS[name]) for name, weight in WEIGHTS.items()]


def format_harm(harm: Harm) -> str:
    """Return the counts of harm in a line."""
    # The key is `loops`, but alone the word would not say which loops.
    words = [f"{count} {'hot loop' + 's' * (count > 1) if name == 'loops' else name}"
             for name, count in harm.nonzero_counts().items()]  # fmt: skip
    return ", ".join(words) or "none"


def list_invariants(plan: RolloutPlan) -> Sequence[tuple[str, str]]:
    """Return the invariants of a plan with their descriptions."""
    return [(one.name, INVARIANTS.get(one.name, "As the plan says.")) for one in plan.invariants]
