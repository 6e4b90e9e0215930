"""The fan-out and its watchers, with a history that tells what it was asked."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from mockkube_storage import watch as module
from mockkube_storage.errors import Compacted, Lagged, Unavailable
from mockkube_storage.model import REVISION_FIRST, Entry, Event, put_event
from mockkube_storage.watch import Watch, WatchHub


class RecordedHistory:
    """Answers from a list, some events at a time, and runs something between asking and answering."""

    def __init__(self, events: list[Event], *, chunk: int = 2) -> None:
        self.held = events
        self.chunk = chunk
        self.asked: list[int] = []
        self.meanwhile: list[tuple[WatchHub, Event]] = []

    async def events(self, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        self.asked.append(after)
        up_to = self.held[-1].revision
        found = [event for event in self.held if event.revision > after and event.entry.key.startswith(prefix)]
        if self.meanwhile:
            fan_out, event = self.meanwhile.pop(0)
            self.held.append(event)
            fan_out.publish([event])
        return tuple(found[: self.chunk]), up_to


def event(revision: int, key: str = "/a") -> Event:
    return put_event(Entry(key, b"", revision, revision), None)


def watch(fan_out: WatchHub, *, after: int, history: RecordedHistory | None = None, events_max: int = 100) -> Watch:
    return Watch(fan_out, history or RecordedHistory([]), "/", after=after, events_max=events_max)


def test_a_bounded_memory_keeps_the_newest_and_knows_how_far_back_it_reaches() -> None:
    fan_out = WatchHub(REVISION_FIRST, recent_max=10)
    for revision in range(2, 102):
        fan_out.publish([event(revision)])
    for after in range(101):
        events_after = fan_out.events_after(after)
        assert events_after is None or [held.revision for held in events_after] == list(range(after + 1, 102))
    assert fan_out.events_after(91) is not None
    assert fan_out.events_after(80) is None


def test_events_that_go_back_are_a_bug() -> None:
    fan_out = WatchHub(5)
    with pytest.raises(AssertionError):
        fan_out.publish([event(5)])


async def test_a_watcher_within_memory_never_asks_the_history() -> None:
    fan_out = WatchHub(REVISION_FIRST)
    fan_out.publish([event(2), event(3)])
    history = RecordedHistory([])
    async with watch(fan_out, after=2, history=history) as watching:
        assert [seen.revision for seen in await anext(watching)] == [3]
    assert history.asked == []


async def test_a_commit_comes_as_one_tuple() -> None:
    fan_out = WatchHub(REVISION_FIRST)
    async with watch(fan_out, after=1) as watching:
        fan_out.publish([event(2), event(3, "other"), event(4)])
        fan_out.publish([event(5)])
        assert [seen.revision for seen in await anext(watching)] == [2, 4]
        assert [seen.revision for seen in await anext(watching)] == [5]


async def test_commits_during_the_history_follow_it_once() -> None:
    fan_out = WatchHub(5)
    history = RecordedHistory([event(revision) for revision in range(2, 6)])
    history.meanwhile = [(fan_out, event(6)), (fan_out, event(7)), (fan_out, event(8))]
    async with watch(fan_out, after=1, history=history) as watching:
        seen = [found.revision async for found in _until(watching, 8)]
    assert seen == [2, 3, 4, 5, 6, 7, 8]


async def test_a_reader_of_history_faster_written_than_remembered_does_not_skip() -> None:
    fan_out = WatchHub(3, recent_max=1)
    history = RecordedHistory([event(2), event(3)])
    history.meanwhile = [(fan_out, event(revision)) for revision in range(4, 14)]
    async with watch(fan_out, after=1, history=history) as watching:
        seen = [found.revision async for found in _until(watching, 13)]
    assert seen == list(range(2, 14))


async def test_lag_is_counted_in_events_not_yet_read() -> None:
    fan_out = WatchHub(REVISION_FIRST)
    watching = watch(fan_out, after=1, events_max=3)
    for revision in range(2, 12):
        fan_out.publish([event(revision)])
        if revision % 2:
            await anext(watching)
            await anext(watching)
    fan_out.publish([event(12), event(13), event(14), event(15)])
    with pytest.raises(Lagged) as caught:
        await anext(watching)
    assert caught.value.revision == 11


async def test_a_lagged_watcher_is_fed_no_more() -> None:
    fan_out = WatchHub(REVISION_FIRST)
    watching = watch(fan_out, after=1, events_max=1)
    for revision in range(2, 10):
        fan_out.publish([event(revision)])
    for _ in range(2):
        with pytest.raises(Lagged):
            await anext(watching)


async def test_a_jump_ends_who_watches_and_starts_afresh() -> None:
    fan_out = WatchHub(REVISION_FIRST)
    watching = watch(fan_out, after=1)
    fan_out.publish([event(2)])
    fan_out.skip_to(10, Compacted(2, 10))
    assert (await anext(watching))[0].revision == 2
    with pytest.raises(Compacted):
        await anext(watching)
    assert fan_out.revision == 10
    assert fan_out.events_after(9) is None
    assert fan_out.events_after(10) == []


async def test_the_end_reaches_a_read_that_waits() -> None:
    fan_out = WatchHub(REVISION_FIRST)
    reading = asyncio.create_task(anext(watch(fan_out, after=1)))
    await asyncio.sleep(0)
    fan_out.end(Unavailable("here", "gone"))
    with pytest.raises(Unavailable):
        await reading


async def _until(watching: Watch, revision: int) -> AsyncIterator[Event]:
    async for found in watching.events():
        yield found
        if found.revision >= revision:
            return


def large(revision: int, size: int) -> Event:
    return put_event(Entry("/a", b"." * size, revision, revision), None)


def test_memory_is_bounded_by_the_size_of_events_as_by_their_number() -> None:
    fan_out = WatchHub(REVISION_FIRST, recent_max=10, recent_bytes_max=100)
    for revision in range(2, 102):
        fan_out.publish([large(revision, 40)])
        remembered = next(
            events_after for after in range(102) if (events_after := fan_out.events_after(after)) is not None
        )
        assert len(remembered) <= 5
    assert len(fan_out.events_after(99) or ()) == 2
    fan_out.publish([large(102, 1000)])
    assert [held.revision for held in fan_out.events_after(101) or ()] == [102]
    assert fan_out.events_after(100) is None


async def test_a_watcher_is_ended_when_what_waits_for_it_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUEUED_BYTES_MAX", 100)
    fan_out = WatchHub(REVISION_FIRST)
    watcher = watch(fan_out, after=REVISION_FIRST)
    fan_out.publish([large(2, 500)])  # one is handed out however large it is
    assert [held.revision for held in await anext(watcher)] == [2]
    fan_out.publish([large(3, 60)])
    fan_out.publish([large(4, 60)])
    with pytest.raises(Lagged):
        await anext(watcher)
