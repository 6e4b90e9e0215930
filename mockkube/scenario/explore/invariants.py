"""The invariants there are: what must hold in a rollout, in words. What breaks one, `observing` sees."""

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

INVARIANTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        TOLERATED_STAY: "No pod is evicted or taken away for a taint that its owner's manifest tolerates.",
        ADMITTED_SCHEDULABLE: "No accepted pod stays Pending that would be scheduled if every component had changed.",
        BOUND_RUN: "No pod that has a node is refused by its kubelet.",
        FIELDS_KEPT: "No field that users wrote disappears from what is stored, or from the pods made of it.",
        NO_HOT_LOOP: "No controller makes pods over and over.",
        ROLLBACK_RESTORES: "What ran before the rollback runs after it, unless the plan itself deleted it.",
        REPLICAS_UP: "When all components have changed, every workload has all its pods ready.",
    }
)
"""In the order in which they are told."""
