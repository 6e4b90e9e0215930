"""IP addresses and networks: functions of `net.IP` and `net.CIDR`.

upstream 1.36: apiserver/pkg/cel/library/ip.go, cidr.go
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from mockkube_cel import costs, types, values
from mockkube_cel.declarations import (
    CallEstimate,
    Charge,
    Estimate,
    Function,
    Overload,
    SizedOperand,
    global_overload,
    member_overload,
)
from mockkube_cel.golang.gonet import Address, AddressError, Prefix, parse_address, parse_prefix
from mockkube_cel.golang.strconv import quote
from mockkube_cel.sizes import ONE, TRAVERSAL_FACTOR, Interval
from mockkube_cel.types import BOOL, INT, STRING
from mockkube_cel.values import NO_OVERLOAD, CelError, size_of

_IP: Final = types.opaque("net.IP")
_CIDR: Final = types.opaque("net.CIDR")
_BYTES: Final = Interval(4, 16)
_CONVERSION: Final = "network address parse error during conversion from string"

values.register_opaque_type(Address, values.OpaqueType(_IP, "cel.IP", lambda one, other: one == other))
values.register_opaque_type(Prefix, values.OpaqueType(_CIDR, "cel.CIDR", lambda one, other: one == other))


def parse_ip(text: str) -> Any:
    """Compute `ip(text)`."""
    try:
        address = parse_address(text)
    except AddressError as error:
        return CelError(f"IP Address {quote(text)} parse error during conversion from string: {error}")
    if address.zone:
        return CelError(f"IP address {quote(text)} with zone value is not allowed")
    if address.is_mapped:
        return CelError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return address


def is_canonical(text: str) -> Any:
    """Compute `ip.isCanonical(text)`."""
    address = parse_ip(text)
    return address if type(address) is CelError else str(address) == text


def parse_cidr(text: str) -> Any:
    """Compute `cidr(text)`."""
    try:
        prefix = parse_prefix(text)
    except AddressError as error:
        # Upstream wraps the error twice in the same words.
        return CelError(f"{_CONVERSION}: {_CONVERSION}: {error}")
    if prefix.address.is_mapped:
        return CelError(f"{_CONVERSION}: IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return prefix


def _contains_text(prefix: Prefix, text: str) -> Any:
    address = parse_ip(text)
    # Upstream drops the parse error here, but passes on that of a CIDR below.
    return prefix.contains(address) if type(address) is Address else NO_OVERLOAD


def _covers_text(prefix: Prefix, text: str) -> Any:
    other = parse_cidr(text)
    return prefix.covers(other) if type(other) is Prefix else other


def _estimate_comparison(*, network: bool, text: bool) -> Estimate:
    base = (_BYTES + _BYTES).scale_by(TRAVERSAL_FACTOR)
    if network:
        base = base + _BYTES.scale_by(TRAVERSAL_FACTOR) + ONE

    def estimate(operands: Sequence[SizedOperand]) -> CallEstimate:
        return CallEstimate(base + operands[1].size.scale_by(TRAVERSAL_FACTOR) if text else base)

    return estimate


def _charge_comparison(*, network: bool, text: bool) -> Charge:
    def charge(args: Sequence[Any], result: Any) -> int:
        size = size_of(args[0])
        cost = math.ceil((size + size) * TRAVERSAL_FACTOR)
        if network:
            cost += math.ceil(size * TRAVERSAL_FACTOR) + 1
        return cost + costs.traversal_cost(size_of(args[1])) if text else cost

    return charge


def _comparison_overload(overload_id: str, other: types.CelType, run: Callable[..., Any], *, network: bool) -> Overload:
    estimate = _estimate_comparison(network=network, text=other == STRING)
    charge = _charge_comparison(network=network, text=other == STRING)
    return Overload(overload_id, (_CIDR, other), BOOL, run, member=True, estimate=estimate, charge=charge)


def _declare_predicate(name: str, overload_id: str, test: Callable[[Address], bool]) -> Function:
    return Function(name, (member_overload(overload_id, (_IP,), BOOL, test),), estimate=costs.estimate_unit)


def _declare_parser(name: str, overload: Overload, walks: int = 1) -> Function:
    estimate, charge = costs.estimate_traversal(0, walks), costs.charge_traversal(0, walks)
    return Function(name, (overload,), estimate=estimate, charge=charge)


FUNCTIONS: Final = (
    _declare_parser("ip", global_overload("string_to_ip", (STRING,), _IP, parse_ip)),
    Function(
        "family",
        (member_overload("ip_family", (_IP,), INT, lambda address: address.version),),
        estimate=costs.estimate_unit,
    ),
    _declare_parser("ip.isCanonical", global_overload("ip_is_canonical", (STRING,), BOOL, is_canonical), 2),
    _declare_predicate("isUnspecified", "ip_is_unspecified", lambda address: address.is_unspecified),
    _declare_predicate("isLoopback", "ip_is_loopback", lambda address: address.is_loopback),
    _declare_predicate(
        "isLinkLocalMulticast", "ip_is_link_local_multicast", lambda address: address.is_link_local_multicast
    ),
    _declare_predicate("isLinkLocalUnicast", "ip_is_link_local_unicast", lambda address: address.is_link_local_unicast),
    _declare_predicate("isGlobalUnicast", "ip_is_global_unicast", lambda address: address.is_global_unicast),
    _declare_parser("isIP", global_overload("is_ip", (STRING,), BOOL, lambda text: type(parse_ip(text)) is Address)),
    Function("string", (global_overload("ip_to_string", (_IP,), STRING, str),)),
    _declare_parser("cidr", global_overload("string_to_cidr", (STRING,), _CIDR, parse_cidr)),
    Function(
        "containsIP",
        (
            _comparison_overload("cidr_contains_ip_string", STRING, _contains_text, network=False),
            _comparison_overload("cidr_contains_ip_ip", _IP, Prefix.contains, network=False),
        ),
        charge=_charge_comparison(network=False, text=False),
    ),
    Function(
        "containsCIDR",
        (
            _comparison_overload("cidr_contains_cidr_string", STRING, _covers_text, network=True),
            _comparison_overload("cidr_contains_cidr", _CIDR, Prefix.covers, network=True),
        ),
        charge=_charge_comparison(network=True, text=False),
    ),
    Function(
        "ip",
        (
            Overload(
                "cidr_ip",
                (_CIDR,),
                _IP,
                lambda prefix: prefix.address,
                member=True,
                estimate=costs.estimate_unit,
                charge=costs.charge_unit,
            ),
        ),
    ),
    Function(
        "prefixLength",
        (member_overload("cidr_prefix_length", (_CIDR,), INT, lambda prefix: prefix.length),),
        estimate=costs.estimate_unit,
    ),
    Function("masked", (member_overload("cidr_masked", (_CIDR,), _CIDR, Prefix.masked),), estimate=costs.estimate_unit),
    _declare_parser(
        "isCIDR", global_overload("is_cidr", (STRING,), BOOL, lambda text: type(parse_cidr(text)) is Prefix)
    ),
    Function("string", (global_overload("cidr_to_string", (_CIDR,), STRING, str),)),
)
