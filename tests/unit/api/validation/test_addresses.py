import pytest

from mockkube.api.validation.addresses import (
    get_cidr_warnings,
    get_ip_warnings,
    parse_cidr,
    parse_ip,
    validate_cidr,
    validate_cidr_for_legacy_field,
    validate_endpoint_ip,
    validate_interface_address,
    validate_ip,
    validate_ip_for_legacy_field,
)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        pytest.param("10.0.0.1", "10.0.0.1", id="IPv4"),
        pytest.param("010.002.000.001", "10.2.0.1", id="leading zeros are decimal"),
        pytest.param("::ffff:1.2.3.4", "1.2.3.4", id="mapped into IPv6"),
        pytest.param("2001:DB8::0:1", "2001:db8::1", id="IPv6"),
        pytest.param("fe80::1%eth0", "None", id="a zone makes it none"),
        pytest.param("10.0.0", "None", id="too short"),
        pytest.param("", "None", id="empty"),
    ],
)
def test_an_address_is_read_leniently(text, address):
    assert str(parse_ip(text)) == address


@pytest.mark.parametrize(
    ("text", "network"),
    [
        pytest.param("10.1.2.3/8", "10.0.0.0/8", id="masked"),
        pytest.param("::ffff:10.0.0.0/104", "10.0.0.0/8", id="mapped into IPv6"),
        pytest.param("10.0.0.0", "None", id="no length"),
        pytest.param("10.0.0.0/33", "None", id="too long"),
        pytest.param("10.0.0.0/x", "None", id="no number"),
    ],
)
def test_a_range_is_read_leniently(text, network):
    assert str(parse_cidr(text)) == network


def test_what_was_stored_stays_valid():
    assert validate_ip_for_legacy_field("010.0.0.1", "ip", strict=True) != []
    assert validate_ip_for_legacy_field("010.0.0.1", "ip", strict=True, stored=["010.0.0.1"]) == []
    assert validate_cidr_for_legacy_field("10.0.0.1/8", "cidr", strict=True, stored=["10.0.0.1/8"]) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("1.2.3.4", None, id="canonical"),
        pytest.param("01.2.3.4", "must not have leading 0s", id="leading zeros"),
        pytest.param("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address", id="mapped"),
        pytest.param("2001:db8:0::1", 'must be in canonical form ("2001:db8::1")', id="longer than need be"),
    ],
)
def test_a_strict_address_is_canonical(text, complaint):
    assert [error.detail for error in validate_ip(text, "ip")] == ([complaint] if complaint else [])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("10.0.0.0/8", None, id="canonical"),
        pytest.param("10.0.0.0/08", "must not have leading 0s in IP or prefix length", id="padded length"),
        pytest.param("10.0.0.1/8", "must not have bits set beyond the prefix length", id="bits beyond"),
    ],
)
def test_a_strict_range_is_canonical(text, complaint):
    assert [error.detail for error in validate_cidr(text, "cidr")] == ([complaint] if complaint else [])


@pytest.mark.parametrize("text", ["0.0.0.0", "127.0.0.1", "::1", "169.254.1.1", "fe80::1", "224.0.0.5"])
def test_nobody_is_reached_at_a_special_address(text):
    assert len(validate_endpoint_ip(text, "ip")) == 1


def test_odd_addresses_earn_a_warning():
    assert get_ip_warnings("010.0.0.1", "ip") == ['ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"']
    assert get_ip_warnings("2001:db8:0::1", "ip") == [
        'ip: IPv6 address "2001:db8:0::1" should be in RFC 5952 canonical format ("2001:db8::1")'
    ]
    assert get_ip_warnings("10.0.0.1", "ip") == []


def test_an_ambiguous_range_earns_a_warning():
    assert get_cidr_warnings("10.0.0.1/8", "c") == [
        'c: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)'
    ]


def test_the_address_of_an_interface_keeps_its_host_bits():
    assert validate_interface_address("10.9.8.7/24", "ips") == []
    assert validate_interface_address("010.9.8.7/24", "ips")[0].detail == 'must be in canonical form ("10.9.8.7/24")'
