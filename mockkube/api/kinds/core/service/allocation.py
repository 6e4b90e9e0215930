"""Decide which cluster IPs and node ports a service needs, and fill in its IP families.

Pure functions: the allocators are in the registry, which first has the IP families filled in, then allocates what is
needed, all before the hooks of the strategy.

upstream 1.36: pkg/registry/core/service/storage/alloc.go
"""

from collections.abc import Sequence

from mockkube.api.fields import FieldError, invalid
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.service.addresses import validate_cluster_ips
from mockkube.api.validation.addresses import is_ipv6
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodePortRequest:
    """Request for the node port of one service port."""

    # Index in `spec.ports`.
    index: int
    # Requested node port; 0 for any.
    node_port: int
    # Index of an earlier port with the same number, whose node port is shared: a DNS server may have one number for TCP
    # and UDP.
    shared_with_index: int | None = None


def needs_cluster_ip(svc: ReadOnlyObject) -> bool:
    """Return whether services of this type have a cluster IP, which may be `None`."""
    return bool(svc["spec"].get("type") != "ExternalName")


def needs_node_ports(svc: ReadOnlyObject) -> bool:
    """Return whether node ports are allocated for ports that request none."""
    spec = svc["spec"]
    if spec.get("type") == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return bool(spec.get("type") == "NodePort")


def needs_health_check_port(svc: ReadOnlyObject) -> bool:
    """Return whether the service needs `spec.healthCheckNodePort`."""
    spec = svc["spec"]
    return bool(spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local")


def required_cluster_ips(svc: ReadOnlyObject, old: ReadOnlyObject | None = None) -> dict[str, str]:
    """Return the requested cluster IP of each family that needs one; empty for any."""
    # upstream 1.36: pkg/registry/core/service/storage/alloc.go, allocClusterIPs and updateClusterIPs
    spec = svc["spec"]
    ips, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    if not needs_cluster_ip(svc) or ips[:1] == ["None"]:
        return {}
    requested = {family: ips[index] if index < len(ips) else "" for index, family in enumerate(families)}
    if old is None or not needs_cluster_ip(old):
        return requested
    before = old["spec"].get("ipFamilies") or []
    upgraded = old["spec"].get("clusterIPs") != ["None"] and len(before) == 1 and len(families) == 2
    return {families[1]: requested[families[1]]} if upgraded else {}


def required_node_ports(svc: ReadOnlyObject, old: ReadOnlyObject | None = None) -> list[NodePortRequest]:
    """Return the node ports to allocate, in the order of the ports."""
    if svc["spec"].get("type") not in ("NodePort", "LoadBalancer"):
        return []
    return _node_ports_of_new(svc) if old is None else _node_ports_of_updated(svc, old)


def _node_ports_of_new(svc: ReadOnlyObject) -> list[NodePortRequest]:
    # upstream 1.36: pkg/registry/core/service/storage/alloc.go, initNodePorts
    ports = svc["spec"].get("ports") or []
    requests: list[NodePortRequest] = []
    first: dict[int, NodePortRequest] = {}
    given = {each.get("port"): each["nodePort"] for each in reversed(ports) if each.get("nodePort")}
    for index, port in enumerate(ports):
        number, node_port = port.get("port", 0), port.get("nodePort", 0)
        if not node_port and not needs_node_ports(svc):
            continue
        if number not in first:
            first[number] = NodePortRequest(index, given.get(number, 0))
            requests.append(first[number])
        elif not node_port:
            requests.append(NodePortRequest(index, 0, shared_with_index=first[number].index))
        elif node_port != first[number].node_port:
            requests.append(NodePortRequest(index, node_port))
    return requests


def _node_ports_of_updated(svc: ReadOnlyObject, old: ReadOnlyObject) -> list[NodePortRequest]:
    # upstream 1.36: pkg/registry/core/service/storage/alloc.go, updateNodePorts
    allocated = allocated_node_ports(old)
    requests = []
    for index, port in enumerate(svc["spec"].get("ports") or []):
        number = port.get("nodePort", 0)
        if number and number not in allocated:
            allocated.add(number)
            requests.append(NodePortRequest(index, number))
        elif not number and needs_node_ports(svc):
            requests.append(NodePortRequest(index, 0))
    return requests


def allocated_node_ports(svc: ReadOnlyObject) -> set[int]:
    """Return the node ports of a stored service, without its health check port."""
    return {port["nodePort"] for port in svc["spec"].get("ports") or [] if port.get("nodePort")}


def init_ip_families_for_create(svc: Object, families: Sequence[str]) -> list[FieldError]:
    """Fill in cluster IPs and families; `families` are the cluster's, in order."""
    spec = svc["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    return _init_ip_families(spec, {}, families)


def init_ip_families_for_update(svc: Object, old: ReadOnlyObject, families: Sequence[str]) -> list[FieldError]:
    """Restore allocated values that the update omits, then fill in families."""
    _patch_allocated_values(svc, old)
    spec, before = svc["spec"], old["spec"]
    if before.get("clusterIPs") and not spec.get("clusterIPs") and before.get("clusterIP") == spec.get("clusterIP"):
        spec["clusterIPs"] = before["clusterIPs"]
    # Old clients know only clusterIP, so a change of this field alone is carried over to clusterIPs.
    if before.get("clusterIP") != spec.get("clusterIP") and before.get("clusterIPs") == spec.get("clusterIPs"):
        if before.get("clusterIP") and not spec.get("clusterIP"):
            spec.pop("clusterIPs", None)
        else:
            spec["clusterIPs"] = [spec.get("clusterIP", "")]
    return _init_ip_families(spec, before, families)


def _patch_allocated_values(svc: Object, old: ReadOnlyObject) -> None:
    spec, before = svc["spec"], old["spec"]
    # Clients that PUT what they once created must not lose allocated values.
    if needs_cluster_ip(old) and needs_cluster_ip(svc):
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and before.get(name):
                spec[name] = before[name]
    if needs_node_ports(old) and needs_node_ports(svc):
        _keep_node_ports(spec, before)
    needs_port = needs_health_check_port(old) and needs_health_check_port(svc)
    if needs_port and before.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = spec.get("healthCheckNodePort") or before["healthCheckNodePort"]


def _keep_node_ports(spec: Object, before: ReadOnlyObject) -> None:
    ports, earlier = spec.get("ports") or [], before.get("ports") or []
    used = {port.get("nodePort") for port in ports} & {port.get("nodePort") for port in earlier}
    by_name = {port.get("name", ""): port.get("nodePort", 0) for port in earlier}
    for port in ports:
        number = by_name.get(port.get("name", ""), 0)
        if not port.get("nodePort") and number and number not in used:
            port["nodePort"] = number


def _init_ip_families(spec: Object, before: ReadOnlyObject, families: Sequence[str]) -> list[FieldError]:
    # upstream 1.36: pkg/registry/core/service/storage/alloc.go, initIPFamilyFields
    # A service that prefers dual-stack is not upgraded by an unrelated update, though the cluster may be dual-stack by
    # now.
    if spec.get("type") == "ExternalName" or _is_unchanged_prefer_dual_stack(spec, before):
        return []
    headless = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        default_policy = "RequireDualStack" if headless else "SingleStack"
        spec["ipFamilyPolicy"] = before.get("ipFamilyPolicy") or default_policy
    errors = validate_cluster_ips(spec, before)
    if errors:
        return errors
    if before:
        errors += _release_secondary_ip(spec, before)
    errors += _validate_single_stack(spec) + _infer_families_from_ips(spec, families)
    if errors:
        return errors
    return _default_ip_families(spec, families, headless=headless)


def _is_unchanged_prefer_dual_stack(spec: ReadOnlyObject, before: ReadOnlyObject) -> bool:
    """Return whether a PreferDualStack service is unchanged."""
    same = all(spec.get(name) == before.get(name) for name in ("clusterIP", "clusterIPs", "ipFamilies"))
    typed = before.get("type") == spec.get("type")
    preferring = spec.get("ipFamilyPolicy") == before.get("ipFamilyPolicy") == "PreferDualStack"
    return bool(before) and typed and preferring and same


def _release_secondary_ip(spec: Object, before: ReadOnlyObject) -> list[FieldError]:
    names = ("clusterIPs", "ipFamilies")
    if spec["ipFamilyPolicy"] == "SingleStack":
        for name in names:
            if len(spec.get(name) or []) > 1 and spec[name] == before.get(name):
                spec[name] = spec[name][:1]
        return []
    errors = []
    for name, what in zip(names, ("cluster IP", "IP family"), strict=True):
        new, old = spec.get(name) or [], before.get(name) or []
        if 0 < len(new) < len(old):
            detail = f"must be 'SingleStack' to release the secondary {what}"
            errors.append(invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], detail))
    return errors


