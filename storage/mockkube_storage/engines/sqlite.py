"""SQLite engine: durable, for one process; the default of a server that keeps its data.

It is the only writer of its file, so it keeps the current entries in memory and decides writes on them; the unique
index of the database confirms each decision.
"""

import logging
import os
import sqlite3
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import URL, event
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from mockkube_storage.current import CurrentEntries
from mockkube_storage.engines import sql_tables as tables
from mockkube_storage.engines.file_lock import FileLock
from mockkube_storage.engines.sql import SqlStore
from mockkube_storage.engines.sql_file import DatabaseFile, FileLost
from mockkube_storage.engines.sql_plan import CommitPlan, LatestVersion, plan_writes
from mockkube_storage.errors import Conflict, Unavailable
from mockkube_storage.model import Entry, Event, EventType, Page
from mockkube_storage.writes import Write

_INSERT: Final = str(tables.INSERT.compile(dialect=sqlite.dialect(paramstyle="qmark")))
# Rows of one statement: older versions of SQLite accept at most 999 values in it.
_ROWS_MAX: Final = 199
_SETUP_PRAGMAS: Final = (
    "PRAGMA page_size = 8192",  # heeded by a new file only; three objects of 2 KB a page
    "PRAGMA journal_mode = WAL",
)


_log = logging.getLogger(__name__)


