"""Invariants of a rollout, in words. Observations and the harm judge find what breaks them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

TOLERATED_STAY: Final = "tolerated-pods-stay"
ADMITTED_SCHEDULABLE: Final = "admitted-pods-schedulable"
BOUND_RUN: Final = "bound-pods-run"
FIELDS_KEPT: Final = "fields-kept"
NO_HOT_LOOP: Final = "no-hot-loop"
ROLLBACK_RESTORES: Final = "rollback-restores"
REPLICAS_UP: Final = "replicas-up"

# In the order of reports.
INVARIANTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        TOLERATED_STAY: "No pod is evicted or removed for a taint that the manifest of its owner tolerates.",
        ADMITTED_SCHEDULABLE: "No accepted pod stays Pending that would be scheduled if every component had changed.",
        BOUND_RUN: "No kubelet rejects a pod that it would admit if every component had changed.",
        FIELDS_KEPT: "No field that users wrote disappears from the stored object, or from the pods created from it.",
        NO_HOT_LOOP: "No controller creates pods in a hot loop.",
        ROLLBACK_RESTORES: "Pods that ran before the rollback run after it, unless the plan deleted them.",
        REPLICAS_UP: "No workload lacks pods at the end of a move that it would have if every component had changed.",
    }
)
# Invariant that an observation of harm breaks, by its kind.
INVARIANT_OF_OBSERVATION: Final[Mapping[str, str]] = MappingProxyType(
    {"evicted": TOLERATED_STAY, "removed": TOLERATED_STAY, "rejected": BOUND_RUN, "lost": FIELDS_KEPT}
)
# Invariant that each count of harm belongs to.
INVARIANT_OF_COUNT: Final[Mapping[str, str]] = MappingProxyType(
    {
        **INVARIANT_OF_OBSERVATION,
        "loops": NO_HOT_LOOP,
        "refused": REPLICAS_UP,
        "missing": REPLICAS_UP,
        "stuck": ADMITTED_SCHEDULABLE,
    }
)
