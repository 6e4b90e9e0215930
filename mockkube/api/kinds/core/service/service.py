"""Service: strategy, defaults and validation.

Cluster IPs and IP families are validated in `addresses.py`, allocated values are requested in `allocation.py`.
"""

from typing import Any, Final

from mockkube.api import names
from mockkube.api.catalogue import STATUS, Subresource
from mockkube.api.fields import FieldError, duplicate, forbidden, invalid, map_entry_path, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.endpoints import PROTOCOLS
from mockkube.api.kinds.core.service import addresses
from mockkube.api.kinds.core.service.printer import SERVICE
from mockkube.api.kinds.core.service.type_dependent_fields import drop_type_dependent_fields
from mockkube.api.kinds.core.service.warnings import service_warnings
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.validation.addresses import (
    STRICT_GATE,
    get_ip_warnings,
    parse_ip,
    validate_cidr_for_legacy_field,
    validate_endpoint_ip,
    validate_ip_for_legacy_field,
)
from mockkube.api.validation.formats import (
    validate_label,
    validate_one_of,
    validate_qualified_name,
    validate_required_one_of,
    validate_subdomain,
)
from mockkube.api.validation.labels import validate_labels
from mockkube.api.validation.numbers import validate_port, validate_port_or_name
from mockkube.features.capabilities import Capabilities

_AFFINITY_SECONDS_DEFAULT = 3 * 60 * 60


def default_service(service: Object, caps: Capabilities) -> None:
    """Default type, session affinity, ports and traffic policies."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, SetDefaults_Service
    spec = service.setdefault("spec", {})
    _default_session_affinity(spec)
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports", ()):
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    if kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and spec.get("externalIPs")):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("LoadBalancer", "NodePort", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in service.get("status", {}).get("loadBalancer", {}).get("ingress", ()):
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _default_session_affinity(spec: Object) -> None:
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client = spec.get("sessionAffinityConfig", {}).get("clientIP", {})
        if "timeoutSeconds" not in client:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS_DEFAULT}}


TOPOLOGY_AWARE_HINTS_ANNOTATION: Final = "service.kubernetes.io/topology-aware-hints"
TOPOLOGY_MODE_ANNOTATION: Final = "service.kubernetes.io/topology-mode"
RELAXED_SERVICE_NAMES_GATE: Final = "RelaxedServiceNameValidation"
SOURCE_RANGES_ANNOTATION: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
AFFINITY_SECONDS_MAX: Final = 86400
SERVICE_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
TRAFFIC_POLICIES: Final = ("Cluster", "Local")
TRAFFIC_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_LOAD_BALANCER_ONLY: Final = "may only be used when `type` is 'LoadBalancer'"


class ServiceStrategy(StatusStrategy):
    """Strategy of Service; a PUT may create it."""

    tracks_generation = False
    allow_create_on_update = True
    selectable_field_names = ("spec.clusterIP", "spec.type")

    def selectable_fields(self, obj: ReadOnlyObject) -> dict[str, str]:
        """Return cluster IP and type."""
        spec = obj.get("spec") or {}
        return {"spec.clusterIP": spec.get("clusterIP", ""), "spec.type": spec.get("type", "")}

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Accept any name; validation of the object checks it, by a rule that depends on a gate."""
        return []

    def empty_status(self) -> Object:
        """Return the status of a new service, without load balancer."""
        return {"loadBalancer": {}}

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status; drop what belongs to the previous type."""
        super().prepare_for_update(new, old, context)
        if context.subresource != "status":
            drop_type_dependent_fields(new, old)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate a new service with its allocated values."""
        return _validate_name(obj["metadata"], context) + validate_service(obj, None, context)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate immutable fields, then the whole service; or the status."""
        if context.subresource == "status":
            return _validate_status(new, old, context)
        errors = addresses.validate_cluster_ips_update(new["spec"], old["spec"])
        errors += addresses.validate_ip_families_update(new["spec"], old["spec"])
        errors += _validate_load_balancer_class_update(new["spec"], old["spec"])
        needs_port = _needs_health_check_port(new["spec"]) and _needs_health_check_port(old["spec"])
        if needs_port and new["spec"].get("healthCheckNodePort") != old["spec"].get("healthCheckNodePort"):
            errors.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
        return errors + validate_service(new, old, context)

    def canonicalize(self, obj: Object) -> None:
        """Drop internalTrafficPolicy from ExternalName services, as upstream does on every read."""
        # upstream 1.36: pkg/registry/core/service/storage/storage.go, defaultOnReadInternalTrafficPolicy
        if obj["spec"].get("type") == "ExternalName":
            obj["spec"].pop("internalTrafficPolicy", None)

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about fields that are deprecated or without effect."""
        return service_warnings(obj, context.caps.version)

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn as on creation, or about the load balancer's addresses."""
        if context.subresource != "status":
            return service_warnings(new, context.caps.version)
        return [
            warning
            for index, each in enumerate(_load_balancer_ingress(new))
            for warning in get_ip_warnings(each.get("ip", ""), f"status.loadBalancer.ingress[{index}]")
        ]


