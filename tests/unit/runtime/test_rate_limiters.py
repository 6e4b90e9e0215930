"""Limits say how long to wait, and forget what is forgiven."""

import pytest

from mockkube.runtime.rate_limiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    MaxOfRateLimiter,
    default_controller_rate_limiter,
)
from mockkube.runtime.virtual_time import VirtualClock


def test_each_failure_doubles_the_wait_of_its_item_alone() -> None:
    limits = ItemExponentialFailureRateLimiter(1.0, 100.0)
    assert [limits.when("a") for _ in range(4)] == [1.0, 2.0, 4.0, 8.0]
    assert (limits.when("b"), limits.num_requeues("a"), limits.num_requeues("b")) == (1.0, 4, 1)


def test_a_wait_is_bounded_however_often_an_item_fails() -> None:
    limits = ItemExponentialFailureRateLimiter(1.0, 100.0)
    assert max(limits.when("a") for _ in range(5000)) == 100.0


def test_what_is_forgotten_begins_anew() -> None:
    limits = ItemExponentialFailureRateLimiter(1.0, 100.0)
    limits.when("a")
    limits.forget("a")
    assert (limits.num_requeues("a"), limits.when("a")) == (0, 1.0)


def test_a_bucket_gives_its_burst_then_its_rate() -> None:
    bucket = BucketRateLimiter(VirtualClock(), per_second=10.0, burst=2)
    assert [bucket.when("a") for _ in range(4)] == pytest.approx([0.0, 0.0, 0.1, 0.2])


def test_a_bucket_fills_with_time_up_to_its_burst() -> None:
    clock = VirtualClock()
    bucket = BucketRateLimiter(clock, per_second=10.0, burst=2)
    assert [bucket.take(), bucket.take(), bucket.take()] == [True, True, False]
    clock.move_to(0.1)
    assert [bucket.take(), bucket.take()] == [True, False]
    clock.move_to(100.0)
    assert [bucket.take(), bucket.take(), bucket.take()] == [True, True, False]


def test_the_longest_wait_counts() -> None:
    limits = MaxOfRateLimiter(
        ItemExponentialFailureRateLimiter(1.0, 100.0), ItemExponentialFailureRateLimiter(3.0, 100.0)
    )
    assert (limits.when("a"), limits.num_requeues("a")) == (3.0, 1)
    limits.forget("a")
    assert limits.num_requeues("a") == 0


def test_controllers_are_slowed_after_a_hundred_items() -> None:
    limits = default_controller_rate_limiter(VirtualClock())
    waits = [limits.when(number) for number in range(102)]
    assert waits[:100] == [0.005] * 100
    assert waits[100:] == pytest.approx([0.1, 0.2])
