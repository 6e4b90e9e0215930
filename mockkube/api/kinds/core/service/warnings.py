"""Warnings about services."""

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.validation.addresses import get_cidr_warnings, get_ip_warnings
from mockkube.features.versions import Version

_HINTS = "service.kubernetes.io/topology-aware-hints"
_MODE = "service.kubernetes.io/topology-mode"
_EXTERNAL_IPS_DEPRECATED_SINCE = Version(1, 36)


def service_warnings(obj: ReadOnlyObject, version: Version) -> list[str]:
    """Return the warnings about a valid service."""
    # upstream 1.36: pkg/api/service/warnings.go
    spec = obj["spec"]
    external, is_external_name = spec.get("externalIPs") or [], spec.get("type") == "ExternalName"
    headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"
    warnings = []
    if _HINTS in (obj["metadata"].get("annotations") or {}):
        warnings.append(f"annotation {_HINTS} is deprecated, please use {_MODE} instead")
    if spec.get("clusterIP", "None") != "None":
        warnings += _each_ip_warnings(spec.get("clusterIPs") or [], "spec.clusterIPs")
    if headless:
        warnings += _headless_warnings(spec)
    warnings += _each_ip_warnings(external, "spec.externalIPs")
    if external and not headless and not is_external_name and version >= _EXTERNAL_IPS_DEPRECATED_SINCE:
        warnings.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    warnings += get_ip_warnings(spec.get("loadBalancerIP", ""), "spec.loadBalancerIP")
    for index, cidr in enumerate(spec.get("loadBalancerSourceRanges") or []):
        warnings += get_cidr_warnings(cidr, f"spec.loadBalancerSourceRanges[{index}]")
    if is_external_name and external:
        warnings.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if not is_external_name and spec.get("externalName"):
        warnings.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        warnings.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return warnings


def _headless_warnings(spec: ReadOnlyObject) -> list[str]:
    ignored = [name for name in ("loadBalancerIP", "externalIPs") if spec.get(name)]
    if spec.get("sessionAffinity") != "None":
        ignored.append("SessionAffinity")
    return [f"spec.{name} is ignored for headless services" for name in ignored]


def _each_ip_warnings(ips: list[str], at: str) -> list[str]:
    return [warning for index, ip in enumerate(ips) for warning in get_ip_warnings(ip, f"{at}[{index}]")]
