"""Node: strategy, defaults and printer columns."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.catalogue import STATUS, Subresource
from mockkube.api.fields import FieldError
from mockkube.api.heartbeat_times import HeartbeatTimes, ItemTimes
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.node_validation import validate_node, validate_node_update
from mockkube.api.kinds.core.pod.options import is_feature_enabled
from mockkube.api.printers.accessors import name_of, section, sections, string, truth
from mockkube.api.printers.ages import UNKNOWN, format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, NONE, Cell, Printer, text_column, wide_column
from mockkube.api.quantities.rounding import round_up_resource_list
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.times import canonicalize_time
from mockkube.api.validation.addresses import STRICT_GATE, get_cidr_warnings
from mockkube.api.validation.metadata import validate_metadata
from mockkube.features.capabilities import Capabilities


def default_node(node: Object, caps: Capabilities) -> None:
    """Default allocatable to capacity."""
    status = node.setdefault("status", {})
    if "capacity" in status:
        status.setdefault("allocatable", dict(status["capacity"]))
    round_up_resource_list(status.get("capacity"))
    round_up_resource_list(status.get("allocatable"))
    _align_pod_cidrs(node.setdefault("spec", {}))


def _align_pod_cidrs(spec: Object) -> None:
    """Align `podCIDR` and `podCIDRs`; if they differ, `podCIDR` wins."""
    # upstream 1.36: pkg/apis/core/v1/conversion.go
    cidr, cidrs = spec.get("podCIDR"), spec.get("podCIDRs")
    if cidr and (not cidrs or cidrs[0] != cidr):
        spec["podCIDRs"] = [cidr]
    elif cidrs and not cidr and cidrs[0]:
        spec["podCIDR"] = cidrs[0]


class NodeStrategy(Strategy):
    """Strategy of Node; a node is created together with its status."""

    selectable_field_names = ("spec.unschedulable",)
    heartbeat_times: Mapping[str, HeartbeatTimes] = {
        "status": {"status": {"conditions": ItemTimes("type", {"lastHeartbeatTime": canonicalize_time})}}
    }

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Keep the submitted status, without removed fields and those of disabled gates."""
        # Dynamic kubelet configuration was removed in 1.26; only objects stored before still have these fields.
        obj.get("spec", {}).pop("configSource", None)
        obj.get("status", {}).pop("config", None)
        _drop_disabled_status_fields(obj.get("status", {}), context)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status, or on the status subresource the stored spec."""
        if context.subresource == "status":
            new["spec"] = old.get("spec", {})
            if "config" not in old.get("status", {}):
                new.get("status", {}).pop("config", None)
            return
        new["status"] = old.get("status", {})
        if "configSource" not in old.get("spec", {}):
            new.get("spec", {}).pop("configSource", None)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate taints, resources and address ranges."""
        return validate_node(obj, strict_addresses=is_feature_enabled(context.caps, STRICT_GATE))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the change and, except on the status subresource, the whole new node."""
        if context.subresource == "status":
            return validate_node_update(new, old)
        # The generic update has validated the metadata already; upstream's ValidateNodeUpdate does so again, and
        # reports its errors twice.
        errors = validate_metadata(new, names.check_dns_subdomain, False)
        errors += validate_node(new, strict_addresses=is_feature_enabled(context.caps, STRICT_GATE))
        return errors + validate_node_update(new, old)

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about fields without effect and about ambiguous CIDRs."""
        spec = obj.get("spec", {})
        warnings = []
        if "configSource" in spec:
            warnings.append("spec.configSource: the feature is removed")
        if spec.get("externalID"):
            warnings.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
        for i, value in enumerate(spec.get("podCIDRs", ())):
            warnings += get_cidr_warnings(value, f"spec.podCIDRs[{i}]")
        return warnings

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn as on creation; not of a status."""
        return [] if context.subresource == "status" else self.warnings_on_create(new, context)

    def selectable_fields(self, obj: ReadOnlyObject) -> Mapping[str, str]:
        """Return whether the node is unschedulable."""
        return {"spec.unschedulable": "true" if obj.get("spec", {}).get("unschedulable") else "false"}


def _drop_disabled_status_fields(status: Object, context: StrategyContext) -> None:
    """Drop fields of disabled gates from the status of a new node."""
    # Two features read runtimeHandlers, so the field goes only if both are off.
    if not is_feature_enabled(context.caps, "RecursiveReadOnlyMounts") and not is_feature_enabled(
        context.caps, "UserNamespacesSupport"
    ):
        status.pop("runtimeHandlers", None)
    for gate, field in (("SupplementalGroupsPolicy", "features"), ("NodeDeclaredFeatures", "declaredFeatures")):
        if not is_feature_enabled(context.caps, gate):
            status.pop(field, None)


ROLE_PREFIX = "node-role.kubernetes.io/"
ROLE_LABEL = "kubernetes.io/role"


def node_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Node."""
    info = section(obj, "status", "nodeInfo")
    kernel = string(info, "kernelVersion") or UNKNOWN
    architecture = string(info, "architecture")
    return [
        name_of(obj),
        _format_status(obj),
        _format_roles(obj),
        format_age(obj, now),
        string(info, "kubeletVersion"),
        _find_address(obj, "InternalIP"),
        _find_address(obj, "ExternalIP"),
        string(info, "osImage") or UNKNOWN,
        f"{kernel} ({architecture})" if architecture else kernel,
        string(info, "containerRuntimeVersion") or UNKNOWN,
    ]


def _format_status(obj: ReadOnlyObject) -> str:
    """Return the status of the last Ready condition, and SchedulingDisabled if cordoned."""
    ready = [condition for condition in sections(obj, "status", "conditions") if condition.get("type") == "Ready"]
    status = "Unknown"
    if ready:
        status = "Ready" if ready[-1].get("status") == "True" else "NotReady"
    return f"{status},SchedulingDisabled" if truth(obj, "spec", "unschedulable") else status


def _format_roles(obj: ReadOnlyObject) -> str:
    roles = set()
    for key, value in section(obj, "metadata", "labels").items():
        if key.startswith(ROLE_PREFIX):
            roles.add(key.removeprefix(ROLE_PREFIX))
        elif key == ROLE_LABEL:
            roles.add(str(value))
    return ",".join(sorted(roles - {""})) or NONE


def _find_address(obj: ReadOnlyObject, kind: str) -> str:
    addresses = sections(obj, "status", "addresses")
    return next((string(address, "address") for address in addresses if address.get("type") == kind), NONE)


NODE = Printer(
    (
        NAME_COLUMN,
        text_column("Status", "Whether the node is ready and schedulable."),
        text_column("Roles", "Roles of the node, from its labels."),
        AGE_COLUMN,
        text_column("Version", "Version of the kubelet."),
        wide_column("Internal-IP", "Address inside the cluster."),
        wide_column("External-IP", "External address."),
        wide_column("OS-Image", "Operating system."),
        wide_column("Kernel-Version", "Kernel and architecture."),
        wide_column("Container-Runtime", "Name and version of the container runtime."),
    ),
    node_cells,
)

KIND: Final = Kind(
    "",
    "Node",
    "nodes",
    namespaced=False,
    short_names=("no",),
    subresources=(Subresource("proxy", "NodeProxyOptions", ("create", "delete", "get", "patch", "update")), STATUS),
    strategy=lambda _: NodeStrategy(),
    defaults={"v1": default_node},
    printer=NODE,
)
