"""SQLite engine: durable, for one process; the default of a server that keeps its data.

It is the only writer of its file, so it keeps the current entries in memory and decides writes on them; the unique
index of the database confirms each decision.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from itertools import takewhile
from typing import TYPE_CHECKING
from urllib.parse import quote

from mockkube_storage.current import CurrentEntries
from mockkube_storage.engines.file_lock import FileLock
from mockkube_storage.engines.sql import SqlStore
from mockkube_storage.engines.sql_file import DatabaseFile, FileLost
from mockkube_storage.engines.sql_format import to_entry
from mockkube_storage.engines.sql_plan import CommitPlan, LatestVersion, plan_writes
from mockkube_storage.engines.sqlite_connection import SqliteConnection
from mockkube_storage.errors import Conflict, Unavailable
from mockkube_storage.model import Entry, Event, EventType, Page
from mockkube_storage.writes import Write

if TYPE_CHECKING:
    from mockkube_storage.engines.sql_database import SqlDatabase

_log = logging.getLogger(__name__)


class SqliteStore(SqlStore):
    """Store in one SQLite file."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._path = path
        self._full_path = os.path.abspath(path)
        # a connection that is opened later must not make a new file in the place of one that has been removed
        self._uri = f"file:{quote(self._full_path)}?mode=rw"
        self._file_lock = FileLock(path)
        self._file = DatabaseFile(path, self._file_lock)
        self._damage = ""  # what is wrong with the content of the file; nothing is written any more
        self._logged_problem = ""
        self._current = CurrentEntries()
        self._past_bytes = 0
        self._connection: SqliteConnection | None = None  # the one that group commits go through
        self._sql_database: SqlDatabase | None = None  # for reads of the past
        self._tombstones: dict[str, int] = {}  # deletions the database still has, by key, oldest first

    async def start(self) -> None:
        """Open the file; raise Unavailable if its content is damaged."""
        await super().start()
        self._file.record_state()

    @property
    def problem(self) -> str:
        """Reason why nothing written now would be kept; empty if there is none."""
        return self._find_problem()

    @property
    def past_bytes(self) -> int:
        """About how many bytes of replaced and deleted entries there were at the start."""
        return self._past_bytes

    async def poll(self) -> None:
        """Check that the file is still there; no other process writes to it."""
        assert self._database is not None
        self._check_file()

    async def get(self, key: str, *, revision: int = 0) -> Entry | None:
        """Return the current entry from memory; read older versions from the database."""
        if not revision:
            assert self._database is not None
            return self._current.get(key)
        return await super().get(key, revision=revision)

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Page:
        """Return current entries from memory; read older versions from the database."""
        if revision in (0, self.revision):
            assert self._database is not None
            return self._current.page(prefix, start=start, limit=limit, revision=self.revision)
        return await super().list(prefix, start=start, limit=limit, revision=revision)

    async def _open(self) -> None:
        with self._translate_errors():
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))  # what is stored may be secret
            self._file_lock.acquire()
            connection = self._connection = await SqliteConnection.open(self._uri)
            await connection.create_missing_tables(self._where)
            self._begin_at(await connection.read_newest_revision())
            await self._load_state(connection)

    async def _release(self) -> None:
        try:
            await self._close_connection()
            database, self._sql_database = self._sql_database, None
            if database is not None:
                await database.dispose()
        finally:
            self._file_lock.release()

    async def _get_sql_database(self) -> SqlDatabase:
        if self._sql_database is None:
            # In a thread: importing SQLAlchemy takes longer than the event loop may be held.
            module = await asyncio.to_thread(import_module, "mockkube_storage.engines.sqlite_past")
            if self._sql_database is None:  # another read may have opened it meanwhile
                self._sql_database = module.open_sql_database(self._path, self._full_path)
        return self._sql_database

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            cause = (isinstance(error, OSError) and error.strerror) or str(error).partition("\n")[0]
            raise Unavailable(self._where, cause) from error

    async def _load_state(self, connection: SqliteConnection) -> None:
        """Read the entries that the engine keeps in memory."""
        if damage := await connection.find_damage():
            raise Unavailable(self._path, _describe_damage(damage))
        self._damage = self._logged_problem = ""
        entries = []
        # A creation must follow the deletion before it in the unique index, as long as compaction has not removed that.
        self._tombstones = {}
        for row in await connection.read_last_versions():
            if (entry := to_entry(row)) is None:
                revision, key, *_ = row
                self._tombstones[key] = revision
            else:
                entries.append(entry)
        self._current = CurrentEntries(entries)
        self._past_bytes = self._current.estimate_past_bytes(await connection.count_used_bytes())

    def _find_problem(self) -> str:
        try:
            self._file.check_intact()
        except FileLost as error:
            return str(error)
        return self._damage

    def _check_file(self) -> None:
        """Raise Unavailable if writes would not be kept; log every change of that, once."""
        problem = self._find_problem()
        if problem != self._logged_problem:
            self._logged_problem = problem
            if problem:
                _log.error("store %s refuses writes, which would be lost: %s", self._path, problem)
            else:
                _log.warning("store %s takes writes again: its file is back", self._path)
        if problem:
            raise Unavailable(self._path, problem)

    async def _verify_content(self) -> None:
        """Check the content of a file, or a write-ahead log, that another process has written to."""
        _log.warning("store %s: another process has written to its files, which are checked now", self._path)
        with self._translate_errors():
            try:
                self._damage = await self._find_loss()
            except sqlite3.OperationalError:
                raise  # a full disk is no damage
            except sqlite3.DatabaseError as error:
                self._damage = _describe_damage(str(error))
        self._check_file()
        self._file.record_state()

    async def _find_loss(self) -> str:
        """Return what is wrong with the content, compared with what is in memory; empty if nothing is lost."""
        # Open connections answer from their caches, so the check takes a new one.
        connection = await SqliteConnection.open(self._uri)
        try:
            # SQLite reads a log it has open without its checksums; whoever opens the file next drops all that follows
            # the first bad one. Moved into the database, the content is what the check finds.
            await connection.move_log_into_file()
            if damage := await connection.find_damage():
                return _describe_damage(damage)
            return await self._find_missing(connection)
        finally:
            await connection.close()

    async def _find_missing(self, connection: SqliteConnection) -> str:
        """Return which writes are no longer in the file; empty if none is missing."""
        newest = await connection.read_newest_revision()
        self._set_compacted(newest.compacted)
        if newest.newest < self.revision:
            return f"writes up to revision {self.revision} are no longer in it"
        stored = {row[1]: to_entry(row) for row in await connection.read_last_versions()}
        for entry in self._current.page("", start="", limit=0, revision=self.revision).entries:
            found = stored.get(entry.key)
            if found != entry and (found is None or found.revision <= entry.revision):
                return f"the write of {entry.key} at revision {entry.revision} is no longer in it"
        return ""

    async def _commit(self, writes: Sequence[Write]) -> Sequence[Entry | Conflict]:
        """Refuse the group before anything is written if the file would not keep it."""
        self._check_file()
        return await super()._commit(writes)

    async def _plan_and_commit(self, writes: Sequence[Write]) -> CommitPlan:  # hot: every group of writes
        if self._file.is_changed():
            await self._verify_content()
        plan = await self._plan_and_insert(writes)
        self._check_file()  # what went into a file that is gone is not acknowledged
        self._file.record_state()
        return plan

    async def _plan_and_insert(self, writes: Sequence[Write]) -> CommitPlan:
        plan = plan_writes(writes, newest=self.revision, head_of=self._latest_version)
        if plan.rows:
            async with self._writing() as connection:
                await connection.insert(plan.rows)
        return plan

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[SqliteConnection]:
        """Context with the connection for writes; what it has begun when an error is raised ends with it."""
        with self._translate_errors():
            if self._connection is None:
                self._connection = await SqliteConnection.open(self._uri)
            try:
                yield self._connection
            except sqlite3.Error:
                await self._close_connection()
                raise

    async def _close_connection(self) -> None:
        connection, self._connection = self._connection, None
        self._file.forget_log()
        if connection is not None:
            await connection.close()

    def _latest_version(self, key: str) -> LatestVersion:
        if (entry := self._current.get(key)) is not None:
            return LatestVersion(entry.revision, entry)
        return LatestVersion(self._tombstones.get(key, 0), None)

    def _apply_events(self, events: Sequence[Event]) -> None:
        for event_ in events:
            self._current.apply(event_)
            if event_.type is EventType.DELETE:
                self._tombstones[event_.entry.key] = event_.revision
            elif event_.previous is None:
                self._tombstones.pop(event_.entry.key, None)

    async def _sweep(self, revision: int) -> int:
        self._check_file()
        try:
            async with self._writing() as connection:
                window = await connection.sweep(revision)
        except BaseException:
            self._file.forget_log()  # it may have been written to
            raise
        self._set_compacted(window.compacted)
        swept = window.up_to
        self._check_file()
        self._file.record_state()
        # Ordered by revision, so the tombstones that the sweep has removed come first.
        for key in [key for key, _ in takewhile(lambda grave: grave[1] <= swept, self._tombstones.items())]:
            del self._tombstones[key]
        return swept


def _describe_damage(message: str) -> str:
    return f"its content is damaged ({message.splitlines()[-1]}); restore a copy, or remove the file to start empty"
