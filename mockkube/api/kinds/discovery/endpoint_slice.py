"""EndpointSlice: strategy, defaults, validation and printer columns.

upstream 1.36: pkg/apis/discovery/validation/validation.go
"""

from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.fields import (
    FieldError,
    duplicate,
    internal,
    invalid,
    map_entry_path,
    not_supported,
    required,
    too_many,
)
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.endpoints import PROTOCOLS
from mockkube.api.printers.accessors import elements, name_of, number, sections, string, value_at
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.lists import join_shortened
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.addresses import (
    STRICT_GATE,
    get_ip_warnings,
    is_ipv6,
    validate_endpoint_ip,
    validate_ip,
    validate_ip_for_legacy_field,
)
from mockkube.api.validation.formats import (
    validate_format,
    validate_immutable_field,
    validate_label,
    validate_qualified_name,
    validate_required_one_of,
    validate_subdomain,
)
from mockkube.api.validation.labels import validate_labels
from mockkube.features.capabilities import Capabilities


def default_endpoint_slice(endpoint_slice: Object, caps: Capabilities) -> None:
    """Default port names to the empty name, protocols to TCP."""
    # upstream 1.36: pkg/apis/discovery/v1/defaults.go
    for port in endpoint_slice.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


ENDPOINTS_MAX: Final = 1000
ADDRESSES_MAX: Final = 100
PORTS_MAX: Final = 20000
HINTS_MAX: Final = 8
TOPOLOGY_LABELS_MAX: Final = 16
HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_CONTROLLERS: Final = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")
_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_CONTENT_FIELDS: Final = ("addressType", "endpoints", "ports")


