"""Features a kubelet declares on its node, and pods ask of it.

upstream 1.36: staging/src/k8s.io/component-helpers/nodedeclaredfeatures
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

GATE: Final = "NodeDeclaredFeatures"
_SINCE: Final[Mapping[str, Version]] = {
    "DRANodeAllocatableResources": Version(1, 37),
    "DRAOptionalNodeOperations": Version(1, 37),
    "ExtendWebSocketsToKubelet": Version(1, 36),
    "InPlacePodLevelResourcesVerticalScaling": Version(1, 35),
    "InPlacePodVerticalScalingInitContainers": Version(1, 36),
    "InPlacePodVerticalScalingMemoryBackedVolumes": Version(1, 37),
    "RestartAllContainersOnContainerExits": Version(1, 35),
    "UserNamespacesHostNetworkSupport": Version(1, 36),
    "VolumeBindMountOptions": Version(1, 37),
}
"""Each is declared when the gate of its name is on. What they need of a container runtime, the simulated one has."""
_WITHOUT_GATE: Final = "GuaranteedQoSPodCPUResize"
"""In 1.35 alone: declared by every kubelet whose CPU manager has no policy."""


@dataclass(frozen=True, slots=True)
class FeatureRules:
    """What a kubelet of some version and gates declares and asks."""

    declares: bool = False
    """Whether it does either."""
    declared: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()

    @classmethod
    def of(cls, caps: Capabilities) -> "FeatureRules":
        """Return the rules of a kubelet."""
        known = [name for name, since in _SINCE.items() if caps.version >= since]
        declared = [name for name in known if caps.enabled(name)]
        if caps.version == Version(1, 35):
            declared.append(_WITHOUT_GATE)
        on = caps.enabled(GATE)
        return cls(on, tuple(sorted(declared)) if on else (), frozenset(known))

    def missing(self, pod: ReadOnlyObject) -> list[str]:
        """Return what a pod needs and this kubelet does not declare."""
        if not self.declares:
            return []
        return [name for name in _needed(pod["spec"]) if name in self.known and name not in self.declared]


def _needed(spec: ReadOnlyObject) -> Iterator[str]:
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    rules = (rule for one in containers for rule in one.get("restartPolicyRules") or ())
    if any(rule.get("action") == "RestartAllContainers" for rule in rules):
        yield "RestartAllContainersOnContainerExits"
    if spec.get("hostNetwork") and spec.get("hostUsers") is False:
        yield "UserNamespacesHostNetworkSupport"
    mounts = (mount for one in (*containers, *(spec.get("ephemeralContainers") or ())) for mount in
              one.get("volumeMounts") or ())  # fmt: skip
    if any(mount.get("bindMountOptions") for mount in mounts):
        yield "VolumeBindMountOptions"
