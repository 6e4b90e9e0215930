"""The real clock is the machine's."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from mockkube.runtime.clock import Clock, RealClock


def test_now_is_the_present_in_utc() -> None:
    clock: Clock = RealClock()
    now = clock.now()
    assert now.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - now) < timedelta(minutes=1)


def test_monotonic_does_not_go_backwards() -> None:
    clock = RealClock()
    readings = [clock.monotonic() for _ in range(100)]
    assert readings == sorted(readings)


@pytest.mark.parametrize("seconds", [pytest.param(0.0, id="zero"), pytest.param(-5.0, id="in the past")])
async def test_a_sleep_that_is_already_over_only_yields(seconds: float) -> None:
    turns: list[str] = []

    async def other() -> None:
        turns.append("other")

    async with asyncio.TaskGroup() as group:
        group.create_task(other())
        await RealClock().sleep(seconds)
        turns.append("sleeper")
    assert turns == ["other", "sleeper"]


async def test_a_cancelled_sleep_ends_at_once() -> None:
    async with asyncio.TaskGroup() as group:
        sleeper = group.create_task(RealClock().sleep(3600))
        await RealClock().sleep(0)
        sleeper.cancel()
    assert sleeper.cancelled()
