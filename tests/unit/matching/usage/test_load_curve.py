from decimal import Decimal

import pytest

from mockkube.matching.usage.load_curve import parse_load_curve


@pytest.mark.parametrize(
    ("text", "age", "expected"),
    [
        pytest.param("250m", 0, "0.25", id="one amount at the start"),
        pytest.param("250m", 86400, "0.25", id="one amount, always"),
        pytest.param("128Mi", 5, str(128 * 1024 * 1024), id="bytes"),
        pytest.param("100m@0s 500m@10m", 0, "0.1", id="first point"),
        pytest.param("100m@0s 500m@10m", 300, "0.3", id="half way"),
        pytest.param("100m@0s 500m@10m", 600, "0.5", id="last point"),
        pytest.param("100m@0s 500m@10m", 7200, "0.5", id="after the last point"),
        pytest.param("100m@1m 500m@2m", 0, "0.1", id="before the first point"),
        pytest.param("0@0s 1@1h 0@2h repeat@2h", 3600 * 5, "1", id="third time over"),
        pytest.param("100m@0s 500m@0.5s", 0.25, "0.3", id="fractions of a second"),
    ],
)
def test_a_curve_is_a_line_from_point_to_point(text: str, age: float, expected: str) -> None:
    assert parse_load_curve(text).get_amount(age) == Decimal(expected)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "no amount", id="empty"),
        pytest.param("much", "quantities must match", id="no quantity"),
        pytest.param("1@soon", "no duration", id="no time"),
        pytest.param("1@0s 2", "has no time", id="a point without a time"),
        pytest.param("1@10s 2@5s", "must ascend", id="times that descend"),
        pytest.param("1@10s 2@10s", "must ascend", id="two amounts at a time"),
        pytest.param("-1", "negative or too large", id="negative"),
        pytest.param("1e30", "negative or too large", id="huge"),
        pytest.param("1@-5s", "no duration", id="negative time"),
        pytest.param("1 repeat@0s", "must be positive", id="no period"),
        pytest.param("repeat@1h", "no amount", id="only a period"),
    ],
)
def test_a_malformed_curve_is_refused_with_its_problem(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_load_curve(text)
