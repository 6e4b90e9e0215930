"""Nodes: cluster-scoped, created with a status, changed by their kubelet through it."""

# upstream 1.36: pkg/registry/core/node/strategy.go

from collections.abc import Mapping

from mockkube.api import names
from mockkube.api.fields import FieldError
from mockkube.api.kinds.core.node_validation import validate_node, validate_node_change
from mockkube.api.kinds.core.pod.options import is_on
from mockkube.api.strategy import Judge, Strategy
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.addresses import STRICT_GATE, cidr_warnings
from mockkube.api.validation.metadata import validate_metadata


class NodeStrategy(Strategy):
    """The rules of nodes."""

    selectable = ("spec.unschedulable",)

    def prepare_create(self, obj: Object, judge: Judge) -> None:
        """Keep the status the node came with, without what is no longer supported."""
        obj.get("spec", {}).pop("configSource", None)
        obj.get("status", {}).pop("config", None)
        _drop_disabled(obj.get("status", {}), judge)

    def prepare_update(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """Keep the status, or through the subresource the spec."""
        if judge.subresource == "status":
            new["spec"] = old.get("spec", {})
            if "config" not in old.get("status", {}):
                new.get("status", {}).pop("config", None)
            return
        new["status"] = old.get("status", {})
        if "configSource" not in old.get("spec", {}):
            new.get("spec", {}).pop("configSource", None)

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge taints, resources and address ranges."""
        return validate_node(obj, strict_addresses=is_on(judge.caps, STRICT_GATE))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge a change; through the main resource also the node it has become, metadata included."""
        if judge.subresource == "status":
            return validate_node_change(new, old)
        found = validate_metadata(new, names.dns_subdomain, False)
        found += validate_node(new, strict_addresses=is_on(judge.caps, STRICT_GATE))
        return found + validate_node_change(new, old)

    def warn_create(self, obj: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warn of fields without effect, and of ranges nobody should write like that."""
        spec = obj.get("spec", {})
        found = []
        if "configSource" in spec:
            found.append("spec.configSource: the feature is removed")
        if spec.get("externalID"):
            found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
        for i, value in enumerate(spec.get("podCIDRs", ())):
            found += cidr_warnings(value, f"spec.podCIDRs[{i}]")
        return found

    def warn_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warn as on creation; not of a status."""
        return [] if judge.subresource == "status" else self.warn_create(new, judge)

    def fields(self, obj: ReadOnlyObject) -> Mapping[str, str]:
        """Return whether the node takes new pods."""
        return {"spec.unschedulable": "true" if obj.get("spec", {}).get("unschedulable") else "false"}


def _drop_disabled(status: Object, judge: Judge) -> None:
    """Take out of a new node's status what the gates do not allow."""
    if not is_on(judge.caps, "RecursiveReadOnlyMounts") and not is_on(judge.caps, "UserNamespacesSupport"):
        status.pop("runtimeHandlers", None)
    for gate, field in (("SupplementalGroupsPolicy", "features"), ("NodeDeclaredFeatures", "declaredFeatures")):
        if not is_on(judge.caps, gate):
            status.pop(field, None)
