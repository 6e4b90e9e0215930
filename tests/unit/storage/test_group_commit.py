"""Group commit, with a commit that waits until it is let go."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mockkube_storage.engines.group_commit import GroupCommitWriter, WriterBounds
from mockkube_storage.errors import Conflict, Unavailable
from mockkube_storage.model import Entry
from mockkube_storage.writes import Write


class Gate:
    """A commit that records its groups and holds each until `open` is set."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.open = asyncio.Event()
        self.begun = asyncio.Event()
        self.error: Exception | None = None

    async def commit(self, writes: Sequence[Write]) -> list[Entry | Conflict]:
        self.groups.append([write.key for write in writes])
        self.begun.set()
        await self.open.wait()
        if self.error is not None:
            raise self.error
        return [Conflict(write.key, None) if write.expected else Entry(write.key, b"", 1, 1) for write in writes]


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def writer(gate: Gate) -> AsyncIterator[GroupCommitWriter]:
    writer = GroupCommitWriter(
        "here", gate.commit, bounds=WriterBounds(group_writes_max=3, group_bytes_max=6, waiting_max=7)
    )
    running = asyncio.create_task(writer.run())
    yield writer
    gate.open.set()
    writer.stop()
    await running


async def start(
    writer: GroupCommitWriter, *keys: str, size: int = 0, expected: int | None = None
) -> list[asyncio.Task[Entry]]:
    tasks = [asyncio.create_task(writer.write(Write(key, b"x" * size, expected))) for key in keys]
    await asyncio.sleep(0)
    return tasks


async def test_what_comes_during_a_commit_is_the_next_group(gate: Gate, writer: GroupCommitWriter) -> None:
    first = await start(writer, "a")
    await gate.begun.wait()
    others = await start(writer, "b", "c", "d")
    gate.open.set()
    await asyncio.gather(*first, *others)
    assert gate.groups == [["a"], ["b", "c", "d"]]


async def test_no_write_returns_before_its_commit(gate: Gate, writer: GroupCommitWriter) -> None:
    (task,) = await start(writer, "a")
    await gate.begun.wait()
    assert not task.done()
    gate.open.set()
    assert (await task).key == "a"


async def test_a_conflict_is_raised_to_its_writer_alone(gate: Gate, writer: GroupCommitWriter) -> None:
    gate.open.set()
    (good,) = await start(writer, "a")
    (bad,) = await start(writer, "b", expected=1)
    assert (await good).key == "a"
    with pytest.raises(Conflict):
        await bad


async def test_a_failed_commit_is_told_to_each_of_its_writers_and_the_next_goes_on(
    gate: Gate, writer: GroupCommitWriter
) -> None:
    gate.open.set()
    gate.error = Unavailable("here", "disk full")
    answers = await asyncio.gather(*await start(writer, "a", "b"), return_exceptions=True)
    assert [str(answer) for answer in answers] == ["store here is not available: disk full"] * 2
    assert answers[0] is not answers[1]
    gate.error = None
    (task,) = await start(writer, "c")
    assert (await task).key == "c"


async def test_a_write_cancelled_before_its_turn_is_not_done(gate: Gate, writer: GroupCommitWriter) -> None:
    first = await start(writer, "a")
    await gate.begun.wait()
    doomed, kept = await start(writer, "b", "c")
    doomed.cancel()
    await asyncio.sleep(0)
    gate.open.set()
    await asyncio.gather(*first, kept)
    assert gate.groups == [["a"], ["c"]]


async def test_a_job_runs_between_groups_and_starves_neither(gate: Gate, writer: GroupCommitWriter) -> None:
    order: list[str] = []

    async def job() -> int:
        order.append(f"job after {len(gate.groups)} groups")
        return 7

    first = await start(writer, "a")
    await gate.begun.wait()
    jobs = [asyncio.create_task(writer.run_between_groups(job)) for _ in range(2)]
    await asyncio.sleep(0)
    second = await start(writer, "b")
    gate.open.set()
    assert await asyncio.gather(*jobs) == [7, 7]
    await asyncio.gather(*first, *second)
    assert order == ["job after 1 groups", "job after 2 groups"]


async def test_a_failed_job_is_told_to_who_asked(gate: Gate, writer: GroupCommitWriter) -> None:
    async def job() -> int:
        raise Unavailable("here", "broken")

    with pytest.raises(Unavailable, match="broken"):
        await writer.run_between_groups(job)


async def test_groups_are_bounded_in_writes_and_bytes(gate: Gate, writer: GroupCommitWriter) -> None:
    first = await start(writer, "first")
    await gate.begun.wait()
    large, small = await start(writer, *"abc", size=4), await start(writer, *"defg", size=1)
    gate.open.set()
    await asyncio.gather(*first, *large, *small)
    assert gate.groups == [["first"], ["a", "b"], ["c", "d", "e"], ["f", "g"]]


async def test_beyond_the_bound_a_write_is_refused(gate: Gate, writer: GroupCommitWriter) -> None:
    waiting = await start(writer, *"abcdefgh")
    with pytest.raises(Unavailable, match="7 writes are waiting already"):
        await waiting[7]
    gate.open.set()
    assert [entry.key for entry in await asyncio.gather(*waiting[:7])] == list("abcdefg")


async def test_stopping_finishes_what_is_in_hand_and_refuses_the_rest(gate: Gate, writer: GroupCommitWriter) -> None:
    (in_hand,) = await start(writer, "a")
    await gate.begun.wait()
    (waiting,) = await start(writer, "b")
    writer.stop()
    gate.open.set()
    assert (await in_hand).key == "a"
    for refused in (waiting, *await start(writer, "c")):
        with pytest.raises(Unavailable, match="closed"):
            await refused


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["write", "cancel", "commit", "job"]), st.integers(0, 20)), max_size=40))
def test_every_caller_hears_whoever_else_gives_up(actions: list[tuple[str, int]]) -> None:
    asyncio.run(play(actions))


async def play(actions: list[tuple[str, int]]) -> None:
    gate = Gate()
    writer = GroupCommitWriter("here", gate.commit, bounds=WriterBounds(group_writes_max=3, waiting_max=100))
    running = asyncio.ensure_future(writer.run())
    calls: list[asyncio.Future[object]] = []
    for action, value in actions:
        if action == "write":
            calls.append(asyncio.ensure_future(writer.write(Write(f"/{len(calls)}", b"", None))))
        elif action == "job":
            calls.append(asyncio.ensure_future(writer.run_between_groups(done_at_once)))
        elif action == "cancel" and value < len(calls):
            calls[value].cancel()
        elif action == "commit":
            gate.open.set()
            await asyncio.sleep(0)
            gate.open.clear()
        await asyncio.sleep(0)
    gate.open.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(result, Entry | int | asyncio.CancelledError) for result in results)
    writer.stop()
    await running


async def done_at_once() -> int:
    return 1
