"""Connection to an SQLite file through aiosqlite, with the statements that a start, writes and compaction send.

They are SQL text, not SQLAlchemy's constructs as in `sql_tables`: a server that starts on a file need not import
SQLAlchemy, which takes 0.1 s and 20 MB. A test compares both.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

import aiosqlite

from mockkube_storage.engines.sql_format import META_ROWS, NewestRevision, SweepWindow, check_is_ours

# Rows of one statement: older versions of SQLite accept at most 999 values in it.
_ROWS_MAX: Final = 199
CREATE_TABLES: Final = (
    'CREATE TABLE IF NOT EXISTS entries (revision INTEGER NOT NULL, "key" TEXT NOT NULL, previous INTEGER NOT NULL,'
    " create_revision INTEGER NOT NULL, value BLOB, PRIMARY KEY (revision))",
    'CREATE UNIQUE INDEX IF NOT EXISTS entries_follow ON entries ("key", previous)',
    "CREATE TABLE IF NOT EXISTS meta (name TEXT NOT NULL, value INTEGER NOT NULL, PRIMARY KEY (name))",
)
NEWEST: Final = "SELECT (SELECT max(revision) FROM entries), value FROM meta WHERE name = 'compacted'"
LAST_VERSIONS: Final = """
    SELECT revision, "key", create_revision, value FROM entries WHERE NOT EXISTS
    (SELECT * FROM entries AS later WHERE later."key" = entries."key" AND later.previous = entries.revision)
    ORDER BY revision
"""
META: Final = "SELECT name, value FROM meta"
RAISE_COMPACTED: Final = "UPDATE meta SET value = :to WHERE name = 'compacted' AND value < :to"
RAISE_SWEPT: Final = "UPDATE meta SET value = :to WHERE name = 'swept'"
DELETE_REPLACED: Final = """
    DELETE FROM entries WHERE revision IN (
    SELECT previous FROM entries WHERE revision > :after AND revision <= :up_to UNION ALL
    SELECT revision FROM entries WHERE revision > :after AND revision <= :up_to AND value IS NULL)
"""
_USED_BYTES: Final = (
    "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
)
_TABLE_NAMES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
_INSERT: Final = 'INSERT INTO entries (revision, "key", previous, create_revision, value) VALUES '
_ROW: Final = "(?, ?, ?, ?, ?)"
_SETUP: Final = (
    "PRAGMA page_size = 8192",  # heeded by a new file only; three objects of 2 KB a page
    "PRAGMA journal_mode = WAL",
)


class SqliteConnection:
    """Open connection in autocommit mode; its methods raise sqlite3.Error."""

    def __init__(self, driver: aiosqlite.Connection) -> None:
        self._driver = driver

    @classmethod
    async def open(cls, uri: str) -> "SqliteConnection":
        """Open a file that exists."""
        driver = aiosqlite.connect(uri, uri=True, isolation_level=None)
        # The thread of a connection that nobody closes must not keep the process from ending. Before aiosqlite 0.22,
        # the connection was the thread.
        thread: Any = getattr(driver, "_thread", driver)
        thread.daemon = True
        connection = cls(await driver)
        try:
            # Every commit waits for the disk: the default, unless SQLite was built otherwise.
            await connection._execute("PRAGMA synchronous = FULL")
        except BaseException:
            await connection.close()
            raise
        return connection

    async def close(self) -> None:
        """Close the connection; a transaction that has begun is rolled back."""
        with suppress(sqlite3.Error, ValueError):  # of a file that is gone, or closed already
            await self._driver.close()

    async def create_missing_tables(self, where: str) -> None:
        """Create the tables in an empty file; raise Unavailable, without a change, if it is not ours or too new."""
        names = {name for (name,) in await self._fetch(_TABLE_NAMES)}
        meta = await self._read_meta() if {"entries", "meta"} <= names else {}
        is_ours = check_is_ours(where, names, meta)
        for statement in _SETUP:
            await self._fetch(statement)
        if not is_ours:
            await self._execute("BEGIN IMMEDIATE")
            for statement in CREATE_TABLES:
                await self._execute(statement)
            for name, value in META_ROWS.items():
                await self._execute("INSERT INTO meta (name, value) VALUES (?, ?)", (name, value))
            await self._execute("COMMIT")

    async def find_damage(self) -> str:
        """Return what is wrong with the content, in one line; empty if it is sound."""
        try:
            ((message,),) = await self._fetch("PRAGMA quick_check(1)")
        except sqlite3.DatabaseError as error:
            message = str(error)
        return "" if message == "ok" else str(message)

    async def count_used_bytes(self) -> int:
        """Return the size of the pages that are in use."""
        ((count,),) = await self._fetch(_USED_BYTES)
        return int(count)

    async def move_log_into_file(self) -> None:
        """Move the write-ahead log into the file."""
        await self._fetch("PRAGMA wal_checkpoint(TRUNCATE)")

    async def read_newest_revision(self) -> NewestRevision:
        """Return the newest revision."""
        return NewestRevision.from_row(*await self._fetch(NEWEST))

    async def read_last_versions(self) -> Sequence[Sequence[Any]]:
        """Return the rows of the last version of each key, in revision order."""
        return await self._fetch(LAST_VERSIONS)

    async def insert(self, rows: Sequence[Mapping[str, Any]]) -> None:  # hot: every group of writes
        """Commit rows, in as few statements as possible: each enters the driver's thread once."""
        # A statement is a transaction of its own; several get one around them.
        if len(rows) <= _ROWS_MAX:
            await self._insert(rows)
            return
        await self._execute("BEGIN IMMEDIATE")
        for start in range(0, len(rows), _ROWS_MAX):
            await self._insert(rows[start : start + _ROWS_MAX])
        await self._execute("COMMIT")

    async def sweep(self, compacted: int) -> SweepWindow:
        """Refuse reads before `compacted`; delete the next window of replaced versions."""
        await self._execute("BEGIN IMMEDIATE")
        await self._execute(RAISE_COMPACTED, {"to": compacted})
        window = SweepWindow.from_meta(await self._read_meta())
        await self._execute(DELETE_REPLACED, {"after": window.after, "up_to": window.up_to})
        await self._execute(RAISE_SWEPT, {"to": window.up_to})
        await self._execute("COMMIT")
        return window

    async def _insert(self, rows: Sequence[Mapping[str, Any]]) -> None:
        await self._execute(_build_insert(len(rows)), [value for row in rows for value in row.values()])

    async def _read_meta(self) -> dict[str, int]:
        return dict(await self._fetch(META))

    async def _execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> None:
        await self._driver.execute(statement, values)

    async def _fetch(self, statement: str) -> list[Any]:
        return list(await self._driver.execute_fetchall(statement))


@lru_cache(maxsize=_ROWS_MAX)
def _build_insert(count: int) -> str:
    """Return one statement for that many rows."""
    # The driver's thread waits for the interpreter after each statement, so one for all rows is faster than one per
    # row.
    return _INSERT + ", ".join([_ROW] * count)
