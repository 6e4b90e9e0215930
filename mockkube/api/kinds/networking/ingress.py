"""Ingress: strategy, validation and printer columns.

upstream 1.36: pkg/apis/networking/validation/validation.go
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, invalid, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.service.addresses import load_balancer_addresses
from mockkube.api.kinds.core.service.service import RELAXED_SERVICE_NAMES_GATE
from mockkube.api.printers.accessors import elements, name_of, sections, string
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.lists import SHOWN_MAX
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, NONE, Cell, Printer, text_column
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.validation.addresses import STRICT_GATE, get_ip_warnings, parse_ip, validate_ip_for_legacy_field
from mockkube.api.validation.formats import validate_format, validate_subdomain
from mockkube.api.validation.numbers import validate_port

INGRESS_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_INVALID_PATH_SEQUENCES: Final = ("//", "/./", "/../", "%2f", "%2F")
_INVALID_PATH_SUFFIXES: Final = ("/..", "/.")
_NOT_AN_IP: Final = "must be a DNS name, not an IP address"


class IngressStrategy(StatusStrategy):
    """Strategy of Ingress."""

    def empty_status(self) -> Object:
        """Return the status of a new ingress, without load balancer."""
        return {"loadBalancer": {}}

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec, and that annotation and field name the same class."""
        errors = _validate_spec(obj["spec"], {}, relaxed=context.caps.enabled(RELAXED_SERVICE_NAMES_GATE))
        annotation = (obj["metadata"].get("annotations") or {}).get(INGRESS_CLASS_ANNOTATION)
        name = obj["spec"].get("ingressClassName")
        # Checked on creation only: controllers may still sync the two afterwards.
        if annotation is not None and name is not None and annotation != name:
            detail = "must match `ingressClassName` when both are specified"
            errors.append(invalid(f"annotations.{INGRESS_CLASS_ANNOTATION}", annotation, detail))
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec, tolerating stored violations, or the load balancer's addresses."""
        if context.subresource == "status":
            return _validate_status(new, old, context)
        relaxed = context.caps.enabled(RELAXED_SERVICE_NAMES_GATE) or _uses_relaxed_names(old["spec"])
        return _validate_spec(new["spec"], old["spec"], relaxed=relaxed)

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about the deprecated annotation."""
        annotated = INGRESS_CLASS_ANNOTATION in (obj["metadata"].get("annotations") or {})
        if not annotated or obj["spec"].get("ingressClassName") is not None:
            return []
        return [f"annotation \"{INGRESS_CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about ambiguous addresses of the load balancer."""
        if context.subresource != "status":
            return []
        at = "status.loadBalancer.ingress"
        entries = enumerate(_load_balancer_ingress(new))
        return [warning for i, each in entries for warning in get_ip_warnings(each.get("ip", ""), f"{at}[{i}]")]


