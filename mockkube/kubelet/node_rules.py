"""What a kubelet of some version and gates says of its node, and what else a report is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final

from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import effective
from mockkube.features.versions import Version
from mockkube.kubelet.declared_features import FeatureRules

_ABILITIES: Final[Object] = {"recursiveReadOnlyMounts": True, "userNamespaces": True}


@dataclass(frozen=True, slots=True)
class NodeRules:
    """What a kubelet of some version and gates says of its node."""

    version: Version
    groups_policy: bool
    handlers: bool
    """Whether it tells what its container runtimes can do."""
    features: FeatureRules

    @classmethod
    def of(cls, caps: Capabilities) -> "NodeRules":
        """Return the rules of a kubelet."""
        return cls(
            version=caps.version,
            groups_policy=caps.enabled("SupplementalGroupsPolicy"),
            handlers=caps.enabled("RecursiveReadOnlyMounts") or caps.enabled("UserNamespacesSupport"),
            features=FeatureRules.of(caps),
        )

    @classmethod
    @cache
    def of_version(cls, version: Version) -> "NodeRules":
        """Return the rules of a kubelet whose gates nobody has set."""
        return cls.of(Capabilities(version, effective(version, {}, component="kubelet")))

    def abilities(self) -> Object:
        """Return what the status says the node is able to."""
        said: Object = {}
        if self.handlers:
            said["runtimeHandlers"] = [{"name": name, "features": _ABILITIES} for name in ("", "runc")]
        if self.groups_policy:
            said["features"] = {"supplementalGroupsPolicy": True}
        if self.features.declared:
            said["declaredFeatures"] = list(self.features.declared)
        return said


@dataclass(frozen=True, slots=True)
class Report:
    """What a status is made of besides the node."""

    rules: NodeRules
    now: datetime
    beat: bool
    """Whether the conditions are told again though nothing has changed."""
    place: int = 0
    images: Sequence[str] = ()
