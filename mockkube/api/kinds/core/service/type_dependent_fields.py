"""Drop fields that a service of its new type does not need."""

from typing import Any

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.service.addresses import is_externally_accessible


def drop_type_dependent_fields(new: Object, old: ReadOnlyObject) -> None:
    """Drop fields that only the old type needs, unless the update changes them."""
    # upstream 1.36: pkg/registry/core/service/strategy.go, dropTypeDependentFields
    spec, before = new["spec"], old["spec"]
    if before.get("type") != "ExternalName" and spec.get("type") == "ExternalName":
        _drop_addresses(spec, before)
    ported = ("NodePort", "LoadBalancer")
    # New node ports were set by the user and are left to validation, which rejects them.
    if before.get("type") in ported and spec.get("type") not in ported and _node_ports(before) >= _node_ports(spec):
        for port in spec.get("ports") or []:
            port.pop("nodePort", None)
    if _uses_health_check_port(before) and not _uses_health_check_port(spec):
        _drop_if_unchanged(spec, before, "healthCheckNodePort")
    if before.get("type") == "LoadBalancer" != spec.get("type"):
        _drop_if_unchanged(spec, before, "allocateLoadBalancerNodePorts")
        _drop_if_unchanged(spec, before, "loadBalancerClass")
    if is_externally_accessible(before) and not is_externally_accessible(spec):
        _drop_if_unchanged(spec, before, "externalTrafficPolicy")
    if spec.get("type") != "LoadBalancer" and (new.get("status") or {}).get("loadBalancer"):
        new["status"] = {**new["status"], "loadBalancer": {}}


def _drop_addresses(spec: Object, before: ReadOnlyObject) -> None:
    if all(spec.get(name) == before.get(name) for name in ("clusterIP", "clusterIPs")):
        spec.pop("clusterIP", None)
        spec.pop("clusterIPs", None)
    _drop_if_unchanged(spec, before, "ipFamilies")
    _drop_if_unchanged(spec, before, "ipFamilyPolicy")


def _drop_if_unchanged(spec: Object, before: ReadOnlyObject, name: str) -> None:
    if name in spec and spec[name] == before.get(name):
        del spec[name]


def _node_ports(spec: ReadOnlyObject) -> set[Any]:
    return {port["nodePort"] for port in spec.get("ports") or [] if port.get("nodePort")}


def _uses_health_check_port(spec: ReadOnlyObject) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
