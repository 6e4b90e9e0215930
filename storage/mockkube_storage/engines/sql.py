"""SQL engines: reads, group commit, watch history and compaction that they share.

Each engine adds how it opens its database and how it decides a group of writes. Reads run as tasks of the store, so
that cancelling a caller never interrupts a driver within a query.
"""

from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Row, bindparam, inspect, update
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mockkube_storage.engines import sql_tables as tables
from mockkube_storage.engines.group_commit import GroupCommitWriter
from mockkube_storage.engines.sql_plan import CommitPlan
from mockkube_storage.engines.store_tasks import StoreTasks
from mockkube_storage.errors import Compacted, Conflict, FormatTooNew, FutureRevision, Unavailable
from mockkube_storage.keys import check_key
from mockkube_storage.model import REVISION_FIRST, Entry, Event, Page
from mockkube_storage.store import Store
from mockkube_storage.watch import QUEUED_EVENTS_MAX, Watch, WatchHub
from mockkube_storage.writes import Write

# Events kept in memory for watchers that come back.
RECENT_EVENTS_MAX: Final = 4_096
# Events of one read of the watch history.
HISTORY_EVENTS_MAX: Final = 1_000
# Total size of the values of one such read, unless a single event exceeds it.
HISTORY_BYTES_MAX: Final = 16 * 1024 * 1024
# Revisions whose replaced versions one transaction of a compaction removes.
SWEEP_REVISIONS_MAX: Final = 500

_RAISE_COMPACTED: Final = (
    update(tables.META)
    .where(tables.META.c.name == "compacted", tables.META.c.value < bindparam("to"))
    .values(value=bindparam("to"))
)
_RAISE_SWEPT: Final = update(tables.META).where(tables.META.c.name == "swept").values(value=bindparam("to"))