def _validate_single_stack(spec: ReadOnlyObject) -> list[FieldError]:
    if spec["ipFamilyPolicy"] != "SingleStack":
        return []
    detail = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
    given = (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families"))
    return [
        invalid("spec.ipFamilyPolicy", "SingleStack", detail.format(what))
        for name, what in given
        if len(spec.get(name) or []) == 2
    ]


def _infer_families_from_ips(spec: Object, families: Sequence[str]) -> list[FieldError]:
    """Append the families of the given cluster IPs."""
    errors = []
    for index, ip in enumerate(spec.get("clusterIPs") or []):
        if ip == "None":
            break
        family = "IPv6" if is_ipv6(ip) else "IPv4"
        if index < len(spec.get("ipFamilies") or []):
            continue
        if family in families:
            spec["ipFamilies"] = [*(spec.get("ipFamilies") or []), family]
        else:
            detail = f"{family} is not configured on this cluster"
            errors.append(invalid(f"spec.clusterIPs[{index}]", spec["clusterIPs"], detail))
    return errors


def _default_ip_families(spec: Object, families: Sequence[str], *, headless: bool) -> list[FieldError]:
    given = list(spec.get("ipFamilies") or [])
    if not headless:
        errors = _validate_configured_families(spec, given, families)
        if errors:
            return errors
    given = given or [families[0]]
    # A headless service without selector may have endpoints of any family, whatever the cluster is configured for.
    if spec["ipFamilyPolicy"] != "SingleStack" and len(given) == 1 and (headless or len(families) == 2):
        given.append("IPv6" if given[0] == "IPv4" else "IPv4")
    spec["ipFamilies"] = given
    return []


def _validate_configured_families(
    spec: ReadOnlyObject, given: Sequence[str], families: Sequence[str]
) -> list[FieldError]:
    errors = []
    if spec["ipFamilyPolicy"] == "RequireDualStack" and len(families) < 2:
        detail = "this cluster is not configured for dual-stack services"
        errors.append(invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], detail))
    unknown = [(index, family) for index, family in enumerate(given) if family not in families]
    detail = "not configured on this cluster"
    return errors + [invalid(f"spec.ipFamilies[{index}]", family, detail) for index, family in unknown]
