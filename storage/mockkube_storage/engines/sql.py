"""SQL engines: reads, group commit, watch history and compaction that they share.

Each engine adds how it opens its database and how it decides a group of writes. Reads run as tasks of the store, so
that cancelling a caller never interrupts a driver within a query.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mockkube_storage.engines.group_commit import GroupCommitWriter
from mockkube_storage.engines.sql_plan import CommitPlan
from mockkube_storage.engines.store_tasks import StoreTasks
from mockkube_storage.errors import Compacted, Conflict, FutureRevision, Unavailable
from mockkube_storage.keys import check_key
from mockkube_storage.model import REVISION_FIRST, Entry, Event, Page
from mockkube_storage.store import Store
from mockkube_storage.watch import QUEUED_EVENTS_MAX, Watch, WatchHub
from mockkube_storage.writes import Write

if TYPE_CHECKING:
    from mockkube_storage.engines.sql_database import SqlConnection, SqlDatabase
    from mockkube_storage.engines.sql_format import NewestRevision

# Events kept in memory for watchers that come back.
RECENT_EVENTS_MAX: Final = 4_096


@dataclass(frozen=True, slots=True)
class OpenDatabase:
    """Resources that a store holds between its start and its close."""

    tasks: StoreTasks
    writer: GroupCommitWriter


class SqlStore(Store):
    """Store in the two tables of `sql_tables`."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._watch_hub = WatchHub(REVISION_FIRST)
        self._compacted = 0
        self._outcome_unknown = False
        self._open_database: OpenDatabase | None = None

    @property
    def revision(self) -> int:
        """The newest revision published to watchers."""
        return self._watch_hub.revision

    @abstractmethod
    async def _open(self) -> None:
        """Open the database, create its tables if it is empty, and call `_begin_at` with its newest revision."""

    @abstractmethod
    async def _release(self) -> None:
        """Free what `_open` has acquired. Called once per start, even if the start failed."""

    @abstractmethod
    async def _get_sql_database(self) -> SqlDatabase:
        """Return the database as SQLAlchemy sees it."""

    @abstractmethod
    async def _plan_and_commit(self, writes: Sequence[Write]) -> CommitPlan:
        """Publish all that is committed, decide the writes on top of it, and commit them."""

    @abstractmethod
    async def _sweep(self, revision: int) -> int:
        """Refuse reads before `revision`; delete one window of replaced versions. Return the window's end."""

    def _apply_events(self, events: Sequence[Event]) -> None:
        """Apply events to the state that the engine keeps in memory."""

    async def start(self) -> None:
        """Open the database, create its tables if it is empty, and begin to write."""
        assert self._open_database is None, "started twice"
        try:
            await self._open()
        except BaseException:
            await self._dispose()
            raise
        tasks, writer = StoreTasks(self._dispose), GroupCommitWriter(self._where, self._commit)
        await tasks.open()
        tasks.start_background(writer.run())
        self._open_database = OpenDatabase(tasks, writer)

    def _begin_at(self, newest: NewestRevision) -> None:
        """Serve watchers from this revision on."""
        self._set_compacted(newest.compacted)
        self._watch_hub = WatchHub(newest.newest, recent_max=RECENT_EVENTS_MAX)

    async def close(self) -> None:
        """Finish the transaction in progress, then close the database."""
        session, self._open_database = self._open_database, None
        if session is None:
            return
        session.writer.stop()
        await session.tasks.close()

    async def current_revision(self) -> int:
        """Return the newest revision of the database, after publishing the events up to it."""
        await self.poll()
        return self.revision

    async def poll(self) -> None:
        """Publish what other processes have committed."""
        await self._database.tasks.call(self._poll())

    async def get(self, key: str, *, revision: int = 0) -> Entry | None:
        """Read the latest version of a key up to a revision."""
        await self._check_readable(revision)
        return await self._database.tasks.call(self._read_entry(key, revision))

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Page:
        """Read the versions that were current at a revision."""
        await self._check_readable(revision)
        while True:
            at = revision or await self.current_revision()
            try:
                return await self._database.tasks.call(self._read_page(prefix, start, limit, at))
            except Compacted:
                # A list without a revision reads at the one that was newest when it began. That can be compacted while
                # the read runs; the next attempt reads at a newer one.
                if revision:
                    raise

    async def create(self, key: str, value: bytes) -> Entry:
        """Write the first version of a key."""
        return await self._write(Write(key, value, None))

    async def update(self, key: str, value: bytes, *, expected: int) -> Entry:
        """Write the next version of a key."""
        return await self._write(Write(key, value, expected))

    async def delete(self, key: str, *, expected: int) -> Entry:
        """Write the version that ends a key."""
        return await self._write(Write(key, None, expected))

    def watch(self, prefix: str, *, after: int, events_max: int = QUEUED_EVENTS_MAX) -> Watch:
        """Watch a prefix; events that memory no longer holds are read from the database first."""
        assert self._database is not None
        return Watch(self._watch_hub, self, prefix, after=after, events_max=events_max)

    async def events(self, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        """Return the next part of a watcher's history."""
        return await self._database.tasks.call(self._read_history(prefix, after))

    async def compact(self, revision: int) -> None:
        """Refuse reads of the past, then delete it in small transactions between those of writers."""
        if revision > self.revision and revision > (current := await self.current_revision()):
            raise FutureRevision(revision, current)
        swept = 0
        while swept < revision:
            swept = await self._database.writer.run_between_groups(lambda: self._sweep(revision))

    async def _dispose(self) -> None:
        self._watch_hub.end(Unavailable(self._where, "it has been closed"))
        await self._release()

    @property
    def _database(self) -> OpenDatabase:
        if self._open_database is None:
            raise Unavailable(self._where, "it is not started, or has been closed")
        return self._open_database

    async def _write(self, write: Write) -> Entry:
        check_key(write.key)
        return await self._database.writer.write(write)

    async def _commit(self, writes: Sequence[Write]) -> Sequence[Entry | Conflict]:
        """Decide and commit a group of writes."""
        # The connection may have broken within the commit: only the database knows whether the last group is in it.
        if self._outcome_unknown:
            await self._poll()
            self._outcome_unknown = False
        try:
            plan = await self._plan_and_commit(writes)
        except BaseException:
            self._outcome_unknown = True
            raise
        self._publish(plan.events)
        return plan.outcomes

    async def _poll(self) -> None:
        database = await self._get_sql_database()
        async with database.connection() as connection:
            await self._refresh(connection)

    async def _refresh(self, connection: SqlConnection) -> None:
        """Publish every event after our revision; end the watchers if some of them are compacted already."""
        more = await self._read_newest_revision(connection) > self.revision
        while more:
            since = self.revision
            events, more = await connection.read_events("", since)
            newest = await self._read_newest_revision(connection)  # after the events: nothing was swept from among them
            if self._compacted > self.revision:
                self._watch_hub.skip_to(newest, Compacted(since, self._compacted))
                return
            self._publish(events)

    async def _read_newest_revision(self, connection: SqlConnection) -> int:
        """Return the revision of the database; record up to where it is compacted."""
        found = await connection.read_newest_revision()
        self._set_compacted(found.compacted)
        return found.newest

    def _publish(self, events: Sequence[Event]) -> None:
        """Publish the events that no other reader of the database has published yet."""
        # A commit and a poll of the same process can read the same events.
        new = [event for event in events if event.revision > self.revision]
        if new:
            self._apply_events(new)
            self._watch_hub.publish(new)

    def _set_compacted(self, revision: int) -> None:
        if revision > self._compacted:
            self._compacted = revision
            # Another process may have compacted beyond what this one has read.
            self._watch_hub.forget(min(revision, self.revision))

    async def _check_readable(self, revision: int) -> None:
        if revision > self.revision and revision > (current := await self.current_revision()):
            raise FutureRevision(revision, current)
        self._check_not_compacted(revision)

    def _check_not_compacted(self, revision: int) -> None:
        if 0 < revision < self._compacted:
            raise Compacted(revision, self._compacted)

    async def _read_entry(self, key: str, revision: int) -> Entry | None:
        database = await self._get_sql_database()
        async with database.connection() as connection:
            entry = await connection.read_entry(key, revision)
            # Read after the version: had a compaction removed it in between, the revision now counts as compacted.
            if revision:
                await self._read_newest_revision(connection)
        self._check_not_compacted(revision)
        return entry

    async def _read_page(self, prefix: str, start: str, limit: int, at: int) -> Page:
        database = await self._get_sql_database()
        async with database.connection() as connection:
            entries, remaining = await connection.read_page(prefix, start=start, limit=limit, at=at)
            await self._read_newest_revision(connection)
        self._check_not_compacted(at)
        return Page(entries, at, remaining)

    async def _read_history(self, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        up_to = self.revision
        database = await self._get_sql_database()
        async with database.connection() as connection:
            events, _ = await connection.read_events(prefix, after, up_to)
            await self._read_newest_revision(connection)
        if after < self._compacted:
            raise Compacted(after, self._compacted)
        return events, up_to
