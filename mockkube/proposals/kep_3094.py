"""KEP-3094: which nodes count for a topology spread constraint (`nodeAffinityPolicy`, `nodeTaintsPolicy`).

Both fields are released, GA and locked since 1.33. So the schemas have them, and `api/kinds/core/pod` validates them
and drops them while the gate is off. Here is what kube-scheduler makes of them; its plugin PodTopologySpread asks this
module.

upstream 1.36: pkg/scheduler/framework/plugins/podtopologyspread/common.go
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.matching.node_affinity import RequiredNodeAffinity
from mockkube.matching.taints import CompiledToleration, find_untolerated

GATE: Final = "NodeInclusionPolicyInPodTopologySpread"
_EFFECTS: Final = ("NoSchedule", "NoExecute")


class NodeInclusionPolicies(NamedTuple):
    """Inclusion policies of a constraint; without its fields it honors node affinity but no taints."""

    honors_affinity: bool = True
    honors_taints: bool = False

    @classmethod
    def from_constraint(cls, constraint: ReadOnlyObject) -> "NodeInclusionPolicies":
        """Return the policies of a constraint."""
        return cls(
            constraint.get("nodeAffinityPolicy", "Honor") == "Honor",
            constraint.get("nodeTaintsPolicy", "Ignore") == "Honor",
        )

    def include(
        self,
        labels: Mapping[str, str],
        name: str,
        taints: Sequence[ReadOnlyObject],
        affinity: RequiredNodeAffinity,
        tolerations: Sequence[CompiledToleration],
    ) -> bool:
        """Return whether a node counts for a pod with this affinity and these tolerations."""
        if self.honors_affinity and not affinity.matches(labels, name):
            return False
        return not (self.honors_taints and find_untolerated(taints, tolerations, _EFFECTS))


def are_policies_supported(caps: Capabilities) -> bool:
    """Return whether a scheduler supports the policies: always, unless a release train delays their gate."""
    return caps.enabled(GATE) or not caps.has_train(GATE)
