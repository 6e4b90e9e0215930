import pytest
from hypothesis import given
from hypothesis import strategies as st
from mockkube_cel.golang.strconv import NumberError

from mockkube.matching import integers


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_every_64_bit_integer_is_read_as_python_writes_it(number: int) -> None:
    assert integers.parse_canonical(str(number)) == number
    assert integers.validate_integer(str(number)) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("0950", id="leading zero"),
        pytest.param("+5", id="plus"),
        pytest.param("-0", id="minus zero"),
        pytest.param(" 5", id="space"),
        pytest.param("5.0", id="fraction"),
        pytest.param("٥", id="digit of another script"),
    ],
)
def test_what_no_person_would_write_is_refused(text: str) -> None:
    with pytest.raises(NumberError, match="must be a valid decimal integer in canonical form"):
        integers.parse_canonical(text)


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        pytest.param(
            "",
            ["must be non-empty", 'strconv.ParseInt: parsing "": invalid syntax'],
            id="empty is neither form nor number",
        ),
        pytest.param("+5", ["must be a valid decimal integer in canonical form"], id="a number in a wrong form"),
        pytest.param(
            "9223372036854775808",
            ['strconv.ParseInt: parsing "9223372036854775808": value out of range'],
            id="the right form but too large",
        ),
        pytest.param(
            'a"b',
            ["must be a valid decimal integer in canonical form", 'strconv.ParseInt: parsing "a\\"b": invalid syntax'],
            id="quoted as Go does",
        ),
    ],
)
def test_validation_asks_for_the_form_and_then_for_the_range(text: str, complaints: list[str]) -> None:
    assert integers.validate_integer(text) == complaints


def test_thousands_of_digits_are_out_of_range_and_no_crash() -> None:
    assert "value out of range" in integers.validate_integer("9" * 10_000)[0]