def _backends(spec: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    if spec.get("defaultBackend") is not None:
        yield spec["defaultBackend"]
    for rule in spec.get("rules") or []:
        for path in (rule.get("http") or {}).get("paths") or []:
            yield path.get("backend") or {}


def _uses_relaxed_names(spec: ReadOnlyObject) -> bool:
    services = [(backend.get("service") or {}).get("name", "") for backend in _backends(spec)]
    return any(not names.check_dns_label(name) and names.check_dns1035_label(name) for name in services)


def _validate_spec(spec: ReadOnlyObject, before: ReadOnlyObject, *, relaxed: bool) -> list[FieldError]:
    rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
    errors: list[FieldError] = []
    if not rules and backend is None:
        errors.append(invalid("spec", None, "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        errors += _validate_backend(backend, "spec.defaultBackend", relaxed=relaxed)
    # Older servers did not validate paths of rules with a wildcard host, so an invalid stored rule relaxes this check.
    unchecked = any(
        "*" in rule.get("host", "") and _validate_paths(rule, "", relaxed=False) for rule in before.get("rules") or []
    )
    for index, rule in enumerate(rules):
        errors += _validate_rule(rule, f"spec.rules[{index}]", unchecked=unchecked, relaxed=relaxed)
    lenient = any(_find_secret_name_errors(tls.get("secretName", "")) for tls in before.get("tls") or [])
    for index, tls in enumerate(spec.get("tls") or []):
        errors += _validate_tls(tls, f"spec.tls[{index}]", lenient=lenient)
    if spec.get("ingressClassName") is not None:
        errors += validate_subdomain(spec["ingressClassName"], "spec.ingressClassName")
    return errors


def _validate_rule(rule: ReadOnlyObject, at: str, *, unchecked: bool, relaxed: bool) -> list[FieldError]:
    host = rule.get("host", "")
    errors: list[FieldError] = []
    if host:
        if parse_ip(host) is not None:
            errors.append(invalid(f"{at}.host", host, _NOT_AN_IP))
        errors += _validate_host(host, f"{at}.host")
    if unchecked and "*" in host:
        return errors
    return errors + _validate_paths(rule, at, relaxed=relaxed)


def _validate_host(host: str, at: str) -> list[FieldError]:
    return validate_format(host, at, names.check_wildcard_subdomain if "*" in host else names.check_dns_subdomain)


def _validate_paths(rule: ReadOnlyObject, at: str, *, relaxed: bool) -> list[FieldError]:
    if rule.get("http") is None:
        return []
    paths = rule["http"].get("paths") or []
    if not paths:
        return [required(f"{at}.http.paths")]
    return [
        error
        for i, path in enumerate(paths)
        for error in _validate_path(path, f"{at}.http.paths[{i}]", relaxed=relaxed)
    ]


def _validate_path(path: ReadOnlyObject, at: str, *, relaxed: bool) -> list[FieldError]:
    kind, text = path.get("pathType"), path.get("path", "")
    if kind is None:
        return [required(f"{at}.pathType", "pathType must be specified")]
    details = []
    if kind in _PATH_TYPES:
        exact = kind != "ImplementationSpecific"
        if not text.startswith("/") and (text or exact):
            details.append("must be an absolute path")
        if exact:
            details += [f"must not contain '{sequence}'" for sequence in _INVALID_PATH_SEQUENCES if sequence in text]
            details += [
                f"cannot end with '{sequence}'" for sequence in _INVALID_PATH_SUFFIXES if text.endswith(sequence)
            ]
        errors = [invalid(f"{at}.path", text, detail) for detail in details]
    else:
        errors = [not_supported(f"{at}.pathType", kind, _PATH_TYPES)]
    return errors + _validate_backend(path.get("backend") or {}, f"{at}.backend", relaxed=relaxed)


def _validate_backend(backend: ReadOnlyObject, at: str, *, relaxed: bool) -> list[FieldError]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid(at, "", "cannot set both resource and service backends")]
    if resource is not None:
        return validate_typed_local_reference(resource, f"{at}.resource")
    if service is None:
        return [invalid(at, "", "resource or service backend is required")]
    name, target = service.get("name", ""), service.get("port") or {}
    rule = names.check_dns_label if relaxed else names.check_dns1035_label
    errors = validate_format(name, f"{at}.service.name", rule) if name else [required(f"{at}.service.name")]
    if target.get("name") and target.get("number"):
        errors.append(invalid(at, "", "cannot set both port name & port number"))
    elif target.get("name"):
        errors += validate_format(target["name"], f"{at}.service.port.name", names.check_port_name)
    elif target.get("number"):
        errors += validate_port(target["number"], f"{at}.service.port.number")
    else:
        errors.append(required(at, "port name or number is required"))
    return errors


def validate_typed_local_reference(reference: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate a reference to an object by group, kind and name."""
    errors: list[FieldError] = []
    if reference.get("apiGroup") is not None:
        errors += validate_subdomain(reference["apiGroup"], f"{at}.apiGroup")
    for name in ("kind", "name"):
        value = reference.get(name)
        errors += (
            validate_format(value, f"{at}.{name}", names.check_path_segment) if value else [required(f"{at}.{name}")]
        )
    return errors


def _validate_tls(tls: ReadOnlyObject, at: str, *, lenient: bool) -> list[FieldError]:
    hosts, secret = enumerate(tls.get("hosts") or []), tls.get("secretName", "")
    errors = [error for i, host in hosts for error in _validate_host(host, f"{at}.hosts[{i}]")]
    if lenient:
        return errors
    return errors + [invalid(f"{at}.secretName", secret, message) for message in _find_secret_name_errors(secret)]


def _find_secret_name_errors(name: str) -> list[str]:
    return names.check_dns_subdomain(name) if name else []


def _load_balancer_ingress(obj: ReadOnlyObject) -> list[ReadOnlyObject]:
    return ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []


def _validate_status(new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
    stored = [each["ip"] for each in _load_balancer_ingress(old) if each.get("ip")]
    errors: list[FieldError] = []
    for index, each in enumerate(_load_balancer_ingress(new)):
        at, hostname = f"status.loadBalancer.ingress[{index}]", each.get("hostname")
        if each.get("ip"):
            errors += validate_ip_for_legacy_field(
                each["ip"], f"{at}.ip", strict=context.caps.enabled(STRICT_GATE), stored=stored
            )
        if hostname:
            errors += validate_subdomain(hostname, f"{at}.hostname")
            if parse_ip(hostname) is not None:
                errors.append(invalid(f"{at}.hostname", hostname, _NOT_AN_IP))
    return errors


def ingress_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of an Ingress."""
    return [
        name_of(obj),
        string(obj, "spec", "ingressClassName", missing=NONE),
        _format_hosts(obj),
        ",".join(load_balancer_addresses(obj)),
        "80, 443" if elements(obj, "spec", "tls") else "80",
        format_age(obj, now),
    ]


def _format_hosts(obj: ReadOnlyObject) -> str:
    """Return the first hosts and the number of further rules."""
    shown: list[str] = []
    rules = sections(obj, "spec", "rules")
    for rule in rules:
        # Upstream counts rules instead of hosts in the rest.
        if len(shown) == SHOWN_MAX:
            return f"{','.join(shown)} + {len(rules) - SHOWN_MAX} more..."
        if host := string(rule, "host"):
            shown.append(host)
    return ",".join(shown) or "*"


INGRESS = Printer(
    (
        NAME_COLUMN,
        text_column("Class", "The ingress class."),
        text_column("Hosts", "Hosts of the rules."),
        text_column("Address", "Addresses of the load balancer."),
        text_column("Ports", "The ports it listens on."),
        AGE_COLUMN,
    ),
    ingress_cells,
)

KIND: Final = Kind(
    "networking.k8s.io",
    "Ingress",
    "ingresses",
    short_names=("ing",),
    subresources=(STATUS,),
    strategy=lambda _: IngressStrategy(),
    printer=INGRESS,
)
