"""Watching: one fan-out per store, one bounded queue per watcher.

The fan-out keeps the recent events. A watcher whose start is among them is fed live from the first
moment; one that starts earlier first reads history in chunks at its own pace and is attached when it
has caught up, without a gap, because attaching never awaits.
"""

from asyncio import Future, get_running_loop
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from types import TracebackType
from typing import Final, Protocol, Self

from mockkube_storage.errors import Lagged, StoreError
from mockkube_storage.model import REVISION_FIRST, Event

EVENTS_MAX: Final = 16_384
"""How many events a watcher may have waiting, unless told otherwise."""
BYTES_MAX: Final = 256 * 1024 * 1024
"""How large the values of the commits may be that wait for a watcher, beside the oldest of them."""
RECENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""How large the values of the remembered events may be where their number has a limit, too."""


class History(Protocol):
    """Where a watcher reads what the fan-out no longer remembers."""

    async def events(self, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        """Return the next events after a revision, in order, and up to which revision that is all of them.

        The answer may be a part, but always makes progress. Raises Compacted when `after` is before
        the compacted revision, and Unavailable.
        """


class FanOut:
    """Remembers the newest events and hands each commit to every watcher whose prefix it touches."""

    def __init__(
        self, revision: int, *, recent_max: int | None = None, recent_bytes_max: int = RECENT_BYTES_MAX
    ) -> None:
        self.revision = revision
        self._floor = revision if revision > REVISION_FIRST else 0  # every event after it is in _recent
        self._recent: list[Event] = []
        self._recent_max = recent_max
        self._recent_bytes = 0
        self._recent_bytes_max = recent_bytes_max
        self._watchers: dict[Watch, None] = {}

    def publish(self, events: Sequence[Event]) -> None:
        """Take one commit: events in revision order, all newer than any before. Never waits."""
        assert events[0].revision > self.revision
        self._recent += events
        self._recent_bytes += bytes_of(events)
        self.revision = events[-1].revision
        if self._recent_max is not None:
            self._forget_excess(self._recent_max)
        commit = tuple(events)
        for watcher in tuple(self._watchers):
            watcher.offer(commit)

    def _forget_excess(self, recent_max: int) -> None:
        """Drop the oldest events once there is twice as much as may be: one by one would move the rest each time."""
        if len(self._recent) <= 2 * recent_max and self._recent_bytes <= 2 * self._recent_bytes_max:
            return
        kept, size = 0, 0
        for event in reversed(self._recent):
            size += len(event.entry.value)
            if kept >= recent_max or (kept and size > self._recent_bytes_max):
                break
            kept += 1
        if kept < len(self._recent):
            self.forget(self._recent[-kept - 1].revision)

    def forget(self, revision: int) -> None:
        """Drop the events up to a revision from memory."""
        if revision > self._floor:
            index = self._index(revision)
            self._recent_bytes -= bytes_of(self._recent[:index])
            del self._recent[:index]
            self._floor = revision

    def jump(self, revision: int, reason: StoreError) -> None:
        """Go on at a revision although the events up to it are lost; those who watch are ended."""
        self.end(reason)
        self._recent.clear()
        self._recent_bytes = 0
        self._floor = self.revision = revision

    def until(self, revision: int) -> Sequence[Event]:
        """The remembered events up to and including a revision."""
        return self._recent[: self._index(revision)]

    def recent(self, after: int) -> Sequence[Event] | None:
        """Every event after a revision, or None when memory does not reach back so far."""
        if after < self._floor:
            return None
        return self._recent[self._index(after) :]

    def attach(self, watcher: "Watch") -> None:
        """Feed this watcher every commit from now on."""
        self._watchers[watcher] = None

    def detach(self, watcher: "Watch") -> None:
        """Stop feeding this watcher."""
        self._watchers.pop(watcher, None)

    def end(self, reason: StoreError) -> None:
        """End every watcher with this error, after what is already queued for it."""
        for watcher in tuple(self._watchers):
            watcher.fail(reason)

    def _index(self, revision: int) -> int:
        if self._recent and revision >= self._recent[-1].revision:  # the usual case: nothing newer
            return len(self._recent)
        return bisect_right(self._recent, revision, key=_revision_of)


class Watch:
    """The events of a prefix after a revision: `async for events in watch` yields a tuple per commit.

    Close it when done: `async with store.watch(...) as watch`, or `aclosing`. One task reads it.
    Cancelling a read loses nothing: the next read goes on where the last finished one ended.
    """

    __slots__ = (
        "_attached",
        "_backlog",
        "_closed",
        "_error",
        "_events_max",
        "_fan_out",
        "_handed_out",
        "_history",
        "_queue",
        "_queued",
        "_queued_bytes",
        "_waiter",
        "prefix",
    )

    def __init__(self, fan_out: FanOut, history: History, prefix: str, *, after: int, events_max: int) -> None:
        self.prefix = prefix
        self._fan_out = fan_out
        self._history = history
        self._handed_out = after
        self._events_max = events_max
        self._backlog: tuple[Event, ...] = ()  # history; not held against the watcher's bound
        self._queue: deque[tuple[Event, ...]] = deque()
        self._queued = 0
        self._queued_bytes = 0
        self._error: StoreError | None = None
        self._waiter: Future[None] | None = None
        self._closed = False
        self._attached = False
        self._attach()

    @property
    def revision(self) -> int:
        """The newest revision up to which every event of the prefix has been handed out."""
        if self._attached and not self._backlog and not self._queue:
            return max(self._handed_out, self._fan_out.revision)
        return self._handed_out

    def ready(self) -> bool:
        """Whether a read has something to do now: events, history to fetch, an error, or the end."""
        return bool(self._backlog) or bool(self._queue) or not self._attached

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[Event, ...]:
        while not self._closed:
            if self._backlog or self._queue:
                return self._take()
            if self._error is not None:
                raise self._error
            if self._attached:
                await self._wait()
            else:
                await self._catch_up()
        raise StopAsyncIteration

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield the events one by one."""
        async for commit in self:
            for event in commit:
                yield event

    async def aclose(self) -> None:
        """End the watch; a read that is waiting ends without an event."""
        self._closed = True
        self._drop()
        self._detach()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def offer(self, commit: tuple[Event, ...]) -> None:
        """Queue what of a commit is for this watcher, or end it when it holds too much already."""
        mine = self._mine(commit)
        if not mine:
            return
        size = bytes_of(mine)
        too_large = self._queued_bytes and self._queued_bytes + size > BYTES_MAX
        if too_large or self._queued + len(mine) > self._events_max:
            self._drop()
            self.fail(Lagged(self._handed_out, self._events_max))
            return
        self._queue.append(mine)
        self._queued += len(mine)
        self._queued_bytes += size
        self._wake()

    def fail(self, reason: StoreError) -> None:
        """End the watch with an error, once what is queued has been read."""
        self._error = reason
        self._detach()

    def _mine(self, commit: Sequence[Event]) -> tuple[Event, ...]:
        """Select by prefix, and by revision for a watcher that starts in the future."""
        prefix, after = self.prefix, self._handed_out
        if not prefix and commit[0].revision > after:
            return tuple(commit)
        return tuple([event for event in commit if event.entry.key.startswith(prefix) and event.revision > after])

    def _take(self) -> tuple[Event, ...]:
        if self._backlog:
            commit, self._backlog = self._backlog, ()
        else:
            commit = self._queue.popleft()
            self._queued -= len(commit)
            self._queued_bytes -= bytes_of(commit)
        self._handed_out = commit[-1].revision
        return commit

    def _drop(self) -> None:
        self._backlog = ()
        self._queue.clear()
        self._queued = self._queued_bytes = 0

    def _attach(self) -> None:
        """Go live if memory reaches back to what has been handed out."""
        recent = self._fan_out.recent(self._handed_out)
        if recent is None:
            return
        if recent:
            self._backlog = self._mine(recent)
        self._attached = True
        self._fan_out.attach(self)

    async def _catch_up(self) -> None:
        events, up_to = await self._history.events(self.prefix, self._handed_out)
        if self._closed:
            return
        if events:
            self._backlog = events
            return
        self._handed_out = max(self._handed_out, up_to)
        self._attach()

    async def _wait(self) -> None:
        self._waiter = get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _detach(self) -> None:
        self._attached = False
        self._fan_out.detach(self)
        self._wake()


def bytes_of(events: Sequence[Event]) -> int:
    """Add up the sizes of the values of some events."""
    return sum([len(event.entry.value) for event in events])


def _revision_of(event: Event) -> int:
    return event.revision
