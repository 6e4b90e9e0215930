"""Addresses, URLs and times as Go's standard library reads and prints them."""

import ipaddress
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mockkube_cel.golang import gonet, gotime, gourl
from mockkube_cel.values import Duration, Timestamp


@given(st.ip_addresses())
def test_every_address_is_read_and_printed(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    read = gonet.parse_address(str(address))
    assert (read.version, read.number) == (address.version, int(address))
    assert gonet.parse_address(str(read)) == read


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("1.2.3", 'ParseAddr("1.2.3"): IPv4 address too short', id="too short"),
        pytest.param("1.2.3.4.5", 'ParseAddr("1.2.3.4.5"): IPv4 address too long', id="too long"),
        pytest.param("1.2.3.256", 'ParseAddr("1.2.3.256"): IPv4 field has value >255', id="too large"),
        pytest.param("1.02.3.4", 'ParseAddr("1.02.3.4"): IPv4 field has octet with leading zero', id="leading zero"),
        pytest.param(
            "1..2.3", 'ParseAddr("1..2.3"): IPv4 field must have at least one digit (at ".2.3")', id="no digit"
        ),
        pytest.param("::1::", 'ParseAddr("::1::"): multiple :: in address (at ":")', id="two gaps"),
        pytest.param("1:2", 'ParseAddr("1:2"): address string too short', id="too few groups"),
        pytest.param(
            "12345::", 'ParseAddr("12345::"): each group must have 4 or less digits (at "12345::")', id="long"
        ),
        pytest.param(
            "1:2:3:4:5:6:7:8:9", 'ParseAddr("1:2:3:4:5:6:7:8:9"): trailing garbage after address (at "9")', id="9"
        ),
        pytest.param("host", 'ParseAddr("host"): unable to parse IP', id="a name"),
    ],
)
def test_what_is_no_address_is_explained(text: str, complaint: str) -> None:
    with pytest.raises(gonet.AddressError) as raised:
        gonet.parse_address(text)
    assert str(raised.value) == complaint


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("10.0.0.0", "no '/'", id="no length"),
        pytest.param("10.0.0.0/33", "prefix length out of range", id="too long"),
        pytest.param("10.0.0.0/08", 'bad bits after slash: "08"', id="leading zero"),
        pytest.param("fe80::%1/64", "IPv6 zones cannot be present in a prefix", id="a zone"),
    ],
)
def test_what_is_no_network_is_explained(text: str, complaint: str) -> None:
    with pytest.raises(gonet.AddressError) as raised:
        gonet.parse_prefix(text)
    assert str(raised.value) == f'netip.ParsePrefix("{text}"): {complaint}'


@given(st.ip_addresses(v=4), st.integers(0, 32))
def test_a_network_holds_its_own_address(address: ipaddress.IPv4Address, length: int) -> None:
    prefix = gonet.parse_prefix(f"{address}/{length}")
    assert prefix.contains(prefix.address)
    assert prefix.masked().covers(prefix)
    assert prefix.masked().masked() == prefix.masked()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("", "empty url", id="nothing"),
        pytest.param("a/b", "invalid URI for request", id="a relative path"),
        pytest.param("http://a b/", 'invalid character " " in host name', id="a space in the host"),
        pytest.param("http://a/%zz", 'invalid URL escape "%zz"', id="a bad escape"),
        pytest.param("http://a:x/", 'invalid port ":x" after host', id="a bad port"),
        pytest.param("http://[::1/", "missing ']' in host", id="an open bracket"),
        pytest.param(":a", "missing protocol scheme", id="no scheme"),
    ],
)
def test_what_is_no_url_is_explained(text: str, complaint: str) -> None:
    with pytest.raises(gourl.UrlError) as raised:
        gourl.parse_request(text)
    assert str(raised.value) == f'parse "{text}": {complaint}'


def test_a_url_in_its_parts() -> None:
    url = gourl.parse("HTTPS://u:p@[::1]:8080/a%20b/%2F?x=1&y=2;z&x=3#f")
    assert (url.scheme, url.host, url.hostname, url.port) == ("https", "[::1]:8080", "::1", "8080")
    assert url.escaped_path == "/a%20b/%2F"
    assert url.parse_query() == {"x": ["1", "3"]}
    assert str(url) == "https://u:p@[::1]:8080/a%20b/%2F?x=1&y=2;z&x=3#f"


@given(st.datetimes())
def test_moments_are_read_and_printed(moment: datetime) -> None:
    read = gotime.parse_timestamp(f"{moment.isoformat()}Z")
    assert read is not None
    assert gotime.parse_timestamp(gotime.format_timestamp(read)) == read
    assert gotime.civil_date(read, 0) == (moment.year, moment.month, moment.day)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("2023-02-29T00:00:00Z", id="no such day"),
        pytest.param("2023-01-01T24:00:00Z", id="no such hour"),
        pytest.param("2023-01-01 00:00:00Z", id="a space"),
        pytest.param("2023-01-01T00:00:00", id="no zone"),
        pytest.param("2023-01-01T00:00:00+25:00", id="no such zone"),
    ],
)
def test_what_is_no_moment(text: str) -> None:
    assert gotime.parse_timestamp(text) is None


def test_an_offset_is_kept_for_printing_and_ignored_in_comparison() -> None:
    east = gotime.parse_timestamp("2024-01-01T01:00:00+01:00")
    assert east == Timestamp(1704067200 * gotime.SECOND)
    assert gotime.format_timestamp(east) == "2024-01-01T01:00:00+01:00"


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        pytest.param("1h30m", 5400 * gotime.SECOND, id="two units"),
        pytest.param("-1.5s", -1_500_000_000, id="a fraction"),
        pytest.param("0", 0, id="zero needs no unit"),
        pytest.param("1us", 1000, id="microseconds"),
        pytest.param(".5µs", 500, id="the sign of micro"),
        pytest.param("-9223372036854775808ns", -(2**63), id="the least"),
    ],
)
def test_spans_are_read(text: str, nanos: int) -> None:
    assert gotime.parse_duration(text) == Duration(nanos)


@pytest.mark.parametrize("text", ["", "1", "h", "1d", "1h ", "+", "9223372036854775808ns", "3000000h"])
def test_what_is_no_span(text: str) -> None:
    assert gotime.parse_duration(text) is None


def test_time_zones_by_name_and_by_number() -> None:
    winter = Timestamp(1704067200 * gotime.SECOND)
    assert gotime.zone_offset(winter, "Europe/Berlin") == 3600
    assert gotime.zone_offset(winter, "-02:30") == -9000
    with pytest.raises(gotime.ZoneError, match="unknown time zone Mars"):
        gotime.zone_offset(winter, "Mars")
    with pytest.raises(gotime.ZoneError, match="invalid location name"):
        gotime.zone_offset(winter, "../etc/passwd")
