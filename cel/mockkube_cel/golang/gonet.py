"""IP addresses and networks as Go's net/netip parses and prints them."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from mockkube_cel.golang.strconv import quote

_HEX: Final = re.compile("[0-9a-fA-F]*")


class AddressError(ValueError):
    """Text that is no IP address or network; the message is Go's."""


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address: version, number, and zone if there is one."""

    version: int
    number: int
    zone: str = ""

    @property
    def bits(self) -> int:
        """Length of the address in bits."""
        return 32 if self.version == 4 else 128

    @property
    def byte_size(self) -> int:
        """Length of the address in bytes."""
        return self.bits // 8

    @property
    def is_mapped(self) -> bool:
        """True for an IPv4 address in IPv6 notation (Go: Is4In6)."""
        return self.version == 6 and self.number >> 32 == 0xFFFF

    @property
    def is_unspecified(self) -> bool:
        """True if all bits are zero."""
        return self.number == 0

    @property
    def is_loopback(self) -> bool:
        """True for loopback addresses."""
        return self.number >> 24 == 127 if self.version == 4 else self.number == 1

    @property
    def is_multicast(self) -> bool:
        """True for multicast addresses."""
        return self.number >> 28 == 0xE if self.version == 4 else self.number >> 120 == 0xFF

    @property
    def is_link_local_multicast(self) -> bool:
        """True for link-local multicast addresses."""
        return self.number >> 8 == 0xE00000 if self.version == 4 else (self.number >> 112) & 0xFF0F == 0xFF02

    @property
    def is_link_local_unicast(self) -> bool:
        """True for link-local unicast addresses."""
        return self.number >> 16 == 0xA9FE if self.version == 4 else self.number >> 118 == 0xFE80 >> 6

    @property
    def is_global_unicast(self) -> bool:
        """True for addresses that are none of the special kinds."""
        broadcast = self.version == 4 and self.number == 0xFFFFFFFF
        special = self.is_unspecified or self.is_loopback or self.is_multicast or self.is_link_local_unicast
        return not (broadcast or special)

    def __str__(self) -> str:
        if self.version == 4:
            return str(IPv4Address(self.number))
        return str(IPv6Address(self.number))


@dataclass(frozen=True, slots=True)
class Prefix:
    """A network: an address and the length of its prefix in bits."""

    address: Address
    length: int

    @property
    def byte_size(self) -> int:
        """Length of the prefix in bytes."""
        return -(-self.length // 8)

    def _leading_bits(self, number: int, length: int) -> int:
        return number >> (self.address.bits - length)

    def contains(self, address: Address) -> bool:
        """Return whether the address lies in the network."""
        if address.version != self.address.version:
            return False
        return self._leading_bits(address.number, self.length) == self._leading_bits(self.address.number, self.length)

    def covers(self, other: "Prefix") -> bool:
        """Return whether the other network lies in this one."""
        return self.length <= other.length and self.contains(other.address)

    def masked(self) -> "Prefix":
        """Return the network with the host bits cleared."""
        shift = self.address.bits - self.length
        return Prefix(Address(self.address.version, self.address.number >> shift << shift), self.length)

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"


def parse_address(text: str) -> Address:
    """Parse an address, with a zone if there is one."""
    # As in Go's ParseAddr, the first dot, colon or percent sign decides the kind, and so the error text.
    for letter in text:
        if letter == ".":
            return Address(4, _parse_ipv4(text, text))
        if letter == ":":
            return _parse_ipv6(text)
        if letter == "%":
            raise _address_error(text, "missing IPv6 address")
    raise _address_error(text, "unable to parse IP")


def _address_error(text: str, message: str, at: str | None = None) -> AddressError:
    place = f" (at {quote(at)})" if at is not None else ""
    return AddressError(f"ParseAddr({quote(text)}): {message}{place}")


def _parse_ipv4(whole: str, part: str) -> int:
    fields: list[int] = []
    value = digits = 0
    for index, letter in enumerate(part):
        if "0" <= letter <= "9":
            if digits == 1 and value == 0:
                raise _address_error(whole, "IPv4 field has octet with leading zero")
            value = value * 10 + int(letter)
            digits += 1
            if value > 255:
                raise _address_error(whole, "IPv4 field has value >255")
        elif letter == ".":
            if index in (0, len(part) - 1) or part[index - 1] == ".":
                raise _address_error(whole, "IPv4 field must have at least one digit", part[index:])
            if len(fields) == 3:
                raise _address_error(whole, "IPv4 address too long")
            fields.append(value)
            value = digits = 0
        else:
            raise _address_error(whole, "unexpected character", part[index:])
    if len(fields) < 3:
        raise _address_error(whole, "IPv4 address too short")
    return int.from_bytes(bytes((*fields, value)))


def _parse_ipv6(whole: str) -> Address:
    text, percent, zone = whole.partition("%")
    if percent and not zone:
        raise _address_error(whole, "zone must be a non-empty string")
    ellipsis: int | None = None
    groups: list[int] = []
    if text.startswith("::"):
        ellipsis = 0
        text = text[2:]
    while text and len(groups) < 8:
        length = _group_length(whole, text)
        if text[length : length + 1] == ".":
            groups += _parse_embedded_ipv4(whole, text, len(groups), fixed=ellipsis is None)
            text = ""
            break
        groups.append(int(text[:length], 16))
        text = text[length:]
        if not text:
            break
        text = _skip_colon(whole, text)
        # A second colon directly after the first: the ellipsis, which replaces groups of zeros.
        if text[0] == ":":
            if ellipsis is not None:
                raise _address_error(whole, "multiple :: in address", text)
            ellipsis = len(groups)
            text = text[1:]
    if text:
        raise _address_error(whole, "trailing garbage after address", text)
    return Address(6, _join_groups(whole, groups, ellipsis), zone)


def _group_length(whole: str, text: str) -> int:
    match = _HEX.match(text)
    length = match.end() if match else 0
    if length > 4:
        raise _address_error(whole, "each group must have 4 or less digits", text)
    if length == 0:
        raise _address_error(whole, "each colon-separated field must have at least one digit", text)
    return length


def _parse_embedded_ipv4(whole: str, text: str, count: int, *, fixed: bool) -> list[int]:
    if fixed and count != 6:
        raise _address_error(whole, "embedded IPv4 address must replace the final 2 fields of the address", text)
    if count > 6:
        raise _address_error(whole, "too many hex fields to fit an embedded IPv4 at the end of the address", text)
    number = _parse_ipv4(whole, text)
    return [number >> 16, number & 0xFFFF]


def _skip_colon(whole: str, text: str) -> str:
    if text[0] != ":":
        raise _address_error(whole, "unexpected character, want colon", text)
    if len(text) == 1:
        raise _address_error(whole, "colon must be followed by more characters", text)
    return text[1:]


def _join_groups(whole: str, groups: list[int], ellipsis: int | None) -> int:
    if len(groups) < 8:
        if ellipsis is None:
            raise _address_error(whole, "address string too short")
        groups[ellipsis:ellipsis] = [0] * (8 - len(groups))
    elif ellipsis is not None:
        raise _address_error(whole, "the :: must expand to at least one field of zeros")
    number = 0
    for group in groups:
        number = number << 16 | group
    return number


def parse_prefix(text: str) -> Prefix:
    """Parse a network: an address, a slash, a number of bits."""
    name, slash, bits = text.rpartition("/")
    if not slash:
        raise AddressError(f"netip.ParsePrefix({quote(text)}): no '/'")
    try:
        address = parse_address(name)
    except AddressError as error:
        raise AddressError(f"netip.ParsePrefix({quote(text)}): {error}") from None
    if address.zone:
        raise AddressError(f"netip.ParsePrefix({quote(text)}): IPv6 zones cannot be present in a prefix")
    # Longer numbers are no prefix length in any case; the bound keeps int() from parsing megabytes of digits.
    if not (bits.isascii() and bits.isdigit()) or (len(bits) > 1 and bits[0] == "0") or len(bits) > 18:
        raise AddressError(f"netip.ParsePrefix({quote(text)}): bad bits after slash: {quote(bits)}")
    if int(bits) > address.bits:
        raise AddressError(f"netip.ParsePrefix({quote(text)}): prefix length out of range")
    return Prefix(address, int(bits))
