"""The watchdog says where a loop is stuck, once, and ends what does not stop."""

import asyncio
import logging

import pytest

from mockkube.cluster.watchdog import BLOCKED_EXIT_CODE, Watchdog, WatchdogLimits
from mockkube.runtime.virtual_time import VirtualClock


class Kennel:
    """A watchdog that looks when it is told to, at times of ours."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.ended: list[int] = []
        loop = asyncio.get_running_loop()
        self.dog = Watchdog(
            loop, limits=WatchdogLimits(stop_seconds=8.0), clock=self.clock, end_process=self.ended.append
        )

    def look_after(self, seconds: float) -> None:
        self.clock.move_to(self.clock.monotonic() + seconds)
        self.dog.check()


@pytest.fixture
async def kennel() -> Kennel:
    return Kennel()


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().splitlines()[0] for record in caplog.records]


async def test_a_loop_that_turns_is_left_alone(kennel, caplog) -> None:
    for _ in range(100):
        kennel.look_after(1.0)
        await asyncio.sleep(0)
    assert (said(caplog), kennel.ended) == ([], [])


async def test_a_loop_that_does_not_turn_is_told_of_once_with_its_stack(kennel, caplog) -> None:
    for _ in range(10):
        kennel.look_after(1.0)
    assert said(caplog) == ["the event loop has not turned for 5.0 s:"]
    assert "test_a_loop_that_does_not_turn_is_told_of_once_with_its_stack" in caplog.text
    caplog.clear()
    await asyncio.sleep(0)
    assert said(caplog) == ["the event loop turns again after 9.0 s"]
    assert kennel.ended == []


async def test_while_stopping_a_loop_that_does_not_turn_ends_the_process(kennel, caplog) -> None:
    kennel.look_after(0.0)
    kennel.dog.begin_stop()
    kennel.look_after(4.9)
    assert kennel.ended == []
    kennel.look_after(0.2)
    assert kennel.ended == [BLOCKED_EXIT_CODE]
    assert caplog.records[-1].levelno == logging.CRITICAL


async def test_stopping_that_takes_too_long_ends_the_process_though_the_loop_turns(kennel) -> None:
    kennel.dog.begin_stop()
    for _ in range(8):
        assert kennel.ended == []
        kennel.look_after(1.0)
        await asyncio.sleep(0)
    assert kennel.ended[0] == BLOCKED_EXIT_CODE


async def test_its_thread_ends_with_it() -> None:
    dog = Watchdog(asyncio.get_running_loop())
    dog.start()
    dog.close()
    assert not dog._thread.is_alive()
