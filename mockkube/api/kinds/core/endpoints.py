"""Endpoints: addresses and ports in subsets."""

from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, required
from mockkube.api.strategy import Judge, Strategy
from mockkube.api.types import ReadOnlyObject
from mockkube.api.validation.addresses import STRICT_GATE, ip_warnings, lenient_ip, reachable_ip
from mockkube.api.validation.formats import formed, label, qualified, required_one_of
from mockkube.api.validation.numbers import validate_port

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"


class EndpointsStrategy(Strategy):
    """Where a service is found; a PUT may create it."""

    allow_create_on_update = True

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge every subset."""
        return _validate_subsets(obj, judge)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge subsets that changed."""
        return [] if new.get("subsets") == old.get("subsets") else _validate_subsets(new, judge)

    def warn_create(self, obj: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warn of addresses written oddly, unless the controller wrote them."""
        if (obj["metadata"].get("labels") or {}).get(_MANAGED_BY) == "endpoint-controller":
            return []
        return [
            warning
            for i, subset in enumerate(obj.get("subsets") or [])
            for name in ("addresses", "notReadyAddresses")
            for j, address in enumerate(subset.get(name) or [])
            for warning in ip_warnings(address.get("ip", ""), f"subsets[{i}].{name}[{j}].ip")
        ]

    def warn_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warn as on creation."""
        return self.warn_create(new, judge)


def _validate_subsets(obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, subset in enumerate(obj.get("subsets") or []):
        at = f"subsets[{i}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(at, "must specify `addresses` or `notReadyAddresses`"))
        for name in ("addresses", "notReadyAddresses"):
            for j, address in enumerate(subset.get(name) or []):
                errors += _validate_address(address, f"{at}.{name}[{j}]", judge)
        ports = subset.get("ports") or []
        for j, each in enumerate(ports):
            errors += _validate_port(each, f"{at}.ports[{j}]", named=len(ports) > 1)
    return errors


def _validate_address(address: ReadOnlyObject, at: str, judge: Judge) -> list[FieldError]:
    ip = address.get("ip", "")
    errors = lenient_ip(ip, f"{at}.ip", strict=judge.caps.enabled(STRICT_GATE))
    if address.get("hostname"):
        errors += label(address["hostname"], f"{at}.hostname")
    if address.get("nodeName") is not None:
        errors += formed(address["nodeName"], f"{at}.nodeName", names.dns_subdomain)
    return errors + reachable_ip(ip, f"{at}.ip")


def _validate_port(each: ReadOnlyObject, at: str, *, named: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if each.get("name"):
        errors += label(each["name"], f"{at}.name")
    elif named:
        errors.append(required(f"{at}.name"))
    errors += validate_port(each.get("port"), f"{at}.port")
    errors += required_one_of(each.get("protocol"), f"{at}.protocol", PROTOCOLS)
    if each.get("appProtocol") is not None:
        errors += qualified(each["appProtocol"], f"{at}.appProtocol")
    return errors
