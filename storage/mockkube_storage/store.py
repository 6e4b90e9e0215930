"""Protocol of a store: a map of keys to values whose every past state has a revision.

Engines are in `engines/`; `engines/catalogue.py` opens one by URL. A store belongs to one event loop.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from mockkube_storage.model import Entry, Page
from mockkube_storage.watch import QUEUED_EVENTS_MAX, Watch


class Store(Protocol):
    """Revisioned key-value store.

    Order. Each write has a revision of its own, greater than that of any write before it, in this
    process or another; numbers may be missing, none is used twice. An empty store is at REVISION_FIRST.
    Writes take effect in revision order, and watchers receive them in that order.

    Durability. When a write returns, it survives the end of the process, and it has been queued for
    every watcher of this process. No event is published before its write is durable.

    Errors. `Unavailable` from any method when the store is not started, closed, or its database fails;
    such a write is not done, unless the connection broke while it was being committed: then
    it may turn out to be done, and its event follows as soon as the database answers. `InvalidKey`
    for a key that is empty, contains NUL or is not Unicode text.

    Cancellation. A cancelled read leaves nothing behind. A cancelled write is done as a whole or not at
    all; a later read shows which.

    A store has no timers: its owner calls `compact`, and `poll` if several processes share a database.
    """

    @property
    def revision(self) -> int:
        """Newest revision that this process has published; its events are in the watchers' queues."""

    @property
    def problem(self) -> str:
        """Reason why nothing written now would be kept; empty if there is none. Cheap to read."""
        return ""

    @property
    def past_bytes(self) -> int:
        """About how many bytes of replaced and deleted entries there were at the start; 0 if that is not known."""
        return 0

    async def start(self) -> None:
        """Open the database. Raises Locked, FormatTooNew or Unavailable, and then holds nothing open."""

    async def close(self) -> None:
        """Finish writes in progress, end the watchers, close the database; nothing runs afterwards.

        Writes that are still waiting raise Unavailable, as do watchers once they have read their queue.
        """

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def current_revision(self) -> int:
        """Return a revision no older than any write acknowledged, by any process, before this call.

        When it returns, `revision` is at least as new. It costs nothing if no other process can write.
        """

    async def poll(self) -> None:
        """Fetch and publish what other processes have committed; does nothing if there are none."""

    async def get(self, key: str, *, revision: int = 0) -> Entry | None:
        """Return the entry of a key at a revision (0: the current one); None if it has none.

        Raises Compacted or FutureRevision.
        """

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Page:
        """Return the entries whose key begins with `prefix`, from `start` (inclusive), in byte order of the key.

        All are of one revision (0: the current one), which the page names. A `limit` of 0 means no limit; otherwise
        the page says how many keys remain. Raises Compacted or FutureRevision.
        """

    async def create(self, key: str, value: bytes) -> Entry:
        """Create a key. Raises Conflict, with the current entry, if it exists."""

    async def update(self, key: str, value: bytes, *, expected: int) -> Entry:
        """Replace the entry whose revision is `expected`. Raises Conflict, with the current entry or None."""

    async def delete(self, key: str, *, expected: int) -> Entry:
        """Delete the entry whose revision is `expected`; return its last value at the revision of the deletion.

        Raises Conflict, with the current entry or None.
        """

    def watch(self, prefix: str, *, after: int, events_max: int = QUEUED_EVENTS_MAX) -> Watch:
        """Watch the keys that begin with `prefix`: every event after a revision.

        Ordered: events come in revision order. Unique: none comes twice. Reliable: none is missing,
        history and live events are one stream. Atomic: the events of a commit come as one tuple. Resumable:
        a watch after the last revision received continues without a gap. `after` may lie in the future.

        A read raises Compacted when `after` is before the compacted revision, or falls behind it while
        still reading history; Lagged when more than `events_max` live events wait to be read (the
        writer is never slowed); Unavailable when the store closes or cannot read its history.
        """

    async def compact(self, revision: int) -> None:
        """Forget what was replaced or deleted up to and including a revision.

        Later reads and watches from before it raise Compacted; those at or after it are not affected.
        Compacting to an older revision than before does nothing. Writers are not delayed for long.
        Raises FutureRevision.
        """


@runtime_checkable
class BatchStore(Protocol):
    """Store that updates many entries in one commit for less than one by one."""

    async def update_all(self, updates: Sequence[tuple[str, bytes, int]]) -> list[Entry | None]:
        """Replace entries, given as keys, values and expected revisions.

        Returns None for each entry that has another revision. Each update has a revision of its own, in the order of
        the updates; watchers receive them as one commit.
        """
        ...
