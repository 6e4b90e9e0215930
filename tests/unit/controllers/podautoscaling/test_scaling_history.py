"""Windows, policies and bounds of scaling."""

from datetime import UTC, datetime, timedelta

import pytest

from mockkube.controllers.podautoscaling.scaling_history import ReplicaBounds, ScalingHistory, limit_by_bounds

NOW = datetime(2030, 1, 1, tzinfo=UTC)
FOREVER = timedelta(hours=1)


def at(seconds):
    return NOW + timedelta(seconds=seconds)


def rules(*policies, select="Max"):
    return {
        "selectPolicy": select,
        "policies": [{"type": kind, "value": value, "periodSeconds": period} for kind, value, period in policies],
    }


@pytest.mark.parametrize(
    ("desired", "current", "least", "most", "replicas", "reason"),
    [
        (5, 3, 1, 10, 5, "DesiredWithinRange"),
        (0, 3, 1, 10, 1, "TooFewReplicas"),
        (11, 8, 1, 10, 10, "TooManyReplicas"),
        (9, 3, 1, 10, 6, "ScaleUpLimit"),
        (9, 1, 1, 10, 4, "ScaleUpLimit"),  # at least four
        (9, 1, 1, 4, 4, "TooManyReplicas"),
    ],
)
def test_bounds(desired, current, least, most, replicas, reason):
    bounded = limit_by_bounds(desired, ReplicaBounds(current, least, most))
    assert (bounded.replicas, bounded.reason) == (replicas, reason)


def test_the_highest_recommendation_of_the_window_counts():
    history, window = ScalingHistory(), timedelta(seconds=60)
    assert history.stabilize(5, at(0), window).reason == "ReadyForNewScale"
    assert history.stabilize(8, at(15), window).replicas == 8
    stable = history.stabilize(3, at(60), window)
    assert (stable.replicas, stable.reason) == (8, "ScaleDownStabilized")
    assert history.stabilize(4, at(75), window).replicas == 8
    assert history.stabilize(2, at(76), window).replicas == 4
    # Outdated recommendations are replaced, so their number stays bounded.
    for second in range(80, 2000, 15):
        history.stabilize(2, at(second), window)
    assert len(history.recommendations) <= 6


def test_windows_of_a_behavior_hold_back_both_directions():
    history, up, down = ScalingHistory(), timedelta(seconds=30), timedelta(seconds=60)
    history.start(4, at(0))
    stable = history.stabilize_by_behavior(8, 4, at(15), up, down)
    assert (stable.replicas, stable.reason) == (4, "ScaleUpStabilized")
    assert history.stabilize_by_behavior(8, 4, at(45), up, down).replicas == 8
    stable = history.stabilize_by_behavior(2, 8, at(60), up, down)
    assert (stable.replicas, stable.reason) == (8, "ScaleDownStabilized")
    assert history.stabilize_by_behavior(2, 8, at(120), up, down).replicas == 2


@pytest.mark.parametrize(
    ("policies", "select", "limit"),
    [
        ([("Pods", 4, 15)], "Max", 14),
        ([("Percent", 100, 15)], "Max", 20),
        ([("Percent", 1, 15)], "Max", 11),  # rounded up
        ([("Pods", 4, 15), ("Percent", 100, 15)], "Max", 20),
        ([("Pods", 4, 15), ("Percent", 100, 15)], "Min", 14),
        ([("Pods", 4, 15)], "Disabled", 10),
    ],
)
def test_policies_limit_growth(policies, select, limit):
    behavior = {"scaleUp": rules(*policies, select=select), "scaleDown": rules(("Percent", 100, 15))}
    bounded = ScalingHistory().limit_by_behavior(100, ReplicaBounds(10, 1, 50), behavior, NOW)
    assert (bounded.replicas, bounded.reason) == (limit, "ScaleUpLimit")


@pytest.mark.parametrize(
    ("policies", "select", "limit"),
    [
        ([("Pods", 4, 15)], "Max", 6),
        ([("Percent", 15, 15)], "Max", 8),  # cut
        ([("Pods", 4, 15), ("Percent", 10, 15)], "Max", 6),
        ([("Pods", 4, 15), ("Percent", 10, 15)], "Min", 9),
        ([("Pods", 4, 15)], "Disabled", 10),
    ],
)
def test_policies_limit_shrinking(policies, select, limit):
    behavior = {"scaleUp": rules(("Percent", 100, 15)), "scaleDown": rules(*policies, select=select)}
    bounded = ScalingHistory().limit_by_behavior(2, ReplicaBounds(10, 1, 50), behavior, NOW)
    assert (bounded.replicas, bounded.reason) == (limit, "ScaleDownLimit")


def test_changes_of_the_period_count_against_a_policy():
    behavior = {"scaleUp": rules(("Pods", 4, 60)), "scaleDown": rules(("Pods", 1, 60))}
    history, bounds = ScalingHistory(), ReplicaBounds(10, 1, 50)
    history.record_change(7, 10, behavior, at(0))
    assert history.limit_by_behavior(30, bounds, behavior, at(30)).replicas == 11
    assert history.limit_by_behavior(30, bounds, behavior, at(61)).replicas == 14
    history.record_change(14, 13, behavior, at(70))
    assert history.limit_by_behavior(1, ReplicaBounds(13, 1, 50), behavior, at(75)).replicas == 13
    assert history.limit_by_behavior(1, ReplicaBounds(13, 1, 50), behavior, at(131)).replicas == 12
    # Outdated changes are replaced.
    for minute in range(10):
        history.record_change(1, 2, behavior, at(200 + 100 * minute))
    assert len(history.ups) == 2 or len(history.ups) == 1
