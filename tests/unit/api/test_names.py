"""The forms of names, in upstream's words."""

import pytest

from mockkube.api import names

LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'"


@pytest.mark.parametrize(
    ("check", "name"),
    [
        pytest.param(names.check_dns_subdomain, "a-b.c1", id="subdomain"),
        pytest.param(names.check_dns_subdomain, "a" * 253, id="longest subdomain"),
        pytest.param(names.check_dns_label, "1a-b", id="label may start with a digit"),
        pytest.param(names.check_dns1035_label, "a1", id="RFC 1035 label"),
        pytest.param(names.check_path_segment, "a:b", id="path segment"),
        pytest.param(names.check_qualified_name, "example.com/Some_Name.1", id="label key with a domain"),
        pytest.param(names.check_label_value, "", id="empty label value"),
        pytest.param(names.check_config_map_key, ".a", id="config key with a leading dot"),
        pytest.param(names.check_relaxed_env_var_name, "1 odd-name", id="relaxed variable"),
        pytest.param(names.check_env_var_name, "A.b-C_1", id="strict variable"),
        pytest.param(names.check_port_name, "http-1", id="port name"),
        pytest.param(names.check_wildcard_subdomain, "*.a.b", id="wildcard"),
        pytest.param(names.check_dns_subdomain_with_underscores, "_a.b_c", id="underscores"),
        pytest.param(names.check_percent, "10%", id="percentage"),
        pytest.param(names.check_c_identifier, "_a1", id="C identifier"),
        pytest.param(names.check_http_header_name, "X-A", id="HTTP header"),
        pytest.param(names.check_decimal_integer, "-12", id="negative integer"),
        pytest.param(names.check_decimal_integer, "0", id="zero"),
    ],
)
def test_good_names_pass(check, name):
    assert check(name) == []


@pytest.mark.parametrize(
    ("check", "name", "says"),
    [
        pytest.param(names.check_dns_label, "a.b", ["must not contain dots"], id="label with a dot"),
        pytest.param(names.check_dns_label, "a" * 64, ["must be no more than 63 characters"], id="long label"),
        pytest.param(
            names.check_path_segment, "a/b%", ["may not contain '/'", "may not contain '%'"], id="path segment"
        ),
        pytest.param(names.check_path_segment, "..", ["may not be '..'"], id="parent"),
        pytest.param(names.check_label_value, "a" * 64, ["must be no more than 63 bytes"], id="long label value"),
        pytest.param(names.check_config_map_key, "..a", ["must not start with '..'"], id="climbing key"),
        pytest.param(names.check_port_number, 0, ["must be between 1 and 65535, inclusive"], id="port 0"),
        pytest.param(names.check_unix_id, -1, ["must be between 0 and 2147483647, inclusive"], id="negative user"),
        pytest.param(names.check_decimal_integer, "", ["must be non-empty"], id="no integer"),
        pytest.param(
            names.check_port_name,
            "-1--",
            [
                "must contain at least one letter (a-z)",
                "must not contain consecutive hyphens",
                "must not begin or end with a hyphen",
            ],
            id="port of hyphens",
        ),
    ],
)
def test_bad_names_are_told_why(check, name, says):
    assert check(name) == says


@pytest.mark.parametrize("number", ["08", "+5", "-0", "-", "1_000", "1.0", "1e3", " 1", "１"])
def test_an_integer_has_one_way_to_be_written(number):
    assert names.check_decimal_integer(number) == ["must be a valid decimal integer in canonical form"]


def test_a_trailing_newline_is_part_of_the_name():
    assert names.check_dns_label("a\n")
    assert names.check_label_value("a\n")


def test_length_is_counted_in_bytes():
    assert names.byte_length("é") == 2


def test_a_form_is_shown_with_examples_and_regular_expression():
    assert names.check_qualified_name("a b") == [
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
        "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    ]


def test_a_label_key_complains_of_both_its_parts():
    assert names.check_qualified_name("/")[:2] == ["prefix part must be non-empty", "name part must be non-empty"]
    assert names.check_qualified_name("A_/b")[0].startswith("prefix part a lowercase RFC 1123 subdomain")
    assert names.check_qualified_name("a/b/c")[0].startswith("a valid label key must consist of")


def test_a_generated_name_may_end_in_a_dash():
    assert names.check_dns_subdomain("web-", prefix=True) == []
    assert names.check_dns_label("web-")[0].startswith(LABEL)
    assert names.check_path_segment("..", prefix=True) == []
