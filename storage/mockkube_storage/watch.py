"""Watching: one hub per store hands events to watchers, each with a bounded queue.

The hub keeps recent events. A watcher that starts among them receives live events immediately. One that starts
earlier first reads history in parts, at its own pace, and is attached when it has caught up; no event is lost in
between, because attaching never awaits.
"""

from asyncio import Future, get_running_loop
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from types import TracebackType
from typing import Final, Protocol, Self

from mockkube_storage.errors import Lagged, StoreError
from mockkube_storage.model import REVISION_FIRST, Event

# Default bound on the events that wait for one watcher.
QUEUED_EVENTS_MAX: Final = 16_384
# Bound on the values of the commits that wait for one watcher; the oldest of them does not count.
QUEUED_BYTES_MAX: Final = 256 * 1024 * 1024
# Bound on the values of the recent events of a hub whose number of events is bounded as well.
RECENT_BYTES_MAX: Final = 16 * 1024 * 1024


class History(Protocol):
    """Source of the events that the hub no longer holds."""

    async def events(self, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        """Return the next events after a revision, in order, and the revision up to which they are complete.

        The answer may be a part, but always makes progress. Raises Compacted when `after` is before
        the compacted revision, and Unavailable.
        """


class WatchHub:
    """Hub that holds recent events and hands each commit to the watchers of its keys."""

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
        """Publish one commit: events in revision order, all newer than any before. Never waits."""
        assert events[0].revision > self.revision
        size = count_value_bytes(events)
        self._recent += events
        self._recent_bytes += size
        self.revision = events[-1].revision
        if self._recent_max is not None:
            self._trim(self._recent_max)
        commit = tuple(events)
        # A copy: a watcher that is too far behind detaches itself within `offer`.
        for watcher in tuple(self._watchers):
            watcher.offer(commit, size)

    def _trim(self, recent_max: int) -> None:
        """Drop the oldest events if there are more than twice as many as the bounds allow."""
        # Twice the bound, so that the list is shifted once per `recent_max` events and not for every one.
        if len(self._recent) <= 2 * recent_max and self._recent_bytes <= 2 * self._recent_bytes_max:
            return
        count, size = 0, 0
        for event in reversed(self._recent):
            size += len(event.entry.value)
            if count >= recent_max or (count and size > self._recent_bytes_max):
                break
            count += 1
        if count < len(self._recent):
            self.forget(self._recent[-count - 1].revision)

    def forget(self, revision: int) -> None:
        """Drop the events up to a revision from memory."""
        if revision > self._floor:
            index = self._index_after(revision)
            self._recent_bytes -= count_value_bytes(self._recent[:index])
            del self._recent[:index]
            self._floor = revision

    def skip_to(self, revision: int, reason: StoreError) -> None:
        """Continue at a revision although events before it are lost; end all watchers."""
        self.end(reason)
        self._recent.clear()
        self._recent_bytes = 0
        self._floor = self.revision = revision

    def events_until(self, revision: int) -> Sequence[Event]:
        """Return the events in memory up to and including a revision."""
        return self._recent[: self._index_after(revision)]

    def events_after(self, after: int) -> Sequence[Event] | None:
        """Return every event after a revision, or None if memory does not reach back that far."""
        if after < self._floor:
            return None
        return self._recent[self._index_after(after) :]

    def attach(self, watcher: "Watch") -> None:
        """Hand every commit to this watcher from now on."""
        self._watchers[watcher] = None

    def detach(self, watcher: "Watch") -> None:
        """Stop handing commits to this watcher."""
        self._watchers.pop(watcher, None)

    def end(self, reason: StoreError) -> None:
        """End every watcher with this error, once its queue has been read."""
        for watcher in tuple(self._watchers):
            watcher.fail(reason)

    def _index_after(self, revision: int) -> int:
        if self._recent and revision >= self._recent[-1].revision:  # the usual case: nothing newer
            return len(self._recent)
        return bisect_right(self._recent, revision, key=_revision_of)


class Watch:
    """Events of a prefix after a revision: `async for events in watch` yields a tuple per commit.

    Close it when done: `async with store.watch(...) as watch`, or `aclosing`. One task reads it.
    Cancelling a read loses nothing: the next read continues after the last finished one.
    """

    __slots__ = (
        "_attached",
        "_backlog",
        "_closed",
        "_delivered_revision",
        "_error",
        "_events_max",
        "_history",
        "_hub",
        "_queue",
        "_queued",
        "_queued_bytes",
        "_waiter",
        "prefix",
    )

    def __init__(self, hub: WatchHub, history: History, prefix: str, *, after: int, events_max: int) -> None:
        self.prefix = prefix
        self._hub = hub
        self._history = history
        self._delivered_revision = after
        self._events_max = events_max
        self._backlog: tuple[Event, ...] = ()  # history; not held against the watcher's bound
        # Commits with the size of their values.
        self._queue: deque[tuple[tuple[Event, ...], int]] = deque()
        self._queued = 0
        self._queued_bytes = 0
        self._error: StoreError | None = None
        self._waiter: Future[None] | None = None
        self._closed = False
        self._attached = False
        self._attach()

    @property
    def revision(self) -> int:
        """Newest revision up to which every event of the prefix has been delivered."""
        if self._attached and not self._backlog and not self._queue:
            return max(self._delivered_revision, self._hub.revision)
        return self._delivered_revision

    def is_ready(self) -> bool:
        """Return whether a read would not wait: events, history to fetch, an error, or the end."""
        return bool(self._backlog) or bool(self._queue) or not self._attached

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[Event, ...]:
        while not self._closed:
            if self._backlog or self._queue:
                return self._pop_commit()
            if self._error is not None:
                raise self._error
            if self._attached:
                await self._wait()
            else:
                await self._catch_up()
        raise StopAsyncIteration

    def take(self) -> tuple[Event, ...] | None:
        """Return the next commit if it is here already; None otherwise, which says nothing about the future."""
        return self._pop_commit() if self._backlog or self._queue else None

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield the events one by one."""
        async for commit in self:
            for event in commit:
                yield event

    async def aclose(self) -> None:
        """End the watch; a read that is waiting ends without an event."""
        self._closed = True
        self._clear_queue()
        self._detach()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def offer(self, commit: tuple[Event, ...], size: int) -> None:  # hot: per commit, per watcher
        """Queue the events of a commit that this watcher selects; end it if too many wait already.

        `size` is that of the values of the whole commit.
        """
        selected = self._select_events(commit)
        if not selected:
            return
        if selected is not commit:
            size = count_value_bytes(selected)
        # A single commit that exceeds the bound is still delivered: the watcher could never get past it otherwise.
        too_large = self._queued_bytes and self._queued_bytes + size > QUEUED_BYTES_MAX
        if too_large or self._queued + len(selected) > self._events_max:
            self._clear_queue()
            self.fail(Lagged(self._delivered_revision, self._events_max))
            return
        self._queue.append((selected, size))
        self._queued += len(selected)
        self._queued_bytes += size
        self._wake()

    def fail(self, reason: StoreError) -> None:
        """End the watch with an error, once its queue has been read."""
        self._error = reason
        self._detach()

    def _select_events(self, commit: tuple[Event, ...]) -> tuple[Event, ...]:
        """Return the events of the prefix that are newer than what was delivered."""
        prefix, after = self.prefix, self._delivered_revision
        # A watch of all keys is the common one: an API server feeds all its caches from it.
        if not prefix and commit[0].revision > after:
            return commit
        return tuple([event for event in commit if event.entry.key.startswith(prefix) and event.revision > after])

    def _pop_commit(self) -> tuple[Event, ...]:
        if self._backlog:
            commit, self._backlog = self._backlog, ()
        else:
            commit, size = self._queue.popleft()
            self._queued -= len(commit)
            self._queued_bytes -= size
        self._delivered_revision = commit[-1].revision
        return commit

    def _clear_queue(self) -> None:
        self._backlog = ()
        self._queue.clear()
        self._queued = self._queued_bytes = 0

    def _attach(self) -> None:
        """Receive live events if memory reaches back to what was delivered."""
        recent = self._hub.events_after(self._delivered_revision)
        if recent is None:
            return
        if recent:
            # The backlog is not bounded: its events are in memory anyway, the watcher only refers to them.
            self._backlog = self._select_events(tuple(recent))
        self._attached = True
        self._hub.attach(self)

    async def _catch_up(self) -> None:
        events, up_to = await self._history.events(self.prefix, self._delivered_revision)
        if self._closed:
            return
        if events:
            self._backlog = events
            return
        # History has no further events of the prefix up to there, so live ones can follow.
        self._delivered_revision = max(self._delivered_revision, up_to)
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
        self._hub.detach(self)
        self._wake()


def count_value_bytes(events: Sequence[Event]) -> int:
    """Return the total size of the values of some events."""
    if len(events) == 1:
        return len(events[0].entry.value)
    return sum([len(event.entry.value) for event in events])


def _revision_of(event: Event) -> int:
    return event.revision
