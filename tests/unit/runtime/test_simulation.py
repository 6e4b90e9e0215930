"""A simulation goes as far as it is told, and no further."""

from mockkube.runtime.virtual_time import VirtualClock
from mockkube.runtime.work_queue import WorkQueue
from tests.simulation import Simulation


class Echo:
    """Works on a queue, and comes back to each item after a minute."""

    name = "echo"

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.queue: WorkQueue[str] = WorkQueue(clock)
        self.signal = self.queue.signal
        self.heard: list[tuple[float, str]] = []

    def is_ready(self) -> bool:
        return self.queue.is_ready()

    def wake_at(self) -> float | None:
        return self.queue.wake_at()

    async def step(self) -> None:
        item = self.queue.get()
        self.heard.append((self.clock.monotonic(), item))
        self.queue.done(item)
        self.queue.add_after(item, 60.0)


def echoing() -> tuple[Echo, Simulation]:
    clock = VirtualClock()
    echo = Echo(clock)
    echo.queue.add("a")
    return echo, Simulation(lambda: [echo], clock=clock)


async def test_settling_does_what_is_due_now() -> None:
    echo, simulation = echoing()
    assert await simulation.settle() == 1
    assert echo.heard == [(0.0, "a")]


async def test_advancing_does_everything_on_the_way() -> None:
    echo, simulation = echoing()
    await simulation.advance(150.0)
    assert (echo.heard, simulation.clock.monotonic()) == ([(0.0, "a"), (60.0, "a"), (120.0, "a")], 150.0)
    assert simulation.steps == 3


async def test_until_stops_at_the_moment_from_which_it_holds() -> None:
    echo, simulation = echoing()
    assert await simulation.advance_until(lambda: len(echo.heard) == 3, 600.0)
    assert simulation.clock.monotonic() == 120.0


async def test_until_gives_up_when_its_time_is_over() -> None:
    echo, simulation = echoing()
    assert not await simulation.advance_until(lambda: len(echo.heard) == 3, 100.0)
    assert simulation.clock.monotonic() == 100.0


async def test_until_does_not_wait_for_what_nobody_will_do() -> None:
    simulation = Simulation(list)
    assert not await simulation.advance_until(lambda: False, 100.0)
    assert simulation.clock.monotonic() == 100.0
