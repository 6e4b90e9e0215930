import pytest

from mockkube.api.validation.numbers import (
    get_int_or_percent_value,
    validate_at_most_100_percent,
    validate_int_or_percent,
    validate_nonnegative,
    validate_nonnegative_fields,
    validate_port,
    validate_port_or_name,
)


def test_zero_is_not_negative():
    assert validate_nonnegative(0, "n") == []
    assert str(validate_nonnegative(-1, "n")[0]) == "n: Invalid value: -1: must be greater than or equal to 0"


def test_absent_fields_are_zero():
    assert [str(error) for error in validate_nonnegative_fields({"b": -2}, "spec", "a", "b")] == [
        "spec.b: Invalid value: -2: must be greater than or equal to 0"
    ]


@pytest.mark.parametrize(
    ("value", "complaints"),
    [
        pytest.param(3, 0, id="number"),
        pytest.param("25%", 0, id="percentage"),
        pytest.param("-1%", 1, id="negative percentage"),
        pytest.param("3", 1, id="number as text"),
        pytest.param(-3, 1, id="negative number"),
    ],
)
def test_an_amount_is_a_number_or_a_percentage(value, complaints):
    assert len(validate_int_or_percent(value, "at")) == complaints


@pytest.mark.parametrize(("value", "wrong"), [("100%", False), ("101%", True), (500, False)])
def test_only_percentages_have_a_top(value, wrong):
    assert bool(validate_at_most_100_percent(value, "at")) is wrong


@pytest.mark.parametrize(("value", "number"), [("25%", 25), (7, 7), ("x%", 0), (None, 0), ("12", 12)])
def test_the_amount_is_the_number_in_front(value, number):
    assert get_int_or_percent_value(value) == number


def test_ports_have_numbers_or_names():
    assert validate_port(None, "p")[0].detail == "must be between 1 and 65535, inclusive"
    assert validate_port_or_name("http", "p") == []
    assert validate_port_or_name(70000, "p")[0].value == 70000
    assert validate_port_or_name("1", "p")[0].detail == "must contain at least one letter (a-z)"
