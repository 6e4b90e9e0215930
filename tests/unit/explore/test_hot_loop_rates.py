"""How fast a loop goes, by workload and second."""

from mockkube.explore.hot_loop_rates import CreatedPods, HotLoopPath, HotLoopRate
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