class SqliteStore(SqlStore):
    """Store in one SQLite file."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._path = path
        self._full_path = os.path.abspath(path)
        # a connection that is opened later must not make a new file in the place of one that has been removed
        file_uri = f"file:{quote(self._full_path)}"
        self._url = URL.create("sqlite+aiosqlite", database=file_uri, query={"mode": "rw", "uri": "true"})
        self._file_lock = FileLock(path)
        self._file = DatabaseFile(path, self._file_lock)
        self._damage = ""  # what is wrong with the content of the file; nothing is written any more
        self._logged_problem = ""
        self._current = CurrentEntries()
        self._write_connection: AsyncConnection | None = None  # the one that group commits go through
        self._tombstones: dict[str, int] = {}  # deletions the database still has, by key, oldest first

    async def start(self) -> None:
        """Open the file; raise Unavailable if its content is damaged."""
        await super().start()
        self._file.record_state()

    @property
    def problem(self) -> str:
        """Reason why nothing written now would be kept; empty if there is none."""
        return self._find_problem()

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

    async def _open_engine(self) -> AsyncEngine:
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))  # what is stored may be secret
        self._file_lock.acquire()
        engine = create_async_engine(self._url, pool_reset_on_return=None)  # each use ends its own transaction
        event.listen(engine.sync_engine, "connect", _require_durability)
        return engine

    async def _release_engine(self) -> None:
        self._file_lock.release()

    async def _set_up_database(self, connection: AsyncConnection) -> None:
        for statement in _SETUP_PRAGMAS:
            await connection.exec_driver_sql(statement)

    async def _load_state(self, connection: AsyncConnection) -> None:
        if damage := await _find_damage(connection):
            raise Unavailable(self._path, damage)
        self._damage = self._logged_problem = ""
        entries = []
        # A creation must follow the deletion before it in the unique index, as long as compaction has not removed that.
        self._tombstones = {}
        for row in await connection.execute(tables.LAST_VERSIONS):
            if (entry := tables.to_entry(row)) is None:
                self._tombstones[row.key] = row.revision
            else:
                entries.append(entry)
        self._current = CurrentEntries(entries)

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
        # Open connections answer from their caches, so the check takes a new one.
        engine = create_async_engine(self._url, poolclass=NullPool)
        try:
            with self._translate_errors():
                async with engine.connect() as connection:
                    self._damage = await self._find_loss(connection)
        finally:
            await engine.dispose()
        self._check_file()
        self._file.record_state()

    async def _find_loss(self, connection: AsyncConnection) -> str:
        """Return what is wrong with the content, compared with what is in memory; empty if nothing is lost."""
        # SQLite reads a log it has open without its checksums; whoever opens the file next drops all that follows the
        # first bad one. Moved into the database, the content is what the check finds.
        if damage := await _find_damage(connection, before="PRAGMA wal_checkpoint(TRUNCATE)"):
            return damage
        if await self._read_newest_revision(connection) < self.revision:
            return f"writes up to revision {self.revision} are no longer in it"
        stored = {row.key: tables.to_entry(row) for row in await connection.execute(tables.LAST_VERSIONS)}
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
            with self._translate_errors():
                if self._write_connection is None:
                    autocommit = self._database.engine.execution_options(isolation_level="AUTOCOMMIT")
                    self._write_connection = await autocommit.connect()
                driver = (await self._write_connection.get_raw_connection()).driver_connection
            await self._insert_rows(driver, plan.rows)
        return plan

    async def _insert_rows(self, driver: Any, rows: Sequence[Mapping[str, Any]]) -> None:
        """Commit rows through aiosqlite directly, in as few statements as possible.

        Every statement enters the driver's thread once; through SQLAlchemy it would be four times. In autocommit mode a
        statement is a transaction of its own; several statements get one around them.
        """
        try:
            if len(rows) <= _ROWS_MAX:
                await _execute_insert(driver, rows)
                return
            await driver.execute("BEGIN IMMEDIATE")
            for start in range(0, len(rows), _ROWS_MAX):
                await _execute_insert(driver, rows[start : start + _ROWS_MAX])
            await driver.execute("COMMIT")
        except sqlite3.Error as error:
            await self._close_write_connection(broken=True)  # what was begun ends with the connection
            raise Unavailable(self._path, str(error)) from error

    async def _close_write_connection(self, *, broken: bool = False) -> None:
        writing, self._write_connection = self._write_connection, None
        self._file.forget_log()
        if writing is not None:
            if broken:
                await writing.invalidate()
            await writing.close()

    async def _dispose(self, engine: AsyncEngine) -> None:
        await self._close_write_connection()
        await super()._dispose(engine)

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
            swept = await super()._sweep(revision)
        except BaseException:
            self._file.forget_log()  # it may have been written to
            raise
        self._check_file()
        self._file.record_state()
        # Ordered by revision, so the tombstones that the sweep has removed come first.
        for key in [key for key, _ in takewhile(lambda grave: grave[1] <= swept, self._tombstones.items())]:
            del self._tombstones[key]
        return swept


async def _find_damage(connection: AsyncConnection, *, before: str = "") -> str:
    """Return what is wrong with the content of a database, once `before` has been executed; empty if it is sound."""
    if before:
        try:
            await connection.exec_driver_sql(before)
        except OperationalError:
            raise  # a full disk is no damage
        except DatabaseError as error:
            return _describe_damage(str(error.orig))
    try:
        rows = await connection.exec_driver_sql("PRAGMA quick_check(1)")
        message = str(rows.scalar_one())
    except DatabaseError as error:
        message = str(error.orig)
    if message == "ok":
        return ""
    return _describe_damage(message)


def _describe_damage(message: str) -> str:
    return f"its content is damaged ({message.splitlines()[-1]}); restore a copy, or remove the file to start empty"


async def _execute_insert(driver: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    await driver.execute(_build_insert(len(rows)), [value for row in rows for value in row.values()])


@lru_cache(maxsize=_ROWS_MAX)
def _build_insert(count: int) -> str:
    """Return one statement for that many rows."""
    # The driver's thread waits for the interpreter after each statement, so one for all rows is faster than one per
    # row.
    head, values, row = _INSERT.rpartition("(?")
    return head + ", ".join([values + row] * count)


def _require_durability(connection: Any, _record: object) -> None:
    """Make every commit wait for the disk: the default, unless SQLite was built otherwise."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()