def _validate_name(metadata: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
    rule = names.check_dns_label if context.caps.enabled(RELAXED_SERVICE_NAMES_GATE) else names.check_dns1035_label
    start, name = metadata.get("generateName"), metadata.get("name")
    errors = [invalid("metadata.generateName", start, text) for text in rule(start, prefix=True)] if start else []
    return errors + ([invalid("metadata.name", name, text) for text in rule(name)] if name else [])


def validate_service(obj: ReadOnlyObject, old: ReadOnlyObject | None, context: StrategyContext) -> list[FieldError]:
    """Validate a service as it would be stored."""
    # upstream 1.36: pkg/apis/core/validation/validation.go, validateService
    spec, before = obj["spec"], (old or {}).get("spec") or {}
    strict = context.caps.enabled(STRICT_GATE)
    errors = _validate_topology_annotations(obj["metadata"].get("annotations") or {})
    errors += _validate_type_requirements(spec)
    errors += _validate_ports(spec)
    errors += validate_labels(spec.get("selector") or {}, "spec.selector")
    errors += _validate_session_affinity(spec)
    errors += addresses.validate_cluster_ips(spec, before, strict=strict)
    for index, ip in enumerate(spec.get("externalIPs") or []):
        at = f"spec.externalIPs[{index}]"
        stored = before.get("externalIPs") or []
        errors += validate_ip_for_legacy_field(ip, at, strict=strict, stored=stored) or validate_endpoint_ip(ip, at)
    errors += validate_required_one_of(spec.get("type"), "spec.type", SERVICE_TYPES)
    errors += _validate_node_ports(spec)
    errors += _validate_source_ranges(obj, old, strict=strict)
    errors += _validate_load_balancer(spec)
    errors += _validate_external_traffic(spec)
    return errors + _validate_internal_traffic(spec, context)


def _validate_topology_annotations(annotations: ReadOnlyObject) -> list[FieldError]:
    if (
        TOPOLOGY_AWARE_HINTS_ANNOTATION in annotations
        and TOPOLOGY_MODE_ANNOTATION in annotations
        and annotations[TOPOLOGY_AWARE_HINTS_ANNOTATION] != annotations[TOPOLOGY_MODE_ANNOTATION]
    ):
        detail = f"must match annotations[{TOPOLOGY_AWARE_HINTS_ANNOTATION}] when both are specified"
        return [
            invalid(
                map_entry_path("metadata.annotations", TOPOLOGY_MODE_ANNOTATION),
                annotations[TOPOLOGY_MODE_ANNOTATION],
                detail,
            )
        ]
    return []


def _validate_type_requirements(spec: ReadOnlyObject) -> list[FieldError]:
    kind, headless = spec.get("type"), addresses.is_headless(spec)
    errors = []
    if not spec.get("ports") and not headless and kind != "ExternalName":
        errors.append(required("spec.ports"))
    if kind in ("LoadBalancer", "NodePort") and headless:
        errors.append(invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services"))
    if kind == "ExternalName":
        detail = "may not be set for ExternalName services"
        given = [name for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy") if spec.get(name)]
        errors += [forbidden(f"spec.{name}", detail) for name in given]
        # A trailing dot marks the name as fully qualified.
        cname = spec.get("externalName", "").removesuffix(".")
        errors += validate_subdomain(cname, "spec.externalName") if cname else [required("spec.externalName")]
    return errors


def _validate_ports(spec: ReadOnlyObject) -> list[FieldError]:
    ports = spec.get("ports") or []
    seen: set[str] = set()
    errors: list[FieldError] = []
    for index, each in enumerate(ports):
        at, name = f"spec.ports[{index}]", each.get("name")
        if name:
            errors += validate_label(name, f"{at}.name")
            if name in seen:
                errors.append(duplicate(f"{at}.name", name))
            seen.add(name)
        elif len(ports) > 1:
            errors.append(required(f"{at}.name"))
        errors += validate_port(each.get("port"), f"{at}.port")
        errors += validate_required_one_of(each.get("protocol"), f"{at}.protocol", PROTOCOLS)
        errors += validate_port_or_name(each.get("targetPort"), f"{at}.targetPort")
        if each.get("appProtocol") is not None:
            errors += validate_qualified_name(each["appProtocol"], f"{at}.appProtocol")
    return errors


def _validate_session_affinity(spec: ReadOnlyObject) -> list[FieldError]:
    affinity, config = spec.get("sessionAffinity"), spec.get("sessionAffinityConfig")
    errors = validate_required_one_of(affinity, "spec.sessionAffinity", ("ClientIP", "None"))
    at = "spec.sessionAffinityConfig"
    if affinity == "None" and config is not None:
        return [*errors, forbidden(at, "must not be set when session affinity is None")]
    # An unknown or missing affinity has been reported already.
    if affinity != "ClientIP":
        return errors
    detail = "when session affinity type is ClientIP"
    if config is None:
        return [*errors, required(at, detail)]
    if config.get("clientIP") is None:
        return [*errors, required(f"{at}.clientIP", detail)]
    seconds = config["clientIP"].get("timeoutSeconds")
    if seconds is None:
        return [*errors, required(f"{at}.clientIP.timeoutSeconds", detail)]
    if not 0 < seconds <= AFFINITY_SECONDS_MAX:
        bounds = f"must be greater than 0 and less than {AFFINITY_SECONDS_MAX}"
        errors.append(invalid(f"{at}.clientIP.timeoutSeconds", seconds, bounds))
    return errors


def _validate_node_ports(spec: ReadOnlyObject) -> list[FieldError]:
    ports = spec.get("ports") or []
    errors: list[FieldError] = []
    if spec.get("type") == "ClusterIP":
        detail = "may not be used when `type` is 'ClusterIP'"
        taken = [index for index, each in enumerate(ports) if each.get("nodePort")]
        errors += [forbidden(f"spec.ports[{index}].nodePort", detail) for index in taken]
    node_ports: set[tuple[Any, Any]] = set()
    for index, each in enumerate(ports):
        # The same number may be used once for each protocol.
        key = each.get("protocol", ""), each.get("nodePort", 0)
        if key[1] and key in node_ports:
            errors.append(duplicate(f"spec.ports[{index}].nodePort", key[1]))
        node_ports.add(key)
    numbers: set[tuple[Any, Any]] = set()
    for index, each in enumerate(ports):
        key = each.get("protocol", ""), each.get("port", 0)
        if key in numbers:
            # Upstream builds a ServicePort of protocol and port only, and prints that.
            shown = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            errors.append(duplicate(f"spec.ports[{index}]", shown))
        numbers.add(key)
    return errors


def _validate_source_ranges(obj: ReadOnlyObject, old: ReadOnlyObject | None, *, strict: bool) -> list[FieldError]:
    spec, annotations = obj["spec"], obj["metadata"].get("annotations") or {}
    is_forbidden = spec.get("type") != "LoadBalancer"
    if spec.get("loadBalancerSourceRanges"):
        at = "spec.LoadBalancerSourceRanges"
        errors = [forbidden(at, _LOAD_BALANCER_ONLY)] if is_forbidden else []
        before = ((old or {}).get("spec") or {}).get("loadBalancerSourceRanges") or []
        stored = [text.strip() for text in before]
        for index, text in enumerate(spec["loadBalancerSourceRanges"]):
            errors += validate_cidr_for_legacy_field(text.strip(), f"{at}[{index}]", strict=strict, stored=stored)
        return errors
    if SOURCE_RANGES_ANNOTATION not in annotations:
        return []
    at = map_entry_path("metadata.annotations", SOURCE_RANGES_ANNOTATION)
    errors = [forbidden(at, _LOAD_BALANCER_ONLY)] if is_forbidden else []
    text = annotations[SOURCE_RANGES_ANNOTATION]
    unchanged = old is not None and (old["metadata"].get("annotations") or {}).get(SOURCE_RANGES_ANNOTATION, "") == text
    # An annotation was not validated by older servers, so an unchanged one is left alone.
    if not unchanged and text.strip():
        for each in text.strip().split(","):
            errors += validate_cidr_for_legacy_field(each.strip(), at, strict=strict)
    return errors


def _validate_load_balancer(spec: ReadOnlyObject) -> list[FieldError]:
    is_load_balancer = spec.get("type") == "LoadBalancer"
    errors = []
    if spec.get("allocateLoadBalancerNodePorts") is not None and not is_load_balancer:
        errors.append(forbidden("spec.allocateLoadBalancerNodePorts", _LOAD_BALANCER_ONLY))
    if is_load_balancer and spec.get("allocateLoadBalancerNodePorts") is None:
        # The path without `spec.` is upstream's.
        errors.append(required("allocateLoadBalancerNodePorts"))
    return errors + _validate_load_balancer_class(spec)


def _validate_load_balancer_class(spec: ReadOnlyObject) -> list[FieldError]:
    name = spec.get("loadBalancerClass")
    if name is None:
        return []
    if spec.get("type") != "LoadBalancer":
        return [forbidden("spec.loadBalancerClass", _LOAD_BALANCER_ONLY)]
    return validate_qualified_name(name, "spec.loadBalancerClass")


def _validate_load_balancer_class_update(spec: ReadOnlyObject, before: ReadOnlyObject) -> list[FieldError]:
    name = spec.get("loadBalancerClass")
    changed = spec.get("type") == before.get("type") == "LoadBalancer" and name != before.get("loadBalancerClass")
    # Another load balancer implementation would take the service over while the first still serves it.
    errors = [invalid("spec.loadBalancerClass", name, "may not change once set")] if changed else []
    return errors + _validate_load_balancer_class(spec)


def _needs_health_check_port(spec: ReadOnlyObject) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _validate_external_traffic(spec: ReadOnlyObject) -> list[FieldError]:
    at, policy = "spec.externalTrafficPolicy", spec.get("externalTrafficPolicy", "")
    if addresses.is_externally_accessible(spec):
        errors = validate_required_one_of(policy, at, TRAFFIC_POLICIES)
    else:
        errors = [invalid(at, policy, "may only be set for externally-accessible services")] if policy else []
    at, number = "spec.healthCheckNodePort", spec.get("healthCheckNodePort", 0)
    if _needs_health_check_port(spec):
        errors += validate_port(number, at) if number else [required(at)]
    elif number:
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(invalid(at, number, detail))
    return errors


def _validate_internal_traffic(spec: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
    policy = spec.get("internalTrafficPolicy")
    if policy is None:
        needed = spec.get("type") in ("NodePort", "LoadBalancer", "ClusterIP")
        errors = [required("spec.internalTrafficPolicy")] if needed else []
    else:
        errors = validate_one_of(policy, "spec.internalTrafficPolicy", TRAFFIC_POLICIES)
    distribution = spec.get("trafficDistribution")
    known = (
        TRAFFIC_DISTRIBUTIONS if context.caps.enabled("PreferSameTrafficDistribution") else TRAFFIC_DISTRIBUTIONS[:1]
    )
    if distribution is not None and distribution not in known:
        errors.append(not_supported("spec.trafficDistribution", distribution, known))
    return errors


def _load_balancer_ingress(obj: ReadOnlyObject) -> list[Object]:
    return ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []


def _validate_status(new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
    at, ingress = "status.loadBalancer.ingress", _load_balancer_ingress(new)
    if ingress and new["spec"].get("type") != "LoadBalancer":
        return [forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")]
    stored = [each.get("ip", "") for each in _load_balancer_ingress(old)]
    errors: list[FieldError] = []
    for index, each in enumerate(ingress):
        errors += _validate_ingress(each, f"{at}[{index}]", stored, strict=context.caps.enabled(STRICT_GATE))
    return errors


def _validate_ingress(each: ReadOnlyObject, at: str, stored: list[str], *, strict: bool) -> list[FieldError]:
    ip, mode, hostname = each.get("ip"), each.get("ipMode"), each.get("hostname")
    errors = validate_ip_for_legacy_field(ip, f"{at}.ip", strict=strict, stored=stored) if ip else []
    if mode is None:
        if ip:
            errors.append(required(f"{at}.ipMode", "must be specified when `ip` is set"))
    elif not ip:
        errors.append(forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set"))
    else:
        errors += validate_one_of(mode, f"{at}.ipMode", ("Proxy", "VIP"))
    if hostname:
        errors += validate_subdomain(hostname, f"{at}.hostname")
        # An IPv4 address has the form of a DNS name, so it passes the check before.
        if parse_ip(hostname) is not None:
            errors.append(invalid(f"{at}.hostname", hostname, "must be a DNS name, not an IP address"))
    return errors


KIND: Final = Kind(
    "",
    "Service",
    "services",
    short_names=("svc",),
    categories=("all",),
    subresources=(Subresource("proxy", "ServiceProxyOptions", ("create", "delete", "get", "patch", "update")), STATUS),
    strategy=lambda _: ServiceStrategy(),
    defaults={"v1": default_service},
    printer=SERVICE,
)
