"""Quantities: the written form after a round trip, the amounts behind it, the complaints."""

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.quantities.quantity import Format, Quantity, parse, to_canonical
from mockkube.api.quantities.resources import Resources

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4}

numbers = st.from_regex(r"[+-]?[0-9]{1,6}(\.[0-9]{1,6})?", fullmatch=True)
suffixes = st.sampled_from([*DECIMAL, *BINARY, "e3", "E-2", "e0", "e7"])
texts = st.builds(lambda number, suffix: number + suffix, numbers, suffixes).filter(lambda t: not t.endswith("E"))


def worth(text: str) -> Fraction:
    """The amount by the book: the number times what its suffix says, fractions of a billionth rounded away."""
    number, suffix = re.fullmatch(r"([+-]?[0-9.]+)(.*)", text).groups()
    if suffix in BINARY:
        amount = Fraction(number) * 1024 ** BINARY[suffix]
    else:
        exponent = DECIMAL[suffix] if suffix in DECIMAL else int(suffix[1:])
        amount = Fraction(number) * Fraction(10) ** exponent
    nano = amount * 10**9
    return Fraction(-(abs(nano).__floor__() + (nano.denominator > 1)) if nano < 0 else nano.__ceil__(), 10**9)


@pytest.mark.parametrize(
    ("given_value", "written"),
    [
        pytest.param("1000m", "1", id="whole after all"),
        pytest.param("1024Ki", "1Mi", id="next binary suffix"),
        pytest.param("1000Ki", "1000Ki", id="thousand is no binary step"),
        pytest.param(0.5, "500m", id="json fraction"),
        pytest.param(2, "2", id="json integer"),
        pytest.param(1000, "1k", id="json thousand"),
        pytest.param(1e-7, "100e-9", id="json number Go writes with an exponent"),
        pytest.param("1.5Gi", "1536Mi", id="binary fraction"),
        pytest.param("0.1Ki", "102400m", id="binary fraction below a Ki leaves the family"),
        pytest.param("0.5Ki", "512", id="less than a Ki"),
        pytest.param("1.00001Ki", "1024010240u", id="binary with a remainder leaves the family"),
        pytest.param("1e3", "1e3", id="exponent stays"),
        pytest.param("1000e1", "10e3", id="exponent in steps of three"),
        pytest.param("50e-1", "5", id="exponent of zero is left away"),
        pytest.param("5E0", "5E0", id="exponent taken as it stands"),
        pytest.param("0.1n", "1n", id="rounded up beyond nano"),
        pytest.param("-0.1n", "-1n", id="rounded away from zero beyond nano"),
        pytest.param("+5", "+5", id="sign taken as it stands"),
        pytest.param("005", "005", id="zeros taken as they stand"),
        pytest.param("1.500", "1.500", id="thousandths taken as they stand"),
        pytest.param("1.000", "1", id="three zeros are not"),
        pytest.param("1.5", "1500m", id="tenths become milli"),
        pytest.param("0.123", "123m", id="no whole part"),
        pytest.param(".5", "500m", id="no digit before the point"),
        pytest.param("5.", "5.", id="no digit after the point"),
        pytest.param(".", "0", id="no digit at all"),
        pytest.param("-", "0", id="only a sign"),
        pytest.param("0Gi", "0", id="nothing has no suffix"),
        pytest.param("-1024Ki", "-1Mi", id="negative"),
        pytest.param(" 7 ", "7", id="spaces around"),
        pytest.param("8Ei", str(2**63 - 1), id="binary is capped"),
        pytest.param("-9Ei", str(1 - 2**63), id="binary is capped below"),
        pytest.param("1000E", "1", id="beyond the last suffix"),
        pytest.param("123456789012345678901", "123456789012345678901", id="more than 64 bits"),
        pytest.param("1e2147483646", "1e2147483646", id="absurd exponent costs nothing"),
    ],
)
def test_canonical_is_what_the_api_writes_back(given_value, written):
    assert to_canonical(given_value) == written


FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("", FORMAT, id="empty"),
        pytest.param("a lot", FORMAT, id="words"),
        pytest.param("1.2.3", FORMAT, id="two points"),
        pytest.param("1 Gi", FORMAT, id="space inside"),
        pytest.param("1\n2", FORMAT, id="two lines"),
        pytest.param("٣", FORMAT, id="digits of another script"),
        pytest.param(True, FORMAT, id="json boolean"),
        pytest.param("1ki", "unable to parse quantity's suffix", id="unknown suffix"),
        pytest.param("1e", "unable to parse quantity's suffix", id="exponent without a number"),
        pytest.param("1e+", "unable to parse quantity's suffix", id="exponent with only a sign"),
        pytest.param("1e99999999999999999999", "unable to parse quantity's suffix", id="exponent beyond 64 bits"),
        pytest.param("1-", "unable to parse quantity's suffix", id="sign for a suffix"),
        pytest.param(".e-20", "unable to parse numeric part of quantity", id="only a point, and too fine"),
    ],
)
def test_what_is_no_quantity_is_refused_in_upstreams_words(text, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        to_canonical(text)


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [
        pytest.param("1500m", 2, 1500, id="rounds up"),
        pytest.param("-1500m", -2, -1500, id="rounds away from zero"),
        pytest.param("1n", 1, 1, id="a little is at least one"),
        pytest.param("1Gi", 2**30, 2**30 * 1000, id="binary"),
        pytest.param("1e30", 2**63 - 1, 2**63 - 1, id="as much as 64 bits hold"),
        pytest.param("1e2147483646", 2**63 - 1, 2**63 - 1, id="absurd"),
        pytest.param("0", 0, 0, id="nothing"),
    ],
)
def test_integers_round_away_from_zero(text, value, milli):
    assert parse(text).value() == value
    assert parse(text).milli() == milli


def test_equal_amounts_are_equal_whatever_the_suffix():
    assert parse("1") == parse("1000m")
    assert hash(parse("1Ki")) == hash(parse("1024"))
    assert parse("1") != "1"


def test_a_sum_is_written_in_the_format_of_the_first_that_is_not_zero():
    assert str(parse("1Gi") + parse("1024M")) == "2048576Ki"
    assert str(parse("0") + parse("512Mi") + parse("512Mi")) == "1Gi"
    assert str(parse("2") - parse("500m")) == "1500m"
    assert str(Quantity(Decimal(2048), Format.BINARY_SI)) == "2Ki"


@pytest.mark.parametrize(("text", "sign", "whole"), [("0", 0, True), ("-1500m", -1, False), ("3e3", 1, True)])
def test_sign_and_wholeness(text, sign, whole):
    assert parse(text).sign == sign
    assert parse(text).is_integer is whole


@given(texts)
def test_canonical_is_canonical_already(text):
    assert to_canonical(to_canonical(text)) == to_canonical(text)


@given(texts)
def test_the_amount_is_what_number_and_suffix_say_and_survives_the_round_trip(text):
    assert Fraction(parse(text).amount) == worth(text)
    if abs(parse(text).amount) < 10**18:
        assert parse(to_canonical(text)) == parse(text)


@given(texts, texts)
def test_order_and_sums_are_those_of_the_amounts(left, right):
    assert (parse(left) < parse(right)) is (worth(left) < worth(right))
    assert Fraction((parse(left) + parse(right)).amount) == worth(left) + worth(right)
    assert Fraction((parse(left) - parse(right)).amount) == worth(left) - worth(right)


HUGE = st.one_of(
    st.integers(-(2**31), 2**31 - 1).map(lambda exponent: f"1e{exponent}"),
    st.tuples(st.integers(0, 3000), st.sampled_from(["", "m", "E", "Ei", "e999999999", "e-999999999"])).map(
        lambda parts: "9" * (parts[0] + 1) + parts[1]
    ),
)


@given(HUGE, HUGE)
def test_no_quantity_is_too_large_to_compute_with(one, other):
    first, second = parse(one), parse(other)
    assert -(2**63) < first.value() < 2**63
    assert (
        -(2**63)
        < Resources.from_resource_list({"cpu": one, "memory": other, "example.com/x": one}).get_amount("cpu")
        < 2**63
    )
    assert len(str(first + second)) < 5000
    assert len(str(first - second)) < 5000
    assert (first.amount + second.amount) * 1000 >= min(first.amount, second.amount)
    assert to_canonical(to_canonical(one)) == to_canonical(one)


def test_a_quantity_of_a_megabyte_is_written_back_and_not_remembered():
    text = "7" * 1_000_000
    assert to_canonical(text) == text
    assert parse(text).value() == 2**63 - 1
    assert parse(text) is not parse(text)


def test_a_binary_sum_with_an_absurd_amount_is_written():
    assert str(parse("1Ki") + parse("1e999999999"))