@dataclass(frozen=True, slots=True)
class OpenDatabase:
    """Resources that a store holds between its start and its close."""

    engine: AsyncEngine
    reading: AsyncEngine
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
    async def _open_engine(self) -> AsyncEngine:
        """Return the engine; what it acquires, `_release_engine` frees. Changes nothing in the database."""

    async def _release_engine(self) -> None:
        """Free what `_open_engine` has acquired. Called once per start, even if the start failed."""
        return

    async def _load_state(self, connection: AsyncConnection) -> None:
        """Read the state that the engine keeps in memory, at the store's revision."""

    def _reading_engine(self, engine: AsyncEngine) -> AsyncEngine:
        """Return the same engine, set up for reading outside of transactions."""
        return engine

    async def _set_up_database(self, connection: AsyncConnection) -> None:
        """Set up the database for speed and durability; it has been checked to be ours."""

    async def _lock_out_writers(self, connection: AsyncConnection) -> None:
        """Keep other processes from writing until the end of the transaction."""

    @abstractmethod
    async def _plan_and_commit(self, writes: Sequence[Write]) -> CommitPlan:
        """Publish all that is committed, decide the writes on top of it, and commit them."""

    def _apply_events(self, events: Sequence[Event]) -> None:
        """Apply events to the state that the engine keeps in memory."""

    async def start(self) -> None:
        """Open the database, create its tables if it is empty, and begin to write."""
        assert self._open_database is None, "started twice"
        try:
            with self._translate_errors():
                # Two steps that fail apart: before the engine exists there is only the claim to free, afterwards the
                # engine as well.
                engine = await self._open_engine()
        except BaseException:
            await self._release_engine()
            raise
        try:
            with self._translate_errors():
                await self._prepare(engine)
        except BaseException:
            await self._dispose(engine)
            raise
        tasks, writer = StoreTasks(lambda: self._dispose(engine)), GroupCommitWriter(self._where, self._commit)
        await tasks.open()
        tasks.start_background(writer.run())
        self._open_database = OpenDatabase(engine, self._reading_engine(engine), tasks, writer)

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

    async def _dispose(self, engine: AsyncEngine) -> None:
        self._watch_hub.end(Unavailable(self._where, "it has been closed"))
        try:
            await engine.dispose()
        finally:
            await self._release_engine()

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
        async with self._connection() as connection:
            await self._refresh(connection)

    async def _refresh(self, connection: AsyncConnection) -> None:
        """Publish every event after our revision; end the watchers if some of them are compacted already."""
        more = await self._read_newest_revision(connection) > self.revision
        while more:
            since = self.revision
            rows, more = await _read_events(connection, "", since, tables.REVISION_MAX)
            newest = await self._read_newest_revision(connection)  # after the events: nothing was swept from among them
            if self._compacted > self.revision:
                self._watch_hub.skip_to(newest, Compacted(since, self._compacted))
                return
            self._publish(tables.to_events(rows))

    async def _read_newest_revision(self, connection: AsyncConnection) -> int:
        """Return the revision of the database; record up to where it is compacted."""
        row = (await connection.execute(tables.NEWEST)).one()
        self._set_compacted(row.compacted)
        newest: int = max(REVISION_FIRST, row.newest or 0, row.compacted)
        return newest

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
        at = revision or tables.REVISION_MAX
        async with self._connection() as connection:
            row = (await connection.execute(tables.VERSION_AT, {"key": key, "at": at})).first()
            # Read after the version: had a compaction removed it in between, the revision now counts as compacted.
            if revision:
                await self._read_newest_revision(connection)
        self._check_not_compacted(revision)
        return None if row is None else tables.to_entry(row)

    async def _read_page(self, prefix: str, start: str, limit: int, at: int) -> Page:
        remaining = 0
        async with self._connection() as connection:
            rows = (await connection.execute(tables.select_page(prefix, start=start, limit=limit, at=at))).all()
            # A page that is not full is the last one and needs no count.
            if limit and len(rows) == limit:
                total = (await connection.execute(tables.select_count(prefix, start=start, at=at))).scalar_one()
                remaining = total - len(rows)
            await self._read_newest_revision(connection)
        self._check_not_compacted(at)
        entries = [entry for row in rows if (entry := tables.to_entry(row)) is not None]
        return Page(tuple(entries), at, remaining)

    async def _read_history(self, prefix: str, after: int) -> tuple[tuple[Event, ...], int]:
        up_to = self.revision
        async with self._connection() as connection:
            rows, _ = await _read_events(connection, prefix, after, up_to)
            await self._read_newest_revision(connection)
        if after < self._compacted:
            raise Compacted(after, self._compacted)
        return tables.to_events(rows), up_to

    async def _sweep(self, revision: int) -> int:
        """Refuse reads before `revision`; delete one window of replaced versions. Return the window's end."""
        async with self._transaction() as connection:
            await self._lock_out_writers(connection)
            await connection.execute(_RAISE_COMPACTED, {"to": revision})
            # Read back rather than taken from the argument: another process may have compacted further.
            marks = await _read_meta(connection)
            swept = min(marks["swept"] + SWEEP_REVISIONS_MAX, marks["compacted"])
            await connection.execute(tables.delete_replaced(marks["swept"], swept))
            await connection.execute(_RAISE_SWEPT, {"to": swept})
        self._set_compacted(marks["compacted"])
        return swept

    async def _prepare(self, engine: AsyncEngine) -> None:
        async with engine.begin() as connection:
            await self._lock_out_writers(connection)
            empty = await self._is_empty(connection)
            await self._set_up_database(connection)
            if empty:
                await connection.run_sync(tables.METADATA.create_all)
                names = ("format", "compacted", "swept")
                rows = [{"name": name, "value": tables.FORMAT if name == "format" else 0} for name in names]
                await connection.execute(tables.META.insert(), rows)
            self._watch_hub = WatchHub(await self._read_newest_revision(connection), recent_max=RECENT_EVENTS_MAX)
            await self._load_state(connection)

    async def _is_empty(self, connection: AsyncConnection) -> bool:
        """Return whether the database has no tables yet; raise if it is not ours, or too new."""
        tables_found = set(await connection.run_sync(lambda sync: inspect(sync).get_table_names()))
        ours = set(tables.METADATA.tables)
        if ours <= tables_found and "format" in (marks := await _read_meta(connection)):
            if marks["format"] > tables.FORMAT:
                raise FormatTooNew(self._where, marks["format"], tables.FORMAT)
            return False
        if tables_found - ours:
            raise Unavailable(self._where, f"it holds a table of another program, {min(tables_found - ours)}")
        return True

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection]:
        with self._translate_errors():
            async with self._database.reading.connect() as connection:
                yield connection

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncConnection]:
        with self._translate_errors():
            async with self._database.engine.begin() as connection:
                yield connection

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            raise Unavailable(self._where, _describe_cause(error)) from error


async def _read_events(
    connection: AsyncConnection, prefix: str, after: int, up_to: int
) -> tuple[Sequence[Row[Any]], bool]:
    """Read the next rows of the history within the limits of one read; return whether more may follow."""
    # Sizes are read first, so that rows beyond the limit on bytes are never loaded.
    statement = tables.select_history_sizes(prefix, after=after, up_to=up_to, limit=HISTORY_EVENTS_MAX)
    sizes = (await connection.execute(statement)).all()
    count = total = 0
    for _, size in sizes:
        total += size
        if count and total > HISTORY_BYTES_MAX:
            break
        count += 1
    if not count:
        return (), False
    statement = tables.select_history(prefix, after=after, up_to=sizes[count - 1][0], limit=count)
    return (await connection.execute(statement)).all(), count < len(sizes) or count == HISTORY_EVENTS_MAX


def _describe_cause(error: SQLAlchemyError | OSError) -> str:
    """Return the error of the driver or of the operating system, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return str(cause).partition("\n")[0]


async def _read_meta(connection: AsyncConnection) -> dict[str, int]:
    return {row.name: row.value for row in await connection.execute(tables.META_VALUES)}
