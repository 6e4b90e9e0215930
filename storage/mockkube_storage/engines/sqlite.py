"""The SQLite engine: durable, one process, the default of a server that is to survive its end.

It is the only writer of its file, so it keeps the current entries in memory, decides there, and the
database confirms.
"""

import os
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, Final

from sqlalchemy import URL, event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from mockkube_storage.current import Current
from mockkube_storage.engines import sql_tables as tables
from mockkube_storage.engines.sql import SqlStore
from mockkube_storage.engines.sql_lock import FileLock
from mockkube_storage.engines.sql_plan import Head, Write
from mockkube_storage.model import Entry, Event, EventType, Page

_LAYOUT: Final = (
    "PRAGMA page_size = 8192",  # heeded by a new file only; three objects of 2 KB a page
    "PRAGMA journal_mode = WAL",
)


class SqliteStore(SqlStore):
    """A Store in one SQLite file."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._path = path
        self._file_lock = FileLock(path)
        self._current = Current()
        self._graves: dict[str, int] = {}  # deletions the database still has, by key, oldest first

    async def poll(self) -> None:
        """Do nothing: nobody else writes."""
        assert self._session is not None

    async def get(self, key: str, *, revision: int = 0) -> Entry | None:
        """Answer from memory about the present."""
        if not revision:
            assert self._session is not None
            return self._current.get(key)
        return await super().get(key, revision=revision)

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Page:
        """Answer from memory about the present."""
        if revision in (0, self.revision):
            assert self._session is not None
            return self._current.page(prefix, start=start, limit=limit, revision=self.revision)
        return await super().list(prefix, start=start, limit=limit, revision=revision)

    async def _open(self) -> AsyncEngine:
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))  # what is stored may be secret
        self._file_lock.take()
        url = URL.create("sqlite+aiosqlite", database=self._path)
        engine = create_async_engine(url, pool_reset_on_return=None)  # each use ends its own transaction
        event.listen(engine.sync_engine, "connect", _require_durability)
        return engine

    async def _release(self) -> None:
        self._file_lock.drop()

    async def _lay_out(self, connection: AsyncConnection) -> None:
        for statement in _LAYOUT:
            await connection.exec_driver_sql(statement)

    async def _load(self, connection: AsyncConnection) -> None:
        entries = []
        self._graves = {}
        for row in await connection.execute(tables.LAST_VERSIONS):
            if (entry := tables.entry_of(row)) is None:
                self._graves[row.key] = row.revision
            else:
                entries.append(entry)
        self._current = Current(entries)

    async def _heads(self, connection: AsyncConnection, writes: Sequence[Write]) -> Callable[[str], Head]:
        return self._head

    def _head(self, key: str) -> Head:
        if (entry := self._current.get(key)) is not None:
            return Head(entry.revision, entry)
        return Head(self._graves.get(key, 0), None)

    def _apply(self, events: Sequence[Event]) -> None:
        for event_ in events:
            self._current.apply(event_)
            if event_.type is EventType.DELETE:
                self._graves[event_.entry.key] = event_.revision
            elif event_.previous is None:
                self._graves.pop(event_.entry.key, None)

    async def _sweep(self, revision: int) -> int:
        swept = await super()._sweep(revision)
        for key in [key for key, _ in takewhile(lambda grave: grave[1] <= swept, self._graves.items())]:
            del self._graves[key]
        return swept


def _require_durability(connection: Any, _record: object) -> None:
    """Have each commit wait for the disk; this is also the default, unless SQLite was built otherwise."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()
