"""Node status fields that depend on a kubelet's version and gates, and inputs of a status report."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Final

from mockkube.api.json_objects import Object
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import Version
from mockkube.kubelet.admission.declared_features import DeclaredFeatureRules
from mockkube.lazy_dataclasses import dataclass

_RUNTIME_FEATURES: Final[Object] = {"recursiveReadOnlyMounts": True, "userNamespaces": True}


@dataclass(frozen=True, slots=True)
class NodeRules:
    """Node status fields that a kubelet of one version and set of gates writes."""

    version: Version
    reports_groups_policy: bool
    # Whether the status lists runtime handlers.
    reports_runtime_handlers: bool
    declared_feature_rules: DeclaredFeatureRules

    @classmethod
    def from_capabilities(cls, caps: Capabilities) -> "NodeRules":
        """Return the rules of a kubelet with these capabilities."""
        return cls(
            version=caps.version,
            reports_groups_policy=caps.enabled("SupplementalGroupsPolicy"),
            reports_runtime_handlers=caps.enabled("RecursiveReadOnlyMounts") or caps.enabled("UserNamespacesSupport"),
            declared_feature_rules=DeclaredFeatureRules.from_capabilities(caps),
        )

    @classmethod
    @cache
    def from_version(cls, version: Version) -> "NodeRules":
        """Return the rules of a kubelet with default gates."""
        return cls.from_capabilities(Capabilities(version, enabled_gates(version, {}, component="kubelet")))

    def feature_status(self) -> Object:
        """Return runtimeHandlers, features and declaredFeatures of the node's status."""
        status: Object = {}
        if self.reports_runtime_handlers:
            status["runtimeHandlers"] = [{"name": name, "features": _RUNTIME_FEATURES} for name in ("", "runc")]
        if self.reports_groups_policy:
            status["features"] = {"supplementalGroupsPolicy": True}
        if self.declared_feature_rules.declared:
            status["declaredFeatures"] = list(self.declared_feature_rules.declared)
        return status


@dataclass(frozen=True, slots=True)
class NodeStatusInput:
    """Inputs of a node status besides the node itself."""

    rules: NodeRules
    now: datetime
    # Whether unchanged conditions get a new heartbeat time.
    renews_heartbeat: bool
    node_number: int = 0
    images: Sequence[str] = ()
