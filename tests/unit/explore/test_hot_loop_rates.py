"""How fast a loop goes, by workload and second."""

import pytest

from mockkube.explore.hot_loop_rates import CreatedPods, HotLoopPath, HotLoopRate, is_steady
from mockkube.explore.plans.orders import ChangeMove
from mockkube.explore.plans.plan import Direction

LOOPING = HotLoopPath((ChangeMove(Direction.UP, "kube-scheduler"),), (("kube-scheduler", "as it is"),))
RATE = HotLoopRate(
    LOOPING,
    61.9,
    30,
    (CreatedPods("deployment/web", ((0, 5), (1, 4), (2, 0))), CreatedPods("pod/x", ((0, 1), (1, 0), (2, 0)))),
)


def test_a_rate_is_told_by_the_minute_with_the_window_it_was_seen_in() -> None:
    assert RATE.per_minute() == 20.0
    assert RATE.per_minute("deployment/web") == 18.0
    assert RATE.describe() == "pods created a minute: deployment/web 18, pod/x 2 (over 30 s)"


def test_programs_get_a_series_to_draw() -> None:
    told = RATE.as_json()
    assert told["moves"] == ["kube-scheduler up"]
    assert told["workloads"][0] == {
        "workload": "deployment/web",
        "perMinute": 18.0,
        "series": [[0, 5], [1, 4], [2, 0]],
    }


@pytest.mark.parametrize(
    ("counts", "steady"),
    [
        pytest.param([20] * 10, True, id="the same in each second"),
        pytest.param([18, *[20] * 8, 22], True, id="the window begins within a second of the loop"),
        pytest.param([18, *[20] * 8, 20], False, id="it was slower at first"),
        pytest.param([2, 0, 0, 0, 2, 0, 0, 0, 2, 0], False, id="a controller that backs off"),
        pytest.param([3, 1, 3, 1, 3, 1, 3, 1, 3, 1], False, id="a longer period than a second"),
        pytest.param([20, 20, 20, 20, 20, 10, 10, 10, 10, 10], False, id="it slows down"),
    ],
)
def test_a_short_window_is_enough_for_a_steady_loop(counts: list[int], *, steady: bool) -> None:
    assert is_steady(CreatedPods("deployment/web", tuple(enumerate(counts)))) is steady
