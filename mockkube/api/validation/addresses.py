"""Validation of IP addresses and CIDRs: leniently for fields of old kinds, else in canonical form only.

upstream 1.36: apimachinery/pkg/util/validation/ip.go
"""

import ipaddress
from collections.abc import Collection
from typing import TypeAlias

from mockkube.api.fields import FieldError, invalid

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

STRICT_GATE = "StrictIPCIDRValidation"


def parse_ip(text: str) -> Address | None:
    """Parse an address, or return None; IPv4 may have leading zeros and may be mapped into IPv6."""
    if "%" in text or "/" in text:
        return None
    try:
        if ":" not in text:
            return ipaddress.IPv4Address(_strip_leading_zeros(text))
        address = ipaddress.IPv6Address(_strip_zeros_of_embedded_ipv4(text))
        return address.ipv4_mapped or address
    except ValueError:
        return None


def parse_cidr(text: str) -> Network | None:
    """Parse a CIDR with its host bits cleared, or return None."""
    head, slash, length = text.partition("/")
    address = parse_ip(head)
    if not slash or address is None or not length.isascii() or not length.isdigit():
        return None
    # Go treats a mapped IPv4 address as IPv4, so 96 bits of its prefix length are not counted.
    bits = int(length) - (96 if ":" in head and address.version == 4 else 0)
    try:
        return ipaddress.ip_network((address, bits), strict=False) if bits >= 0 else None
    except ValueError:
        return None


def is_ipv6(text: str) -> bool:
    """Return whether the text is an IPv6 address."""
    address = parse_ip(text)
    return address is not None and address.version == 6


def validate_ip_for_legacy_field(
    text: str, at: str, *, strict: bool = False, stored: Collection[str] = ()
) -> list[FieldError]:
    """Validate an address; `stored` values stay valid, `strict` rejects obsolete forms."""
    # Ratcheting: a value stored before validation became stricter must not block other updates.
    if text in stored:
        return []
    if parse_ip(text) is None:
        return [invalid(at, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
    return _validate_ip_form(text, at) if strict else []


def validate_ip(text: str, at: str) -> list[FieldError]:
    """Validate an address that must be in canonical form."""
    errors = validate_ip_for_legacy_field(text, at, strict=True)
    canonical = str(parse_ip(text))
    if not errors and text != canonical:
        return [invalid(at, text, f'must be in canonical form ("{canonical}")')]
    return errors


def validate_cidr_for_legacy_field(
    text: str, at: str, *, strict: bool = False, stored: Collection[str] = ()
) -> list[FieldError]:
    """Validate a CIDR; `stored` and `strict` as for addresses."""
    if text in stored:
        return []
    network = parse_cidr(text)
    if network is None:
        return [invalid(at, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]
    return _validate_cidr_form(text, network, at) if strict else []


def validate_cidr(text: str, at: str) -> list[FieldError]:
    """Validate a CIDR that must be in canonical form."""
    errors = validate_cidr_for_legacy_field(text, at, strict=True)
    canonical = str(parse_cidr(text))
    if not errors and text != canonical:
        return [invalid(at, text, f'must be in canonical form ("{canonical}")')]
    return errors


def validate_endpoint_ip(text: str, at: str) -> list[FieldError]:
    """Validate an address of an endpoint, which other nodes must be able to reach."""
    # upstream 1.36: pkg/apis/core/validation/validation.go, ValidateEndpointIP
    address = parse_ip(text)
    if address is None:
        return [invalid(at, text, "must be a valid IP address")]
    errors = []
    if address.is_unspecified:
        errors.append(invalid(at, text, f"may not be unspecified ({text})"))
    if address.is_loopback:
        errors.append(invalid(at, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if address in _LINK_LOCAL[address.version]:
        errors.append(invalid(at, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if address in _LINK_LOCAL_MULTICAST[address.version]:
        errors.append(invalid(at, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"))
    return errors


def get_ip_warnings(text: str, at: str) -> list[str]:
    """Return warnings about an address that is valid but not in the recommended form."""
    address = parse_ip(text)
    if address is None:
        return []
    if _has_leading_zeros(text) or (":" in text and address.version == 4):
        return [f'{at}: non-standard IP address "{text}" is invalid: use "{address}"']
    if address.version == 6 and str(address) != text:
        return [f'{at}: IPv6 address "{text}" should be in RFC 5952 canonical format ("{address}")']
    return []


def get_cidr_warnings(text: str, at: str) -> list[str]:
    """Return warnings about a CIDR that is valid but not in the recommended form."""
    network = parse_cidr(text)
    if network is None:
        return []
    head, _, length = text.partition("/")
    address, warnings = parse_ip(head), []
    if address != network.network_address:
        single = f"{address}/{network.max_prefixlen}"
        warnings.append(
            f'{at}: CIDR value "{text}" is ambiguous in this context (should be "{network}" or "{single}"?)'
        )
    if _has_leading_zeros(head) or _has_leading_zero(length) or (":" in head and network.version == 4):
        warnings.append(f'{at}: non-standard CIDR value "{text}" is invalid: use "{network}"')
    if not warnings and network.version == 6 and str(network) != text:
        warnings.append(f'{at}: IPv6 CIDR value "{text}" should be in RFC 5952 canonical format ("{network}")')
    return warnings


_LINK_LOCAL: dict[int, Network] = {
    4: ipaddress.ip_network("169.254.0.0/16"),
    6: ipaddress.ip_network("fe80::/10"),
}
# Go's IsLinkLocalMulticast: ff02::/16 with any flags.
_LINK_LOCAL_MULTICAST: dict[int, Network] = {
    4: ipaddress.ip_network("224.0.0.0/24"),
    6: ipaddress.ip_network("ff02::/16"),
}


def _validate_ip_form(text: str, at: str) -> list[FieldError]:
    if _has_leading_zeros(text):
        return [invalid(at, text, "must not have leading 0s")]
    if ":" in text and not is_ipv6(text):
        return [invalid(at, text, "must not be an IPv4-mapped IPv6 address")]
    return []


def _validate_cidr_form(text: str, network: Network, at: str) -> list[FieldError]:
    head, _, length = text.partition("/")
    if _has_leading_zeros(head) or _has_leading_zero(length):
        return [invalid(at, text, "must not have leading 0s in IP or prefix length")]
    if ":" in head and network.version == 4:
        return [invalid(at, text, "must not have an IPv4-mapped IPv6 address")]
    if parse_ip(head) != network.network_address:
        return [invalid(at, text, "must not have bits set beyond the prefix length")]
    return []


def _has_leading_zeros(text: str) -> bool:
    return any(_has_leading_zero(part) for part in text.rpartition(":")[2].split(".")) if "." in text else False


def _has_leading_zero(digits: str) -> bool:
    return len(digits) > 1 and digits[0] == "0"


def _strip_leading_zeros(text: str) -> str:
    """Strip leading zeros from the parts of an IPv4 address."""
    return ".".join(part.lstrip("0") or "0" if part.isdigit() else part for part in text.split("."))


def _strip_zeros_of_embedded_ipv4(text: str) -> str:
    head, colon, tail = text.rpartition(":")
    return f"{head}{colon}{_strip_leading_zeros(tail)}" if "." in tail else text


def validate_interface_address(text: str, at: str) -> list[FieldError]:
    """Validate an address of an interface, which has a prefix length and must be in canonical form."""
    network = parse_cidr(text)
    if network is None:
        example = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        return [invalid(at, text, example)]
    canonical = f"{parse_ip(text.partition('/')[0])}/{network.prefixlen}"
    return [] if text == canonical else [invalid(at, text, f'must be in canonical form ("{canonical}")')]
