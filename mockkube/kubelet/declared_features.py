"""Features a kubelet declares on its node, and pods ask of it.

upstream 1.36: staging/src/k8s.io/component-helpers/nodedeclaredfeatures
"""

from dataclasses import dataclass
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.matching.node_features import NodeFeature, known_features, needed_features

GATE: Final = "NodeDeclaredFeatures"
_WITHOUT_GATE: Final = "GuaranteedQoSPodCPUResize"
"""In 1.35 alone: declared by every kubelet whose CPU manager has no policy."""


@dataclass(frozen=True, slots=True)
class FeatureRules:
    """What a kubelet of some version and gates declares and asks."""

    declares: bool = False
    """Whether it does either."""
    declared: tuple[str, ...] = ()
    known: tuple[NodeFeature, ...] = ()

    @classmethod
    def of(cls, caps: Capabilities) -> "FeatureRules":
        """Return the rules of a kubelet: what features need of a container runtime, the simulated one has."""
        known = known_features(caps.version)
        declared = [feature.name for feature in known if caps.enabled(feature.name)]
        if caps.version == Version(1, 35):
            declared.append(_WITHOUT_GATE)
        on = caps.enabled(GATE)
        return cls(on, tuple(sorted(declared)) if on else (), known)

    def missing(self, pod: ReadOnlyObject) -> list[str]:
        """Return what a pod needs and this kubelet does not declare."""
        if not self.declares:
            return []
        return [name for name in needed_features(pod["spec"], self.known) if name not in self.declared]
