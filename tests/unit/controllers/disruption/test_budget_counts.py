import pytest

from mockkube.controllers.disruption.budget_counts import ExpectedPods, calculate_expected_pods, resolve_int_or_percent


@pytest.mark.parametrize(
    ("value", "up", "count"),
    [
        pytest.param(3, True, 3, id="a number"),
        pytest.param("30%", True, 3, id="rounded up"),
        pytest.param("30%", False, 2, id="rounded down"),
        pytest.param("100%", False, 9, id="all"),
        pytest.param("0%", True, 0, id="none"),
    ],
)
def test_shares_of_nine(value, up, count):
    assert resolve_int_or_percent(value, 9, up=up) == count


@pytest.mark.parametrize(
    ("spec", "result"),
    [
        pytest.param({"minAvailable": 2}, ExpectedPods(4, 2), id="a number is of the pods that are there"),
        pytest.param({"minAvailable": "50%"}, ExpectedPods(5, 3), id="a share is of the pods that are wanted"),
        pytest.param({"maxUnavailable": 1}, ExpectedPods(5, 4), id="one may be missing"),
        pytest.param({"maxUnavailable": 9}, ExpectedPods(5, 0), id="all may be missing"),
        pytest.param({}, ExpectedPods(0, 0), id="nothing is asked"),
    ],
)
def test_what_a_budget_expects(spec, result):
    assert calculate_expected_pods({"spec": spec}, present=4, scale=5) == result
