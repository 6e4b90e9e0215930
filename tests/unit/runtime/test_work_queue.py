"""A key is worked on once at a time, when it is due, in the order of arrival."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mockkube.runtime.rate_limiters import ItemExponentialFailureRateLimiter
from mockkube.runtime.steps import Signal
from mockkube.runtime.virtual_time import VirtualClock
from mockkube.runtime.work_queue import WorkQueue


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def queue(clock: VirtualClock) -> WorkQueue[str]:
    return WorkQueue(clock, ItemExponentialFailureRateLimiter(1.0, 100.0))


def drained(queue: WorkQueue[str]) -> list[str]:
    taken = []
    while queue.is_ready():
        taken.append(queue.get())
        queue.done(taken[-1])
    return taken


def test_items_come_in_the_order_of_arrival_each_once(queue: WorkQueue[str]) -> None:
    for item in "abab":
        queue.add(item)
    assert (len(queue), drained(queue), queue.is_ready()) == (2, ["a", "b"], False)


async def test_an_item_that_falls_due_between_two_questions_is_not_slept_over(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    queue.add_after("a", 1.0)
    await queue.signal.wait()
    clock.move_to(0.9999)
    assert not queue.is_ready()
    clock.move_to(1.0)  # time passes while the worker asks
    assert queue.wake_at() is None
    async with asyncio.timeout(1):
        await queue.signal.wait()
    assert queue.get() == "a"


def test_an_item_in_hand_comes_again_when_it_is_done(queue: WorkQueue[str]) -> None:
    queue.add("a")
    item = queue.get()
    queue.add("a")
    assert not queue.is_ready()
    queue.done(item)
    assert drained(queue) == ["a"]


def test_an_item_comes_when_it_is_due(queue: WorkQueue[str], clock: VirtualClock) -> None:
    queue.add_after("a", 5.0)
    assert (queue.is_ready(), queue.wake_at()) == (False, 5.0)
    clock.move_to(5.0)
    assert (drained(queue), queue.wake_at()) == (["a"], None)


@pytest.mark.parametrize("order", [(3.0, 7.0), (7.0, 3.0)])
def test_the_earliest_of_several_times_counts_once(
    queue: WorkQueue[str], clock: VirtualClock, order: tuple[float, float]
) -> None:
    for seconds in order:
        queue.add_after("a", seconds)
    assert queue.wake_at() == 3.0
    clock.move_to(3.0)
    assert drained(queue) == ["a"]
    clock.move_to(10.0)
    assert drained(queue) == []


def test_a_failing_item_waits_longer_each_time(queue: WorkQueue[str], clock: VirtualClock) -> None:
    moments = []
    for _ in range(3):
        queue.add_rate_limited("a")
        moment = queue.wake_at()
        assert moment is not None
        moments.append(moment - clock.monotonic())
        clock.move_to(moment)
        assert drained(queue) == ["a"]
    assert (moments, queue.num_requeues("a")) == ([1.0, 2.0, 4.0], 3)
    queue.forget("a")
    assert queue.num_requeues("a") == 0


def _sooner(queue: WorkQueue[str]) -> None:
    queue.add_after("b", 1.0)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda queue: queue.add("b"), id="an item is added"),
        pytest.param(_sooner, id="an item is due sooner"),
        pytest.param(lambda queue: queue.done("a"), id="an item that was added meanwhile is done"),
    ],
)
async def test_the_bell_rings_when(clock: VirtualClock, change: Callable[[WorkQueue[str]], None]) -> None:
    bell = Signal()
    queue: WorkQueue[str] = WorkQueue(clock, signal=bell)
    queue.add_after("c", 9.0)
    queue.add("a")
    queue.get()
    queue.add("a")
    await bell.wait()
    change(queue)
    await bell.wait()


def test_what_happens_is_told(clock: VirtualClock) -> None:
    told: list[tuple[str, float]] = []

    class Notes:
        def observe_add(self) -> None:
            told.append(("added", 0.0))

        def observe_retry(self) -> None:
            told.append(("retried", 0.0))

        def observe_get(self, waited_seconds: float) -> None:
            told.append(("taken", waited_seconds))

        def observe_done(self, worked_seconds: float) -> None:
            told.append(("finished", worked_seconds))

    queue: WorkQueue[str] = WorkQueue(clock, observer=Notes())
    queue.add("a")
    clock.move_to(2.0)
    queue.get()
    clock.move_to(5.0)
    queue.done("a")
    queue.add_after("a", 1.0)
    assert told == [("added", 0.0), ("taken", 2.0), ("finished", 3.0), ("retried", 0.0)]


async def _rest() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_run_processes_what_is_added_and_what_becomes_due(queue: WorkQueue[str], clock: VirtualClock) -> None:
    processed: list[tuple[str, float]] = []

    async def process(item: str) -> None:
        processed.append((item, clock.monotonic()))
        assert queue.is_busy()
        if item == "a" and len(processed) == 1:
            queue.add("a")
            queue.add_after("c", 9.0)
            queue.add_after("b", 2.0)

    queue.add("a")
    task = asyncio.create_task(queue.run(process))
    try:
        await _rest()
        assert (processed, queue.is_busy()) == ([("a", 0.0), ("a", 0.0)], False)
        queue.add_after("b", 1.0)
        for seconds in (1.0, 2.0, 9.0):
            await _rest()
            clock.move_to(seconds)
        await _rest()
        assert processed[2:] == [("b", 1.0), ("c", 9.0)]
    finally:
        task.cancel()
        await asyncio.wait([task])
    assert clock.next_timer() is None, "a timer is left"


async def test_an_error_of_process_ends_run_and_frees_the_item(queue: WorkQueue[str]) -> None:
    async def fail(item: str) -> None:
        raise ValueError(item)

    queue.add("a")
    with pytest.raises(ExceptionGroup):
        await queue.run(fail)
    assert not queue.is_busy()


class Plays(RuleBasedStateMachine):
    """The queue against a plain model: what is wanted, what is in hand, and what is due when."""

    items = st.sampled_from("abc")

    def __init__(self) -> None:
        super().__init__()
        self.clock = VirtualClock()
        self.queue: WorkQueue[str] = WorkQueue(self.clock)
        self.wanted: dict[str, None] = {}
        self.in_hand: list[str] = []
        self.due: dict[str, float] = {}

    @rule(item=items)
    def add(self, item: str) -> None:
        self.queue.add(item)
        self.wanted[item] = None

    @rule(item=items, seconds=st.integers(1, 5))
    def add_after(self, item: str, seconds: int) -> None:
        self.queue.add_after(item, seconds)
        at = self.clock.monotonic() + seconds
        self.due[item] = min(self.due.get(item, at), at)

    @rule(seconds=st.integers(1, 3))
    def wait(self, seconds: int) -> None:
        self.clock.move_to(self.clock.monotonic() + seconds)
        for item, at in list(self.due.items()):
            if at <= self.clock.monotonic():
                del self.due[item]
                self.wanted[item] = None

    @precondition(lambda self: self.queue.is_ready())
    @rule()
    def get(self) -> None:
        item = self.queue.get()
        assert item in self.wanted
        assert item not in self.in_hand
        del self.wanted[item]
        self.in_hand.append(item)

    @precondition(lambda self: self.in_hand)
    @rule()
    def done(self) -> None:
        self.queue.done(self.in_hand.pop(0))

    @invariant()
    def ready_when_something_wanted_is_free(self) -> None:
        assert self.queue.is_ready() == any(item not in self.in_hand for item in self.wanted)
        assert self.queue.wake_at() == min(self.due.values(), default=None)


TestPlays = Plays.TestCase
TestPlays.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
