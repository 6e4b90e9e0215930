"""Endpoints: strategy, defaults, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, number, sections, string
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.lists import join_shortened
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, NONE, Cell, Printer, text_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.addresses import (
    STRICT_GATE,
    get_ip_warnings,
    validate_endpoint_ip,
    validate_ip_for_legacy_field,
)
from mockkube.api.validation.formats import (
    validate_format,
    validate_label,
    validate_qualified_name,
    validate_required_one_of,
)
from mockkube.api.validation.numbers import validate_port
from mockkube.features.capabilities import Capabilities


def default_endpoints(endpoints: Object, caps: Capabilities) -> None:
    """Default the protocol of ports to TCP."""
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"


class EndpointsStrategy(Strategy):
    """Strategy of Endpoints; a PUT may create them."""

    allow_create_on_update = True

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every subset."""
        return _validate_subsets(obj, context)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the subsets if they changed."""
        # Older servers accepted addresses that are invalid now; unchanged ones must not block updates of the metadata.
        return [] if new.get("subsets") == old.get("subsets") else _validate_subsets(new, context)

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about ambiguous addresses, unless the endpoint controller wrote them."""
        # The controller copies addresses from pods; its user could not react to a warning.
        if (obj["metadata"].get("labels") or {}).get(_MANAGED_BY) == "endpoint-controller":
            return []
        return [
            warning
            for i, subset in enumerate(obj.get("subsets") or [])
            for name in ("addresses", "notReadyAddresses")
            for j, address in enumerate(subset.get(name) or [])
            for warning in get_ip_warnings(address.get("ip", ""), f"subsets[{i}].{name}[{j}].ip")
        ]

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn as on creation."""
        return self.warnings_on_create(new, context)


def _validate_subsets(obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, subset in enumerate(obj.get("subsets") or []):
        at = f"subsets[{i}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(at, "must specify `addresses` or `notReadyAddresses`"))
        for name in ("addresses", "notReadyAddresses"):
            for j, address in enumerate(subset.get(name) or []):
                errors += _validate_address(address, f"{at}.{name}[{j}]", context)
        ports = subset.get("ports") or []
        for j, each in enumerate(ports):
            errors += _validate_port(each, f"{at}.ports[{j}]", named=len(ports) > 1)
    return errors


def _validate_address(address: ReadOnlyObject, at: str, context: StrategyContext) -> list[FieldError]:
    ip = address.get("ip", "")
    errors = validate_ip_for_legacy_field(ip, f"{at}.ip", strict=context.caps.enabled(STRICT_GATE))
    if address.get("hostname"):
        errors += validate_label(address["hostname"], f"{at}.hostname")
    if address.get("nodeName") is not None:
        errors += validate_format(address["nodeName"], f"{at}.nodeName", names.check_dns_subdomain)
    return errors + validate_endpoint_ip(ip, f"{at}.ip")


def _validate_port(each: ReadOnlyObject, at: str, *, named: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if each.get("name"):
        errors += validate_label(each["name"], f"{at}.name")
    elif named:
        errors.append(required(f"{at}.name"))
    errors += validate_port(each.get("port"), f"{at}.port")
    errors += validate_required_one_of(each.get("protocol"), f"{at}.protocol", PROTOCOLS)
    if each.get("appProtocol") is not None:
        errors += validate_qualified_name(each["appProtocol"], f"{at}.appProtocol")
    return errors


def endpoints_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of Endpoints."""
    return [name_of(obj), _format_endpoints(obj), format_age(obj, now)]


def _format_endpoints(obj: ReadOnlyObject) -> str:
    """Return every address with every port; bare addresses for subsets without ports."""
    subsets = sections(obj, "subsets")
    addresses_and_ports: list[str] = []
    for subset in subsets:
        addresses = [string(address, "ip") for address in sections(subset, "addresses")]
        ports = sections(subset, "ports")
        addresses_and_ports += (
            addresses
            if not ports
            else [_join_host_port(ip, number(port, "port")) for port in ports for ip in addresses]
        )
    return join_shortened(addresses_and_ports, len(addresses_and_ports), empty="" if subsets else NONE)


def _join_host_port(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


ENDPOINTS = Printer(
    (NAME_COLUMN, text_column("Endpoints", "The addresses of the endpoints."), AGE_COLUMN), endpoints_cells
)

KIND: Final = Kind(
    "",
    "Endpoints",
    "endpoints",
    short_names=("ep",),
    deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    strategy=lambda _: EndpointsStrategy(),
    defaults={"v1": default_endpoints},
    printer=ENDPOINTS,
)
