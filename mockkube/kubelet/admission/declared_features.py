"""Features that a kubelet declares in its node's status, and that pods may require.

upstream 1.36: staging/src/k8s.io/component-helpers/nodedeclaredfeatures
"""

from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.node_features import NodeFeature, known_features, needed_features

GATE: Final = "NodeDeclaredFeatures"
# Declared in 1.35 only, without a gate, by every kubelet whose CPU manager policy is none.
_UNGATED_FEATURE: Final = "GuaranteedQoSPodCPUResize"


@dataclass(frozen=True, slots=True)
class DeclaredFeatureRules:
    """Features that a kubelet of one version and set of gates declares and checks."""

    # Whether features are declared and checked at all.
    is_enabled: bool = False
    declared: tuple[str, ...] = ()
    known: tuple[NodeFeature, ...] = ()

    @classmethod
    def from_capabilities(cls, caps: Capabilities) -> "DeclaredFeatureRules":
        """Return the rules of a kubelet; the simulated container runtime supports every feature."""
        known = known_features(caps.version)
        declared = [feature.name for feature in known if caps.enabled(feature.name)]
        if caps.version == Version(1, 35):
            declared.append(_UNGATED_FEATURE)
        on = caps.enabled(GATE)
        return cls(on, tuple(sorted(declared)) if on else (), known)

    def find_missing(self, pod: ReadOnlyObject) -> list[str]:
        """Return features that a pod needs and this kubelet does not declare."""
        if not self.is_enabled:
            return []
        return [name for name in needed_features(pod["spec"], self.known) if name not in self.declared]
