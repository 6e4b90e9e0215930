"""Node status fields that depend on a kubelet's version and gates, and inputs of a status report."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final

from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import Version
from mockkube.kubelet.declared_features import FeatureRules

_ABILITIES: Final[Object] = {"recursiveReadOnlyMounts": True, "userNamespaces": True}


@dataclass(frozen=True, slots=True)
class NodeRules:
    """Node status fields that a kubelet of one version and set of gates writes."""

    version: Version
    groups_policy: bool
    # Whether the status lists runtime handlers.
    handlers: bool
    features: FeatureRules

    @classmethod
    def of(cls, caps: Capabilities) -> "NodeRules":
        """Return the rules of a kubelet with these capabilities."""
        return cls(
            version=caps.version,
            groups_policy=caps.enabled("SupplementalGroupsPolicy"),
            handlers=caps.enabled("RecursiveReadOnlyMounts") or caps.enabled("UserNamespacesSupport"),
            features=FeatureRules.of(caps),
        )

    @classmethod
    @cache
    def of_version(cls, version: Version) -> "NodeRules":
        """Return the rules of a kubelet with default gates."""
        return cls.of(Capabilities(version, enabled_gates(version, {}, component="kubelet")))

    def abilities(self) -> Object:
        """Return runtimeHandlers, features and declaredFeatures of the node's status."""
        status: Object = {}
        if self.handlers:
            status["runtimeHandlers"] = [{"name": name, "features": _ABILITIES} for name in ("", "runc")]
        if self.groups_policy:
            status["features"] = {"supplementalGroupsPolicy": True}
        if self.features.declared:
            status["declaredFeatures"] = list(self.features.declared)
        return status


@dataclass(frozen=True, slots=True)
class Report:
    """Inputs of a node status besides the node itself."""

    rules: NodeRules
    now: datetime
    # Whether unchanged conditions get a new heartbeat time.
    beat: bool
    place: int = 0
    images: Sequence[str] = ()