class EndpointSliceStrategy(Strategy):
    """Strategy of EndpointSlice; its address type is immutable."""

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Set the first generation; drop fields of disabled gates and of the beta version."""
        obj["metadata"]["generation"] = 1
        if not context.caps.enabled("PreferSameTrafficDistribution"):
            _drop_node_hints(obj)
        _drop_topology(obj, frozenset())

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Raise the generation for changed content or labels; drop unused gated fields."""
        changed = any(new.get(name) != old.get(name) for name in _CONTENT_FIELDS)
        if changed or new["metadata"].get("labels") != old["metadata"].get("labels"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        before = old.get("endpoints") or []
        used = any((each.get("hints") or {}).get("forNodes") for each in before)
        if not used and not context.caps.enabled("PreferSameTrafficDistribution"):
            _drop_node_hints(new)
        # Unchanged endpoints keep their topology, so that updates of metadata do not rewrite them.
        if new.get("endpoints") != old.get("endpoints"):
            _drop_topology(
                new, frozenset((each.get("deprecatedTopology") or {}).get(HOSTNAME_LABEL, "") for each in before)
            )

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate ports and endpoints."""
        return _validate_type_and_ports(obj) + _validate_endpoints(obj, context)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate what changed, and reject another address type."""
        errors = _validate_type_and_ports(new)
        if new.get("endpoints") != old.get("endpoints"):
            errors += _validate_endpoints(new, context)
        return errors + validate_immutable_field(new, old, "addressType")

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about FQDN slices and ambiguous addresses."""
        is_fqdn = obj.get("addressType") == "FQDN"
        warnings = ["spec.addressType: FQDN endpoints are deprecated"] if is_fqdn else []
        return warnings + _address_warnings(obj)

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about ambiguous addresses."""
        return _address_warnings(new)


def _drop_node_hints(obj: Object) -> None:
    for each in obj.get("endpoints") or []:
        if each.get("hints"):
            each["hints"].pop("forNodes", None)


def _drop_topology(obj: Object, known: frozenset[str]) -> None:
    """Drop the topology of v1beta1; move hostnames in `known` to `nodeName`."""
    for each in obj.get("endpoints") or []:
        node = (each.pop("deprecatedTopology", None) or {}).get(HOSTNAME_LABEL)
        if node in known and each.get("nodeName") is None and not names.check_dns_subdomain(node or ""):
            each["nodeName"] = node


def _address_warnings(obj: ReadOnlyObject) -> list[str]:
    # Controllers copy addresses from pods; their users could not react to a warning.
    if (obj["metadata"].get("labels") or {}).get(_MANAGED_BY) in _CONTROLLERS:
        return []
    return [
        warning
        for i, each in enumerate(obj.get("endpoints") or [])
        for j, address in enumerate(each.get("addresses") or [])
        for warning in get_ip_warnings(address, f"endpoints[{i}].addresses[{j}]")
    ]


def _validate_type_and_ports(obj: ReadOnlyObject) -> list[FieldError]:
    errors = validate_required_one_of(obj.get("addressType"), "addressType", _ADDRESS_TYPES)
    ports = obj.get("ports") or []
    if len(ports) > PORTS_MAX:
        return [*errors, too_many("ports", len(ports), PORTS_MAX)]
    seen: set[str] = set()
    for index, each in enumerate(ports):
        at, name, protocol = f"ports[{index}]", each.get("name") or "", each.get("protocol")
        if name:
            errors += validate_label(name, f"{at}.name")
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        seen.add(name)
        if protocol is None:
            errors.append(required(f"{at}.protocol"))
        elif protocol not in PROTOCOLS:
            errors.append(not_supported(f"{at}.protocol", protocol, PROTOCOLS))
        if each.get("appProtocol") is not None:
            errors += validate_qualified_name(each["appProtocol"], f"{at}.appProtocol")
    return errors


def _validate_endpoints(obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
    endpoints = obj.get("endpoints") or []
    if len(endpoints) > ENDPOINTS_MAX:
        return [too_many("endpoints", len(endpoints), ENDPOINTS_MAX)]
    kind, strict = obj.get("addressType", ""), context.caps.enabled(STRICT_GATE)
    errors: list[FieldError] = []
    for index, each in enumerate(endpoints):
        errors += _validate_endpoint(each, f"endpoints[{index}]", kind, strict=strict)
    return errors


def _validate_endpoint(each: ReadOnlyObject, at: str, kind: str, *, strict: bool) -> list[FieldError]:
    addresses = each.get("addresses") or []
    errors: list[FieldError] = []
    if not addresses:
        errors.append(required(f"{at}.addresses", "must contain at least 1 address"))
    elif len(addresses) > ADDRESSES_MAX:
        errors.append(too_many(f"{at}.addresses", len(addresses), ADDRESSES_MAX))
    for index, address in enumerate(addresses):
        errors += _validate_address(address, f"{at}.addresses", index, kind, strict=strict)
    if each.get("nodeName") is not None:
        errors += validate_subdomain(each["nodeName"], f"{at}.nodeName")
    errors += _validate_topology(each.get("deprecatedTopology") or {}, f"{at}.deprecatedTopology")
    if each.get("hostname") is not None:
        errors += validate_label(each["hostname"], f"{at}.hostname")
    if each.get("hints") is not None:
        errors += _validate_hints(each["hints"], f"{at}.hints")
    return errors


def _validate_address(address: str, at: str, index: int, kind: str, *, strict: bool) -> list[FieldError]:
    here = f"{at}[{index}]"
    match kind:
        case "IPv4":
            errors_of_ip, is_expected_family = (
                validate_ip_for_legacy_field(address, here, strict=strict),
                not is_ipv6(address),
            )
        case "IPv6":
            # Only IPv4 addresses had a lenient notation in older servers (leading zeros).
            errors_of_ip, is_expected_family = validate_ip(address, here), is_ipv6(address)
        case "FQDN":
            return validate_fully_qualified_domain_name(address, here)
        case _:
            return []
    if errors_of_ip:
        return errors_of_ip
    errors = [] if is_expected_family else [invalid(at, address, f"must be an {kind} address")]
    return errors + validate_endpoint_ip(address, here)


def validate_fully_qualified_domain_name(name: str, at: str) -> list[FieldError]:
    """Validate a fully qualified domain name."""
    # upstream 1.36: apimachinery/pkg/util/validation/validation.go, IsFullyQualifiedDomainName
    if not name:
        return [required(at)]
    name = name.removesuffix(".")
    messages_of_name = names.check_dns_subdomain(name)
    if messages_of_name:
        return [invalid(at, name, ",".join(messages_of_name))]
    if "." not in name:
        return [invalid(at, name, "should be a domain with at least two segments separated by dots")]
    messages_by_label = ((part, names.check_dns_label(part)) for part in name.split("."))
    return [invalid(at, part, ",".join(messages)) for part, messages in messages_by_label if messages]


def _validate_topology(topology: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = []
    if len(topology) > TOPOLOGY_LABELS_MAX:
        errors.append(too_many(at, len(topology), TOPOLOGY_LABELS_MAX))
    errors += validate_labels(topology, at)
    if ZONE_LABEL in topology:
        # Conversion from v1beta1 moves this label to the field `zone`.
        errors.append(internal(map_entry_path(at, ZONE_LABEL), "reserved key was not removed in conversion"))
    return errors


def _validate_hints(hints: ReadOnlyObject, at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, rule in (("forZones", names.check_label_value), ("forNodes", names.check_dns_subdomain)):
        entries = hints.get(name) or []
        if len(entries) > HINTS_MAX:
            # Too many zone hints end the validation, so node hints are not validated then.
            return [*errors, too_many(f"{at}.{name}", len(entries), HINTS_MAX)]
        seen: set[str] = set()
        for index, entry in enumerate(entries):
            here, value = f"{at}.{name}[{index}].name", entry.get("name", "")
            if value in seen:
                errors.append(duplicate(here, value))
            seen.add(value)
            errors += validate_format(value, here, rule)
    return errors


def endpoint_slice_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of an EndpointSlice."""
    ports = [_format_port(port) for port in sections(obj, "ports")]
    addresses = [str(ip) for endpoint in sections(obj, "endpoints") for ip in elements(endpoint, "addresses")]
    return [
        name_of(obj),
        string(obj, "addressType"),
        join_shortened(ports, len(ports)),
        join_shortened(addresses, len(addresses)),
        format_age(obj, now),
    ]


def _format_port(port: ReadOnlyObject) -> str:
    if value_at(port, "port") is not None:
        return str(number(port, "port"))
    return string(port, "name", missing="*")


ENDPOINT_SLICE = Printer(
    (
        NAME_COLUMN,
        text_column("AddressType", "The family of the addresses."),
        text_column("Ports", "The ports of every endpoint."),
        text_column("Endpoints", "The addresses of the endpoints."),
        AGE_COLUMN,
    ),
    endpoint_slice_cells,
)

KIND: Final = Kind(
    "discovery.k8s.io",
    "EndpointSlice",
    "endpointslices",
    strategy=lambda _: EndpointSliceStrategy(),
    defaults={"v1": default_endpoint_slice},
    printer=ENDPOINT_SLICE,
)
