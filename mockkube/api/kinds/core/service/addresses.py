"""Validate cluster IPs and IP families of services."""

from typing import Final

from mockkube.api.fields import FieldError, duplicate, find_duplicate_indexes, invalid, not_supported, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.accessors import sections, string
from mockkube.api.validation.addresses import is_ipv6, validate_ip_for_legacy_field

FAMILIES: Final = ("IPv4", "IPv6")
FAMILY_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_MAY_NOT_CHANGE_DETAIL: Final = "may not change once set"


def is_headless(spec: ReadOnlyObject) -> bool:
    """Return whether the service is headless."""
    return spec.get("clusterIPs") == ["None"]


def is_externally_accessible(spec: ReadOnlyObject) -> bool:
    """Return whether the service is reachable from outside the cluster."""
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def validate_cluster_ips(spec: ReadOnlyObject, before: ReadOnlyObject, *, strict: bool = False) -> list[FieldError]:
    """Validate cluster IPs and IP families, each and together."""
    # upstream 1.36: pkg/apis/core/validation/validation.go, ValidateServiceClusterIPsRelatedFields
    if spec.get("type") == "ExternalName":
        return []
    ips = spec.get("clusterIPs") or []
    errors = _validate_primary_ip(spec, ips) + _validate_families(spec)
    ip_errors: list[FieldError] = []
    for index, ip in enumerate(ips):
        if index or ip != "None":
            stored = before.get("clusterIPs") or []
            ip_errors += validate_ip_for_legacy_field(ip, f"spec.clusterIPs[{index}]", strict=strict, stored=stored)
        elif len(ips) > 1:
            ip_errors.append(invalid("spec.clusterIPs", ips, "'None' must be the first and only value"))
    errors += ip_errors
    if len(ips) > 2:
        errors.append(invalid("spec.clusterIPs", ips, "may only hold up to 2 values"))
    # Families of malformed addresses are unknown.
    return errors if ip_errors else errors + _validate_ips_match_families(spec, ips)


def _validate_primary_ip(spec: ReadOnlyObject, ips: list[str]) -> list[FieldError]:
    if not spec.get("clusterIP"):
        detail = "must be empty when `clusterIP` is not specified"
        return [invalid("spec.clusterIPs", ips, detail)] if ips else []
    if not ips:
        return [required("spec.clusterIPs")]
    return (
        [] if ips[0] == spec["clusterIP"] else [invalid("spec.clusterIPs", ips, "first value must match `clusterIP`")]
    )


def _validate_families(spec: ReadOnlyObject) -> list[FieldError]:
    errors = []
    families = spec.get("ipFamilies") or []
    repeated = find_duplicate_indexes(families)
    for index, family in enumerate(families):
        if family not in FAMILIES:
            errors.append(not_supported(f"spec.ipFamilies[{index}]", family, FAMILIES))
        if index in repeated:
            errors.append(duplicate(f"spec.ipFamilies[{index}]", family))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in FAMILY_POLICIES:
        errors.append(not_supported("spec.ipFamilyPolicy", policy, FAMILY_POLICIES))
    return errors


def _validate_ips_match_families(spec: ReadOnlyObject, ips: list[str]) -> list[FieldError]:
    errors = []
    if len(ips) > 1 and len({is_ipv6(ip) for ip in ips}) < 2:
        errors.append(invalid("spec.clusterIPs", ips, "may specify no more than one IP for each IP family"))
    if is_headless(spec):
        return errors
    for index, (ip, family) in enumerate(zip(ips, spec.get("ipFamilies") or [], strict=False)):
        if family in FAMILIES and is_ipv6(ip) != (family == "IPv6"):
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errors.append(invalid(f"spec.clusterIPs[{index}]", ip, detail))
    return errors


def validate_cluster_ips_update(spec: ReadOnlyObject, before: ReadOnlyObject) -> list[FieldError]:
    """Reject a changed primary cluster IP; a secondary one may be added or released."""
    if "ExternalName" in (spec.get("type"), before.get("type")) or (is_headless(spec) and is_headless(before)):
        return []
    new, old = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    if len(new) == len(old):
        pairs = enumerate(zip(new, old, strict=True))
        return [invalid(f"spec.clusterIPs[{i}]", new, _MAY_NOT_CHANGE_DETAIL) for i, (ip, was) in pairs if ip != was]
    errors = []
    if not new:
        errors.append(invalid("spec.clusterIPs[0]", None, "primary clusterIP can not be unset"))
    elif old and new[0] != old[0]:
        errors.append(invalid("spec.clusterIPs[0]", new, _MAY_NOT_CHANGE_DETAIL))
    if len(old) > len(new) == 1:
        errors += _validate_release(spec, "clusterIP")
    return errors


def validate_ip_families_update(spec: ReadOnlyObject, before: ReadOnlyObject) -> list[FieldError]:
    """Reject a changed primary IP family; a secondary one may be added or released."""
    # Families of headless services are not backed by allocated addresses, so they may change freely.
    if "ExternalName" in (spec.get("type"), before.get("type")) or is_headless(spec) or is_headless(before):
        return []
    new, old = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
    ips = spec.get("clusterIPs")
    if len(new) == len(old):
        changed = [family for family, was in zip(new, old, strict=True) if family != was]
        return [invalid("spec.ipFamilies[0]", new, _MAY_NOT_CHANGE_DETAIL) for _ in changed]
    errors = []
    if len(old) > len(new) and not ips:
        errors.append(invalid("spec.ipFamilies[0]", new or None, "primary ipFamily can not be unset"))
    if new and old and new[0] != old[0]:
        # Upstream prints the cluster IPs as the bad value, not the families.
        errors.append(invalid("spec.ipFamilies[0]", ips, _MAY_NOT_CHANGE_DETAIL))
    if len(old) > len(new) == 1:
        errors += _validate_release(spec, "ipFamily")
    return errors


def _validate_release(spec: ReadOnlyObject, what: str) -> list[FieldError]:
    # With another policy the next update would allocate the released address again.
    policy = spec.get("ipFamilyPolicy")
    if policy == "SingleStack":
        return []
    return [invalid("spec.ipFamilyPolicy", policy, f"must be set to 'SingleStack' when releasing the secondary {what}")]


def load_balancer_addresses(obj: ReadOnlyObject) -> list[str]:
    """Return the distinct addresses of the load balancer, sorted."""
    ingress = sections(obj, "status", "loadBalancer", "ingress")
    return sorted({string(item, "ip") or string(item, "hostname") for item in ingress} - {""})
