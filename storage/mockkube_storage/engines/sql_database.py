"""Database behind a store, through SQLAlchemy: all of PostgreSQL, and the past of SQLite.

Importing SQLAlchemy takes 0.1 s and 20 MB, so the SQLite engine does it when somebody reads the past.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from sqlalchemy import Row, inspect
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mockkube_storage.engines import sql_tables as tables
from mockkube_storage.engines.sql_format import META_ROWS, NewestRevision, SweepWindow, check_is_ours, to_entry
from mockkube_storage.errors import Unavailable
from mockkube_storage.model import Entry, Event

# Events of one read of the watch history.
HISTORY_EVENTS_MAX: Final = 1_000
# Total size of the values of one such read, unless a single event exceeds it.
HISTORY_BYTES_MAX: Final = 16 * 1024 * 1024


class SqlConnection:
    """Connection to a database, and the queries that are the same in all of them; `raw` takes further statements."""

    def __init__(self, raw: AsyncConnection) -> None:
        self.raw = raw

    async def create_missing_tables(self, where: str) -> None:
        """Create the tables in an empty database; raise Unavailable if it is not ours, or too new."""
        names = set(await self.raw.run_sync(lambda sync: inspect(sync).get_table_names()))
        meta = await self.read_meta() if names >= set(tables.METADATA.tables) else {}
        if not check_is_ours(where, names, meta):
            await self.raw.run_sync(tables.METADATA.create_all)
            rows = [{"name": name, "value": value} for name, value in META_ROWS.items()]
            await self.raw.execute(tables.META.insert(), rows)

    async def read_meta(self) -> dict[str, int]:
        """Return the rows of `meta`."""
        return {row.name: row.value for row in await self.raw.execute(tables.META_VALUES)}

    async def read_newest_revision(self) -> NewestRevision:
        """Return the newest revision of the database."""
        return NewestRevision.from_row((await self.raw.execute(tables.NEWEST)).one())

    async def read_entry(self, key: str, revision: int) -> Entry | None:
        """Return the entry of a key at a revision, 0 for the newest; None if there is none."""
        at = revision or tables.REVISION_MAX
        row = (await self.raw.execute(tables.VERSION_AT, {"key": key, "at": at})).first()
        return None if row is None else to_entry(row)

    async def read_page(self, prefix: str, *, start: str, limit: int, at: int) -> tuple[tuple[Entry, ...], int]:
        """Return the entries of a prefix at a revision, and how many follow them."""
        rows = (await self.raw.execute(tables.select_page(prefix, start=start, limit=limit, at=at))).all()
        remaining = 0
        # A page that is not full is the last one and needs no count.
        if limit and len(rows) == limit:
            total = (await self.raw.execute(tables.select_count(prefix, start=start, at=at))).scalar_one()
            remaining = total - len(rows)
        return tuple([entry for row in rows if (entry := to_entry(row)) is not None]), remaining

    async def read_events(
        self, prefix: str, after: int, up_to: int = tables.REVISION_MAX
    ) -> tuple[tuple[Event, ...], bool]:
        """Return the next events of the history within the limits of one read, and whether more may follow."""
        # Sizes are read first, so that rows beyond the limit on bytes are never loaded.
        statement = tables.select_history_sizes(prefix, after=after, up_to=up_to, limit=HISTORY_EVENTS_MAX)
        sizes = (await self.raw.execute(statement)).all()
        count = total = 0
        for _, size in sizes:
            total += size
            if count and total > HISTORY_BYTES_MAX:
                break
            count += 1
        if not count:
            return (), False
        statement = tables.select_history(prefix, after=after, up_to=sizes[count - 1][0], limit=count)
        rows: Sequence[Row[Any]] = (await self.raw.execute(statement)).all()
        return tables.to_events(rows), count < len(sizes) or count == HISTORY_EVENTS_MAX

    async def sweep(self, compacted: int) -> SweepWindow:
        """Refuse reads before `compacted`; delete the next window of replaced versions."""
        await self.raw.execute(tables.RAISE_COMPACTED, {"to": compacted})
        # Read back rather than taken from the argument: another process may have compacted further.
        window = SweepWindow.from_meta(await self.read_meta())
        await self.raw.execute(tables.delete_replaced(window.after, window.up_to))
        await self.raw.execute(tables.RAISE_SWEPT, {"to": window.up_to})
        return window


class SqlDatabase:
    """Connections to a database with the tables of `sql_tables`."""

    def __init__(self, where: str, engine: AsyncEngine, reading: AsyncEngine | None = None) -> None:
        """Read through `reading`, the same engine set up for reading outside of transactions, if it is given."""
        self._where = where
        self.engine = engine
        self._reading = reading or engine

    async def dispose(self) -> None:
        """Close all connections."""
        await self.engine.dispose()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[SqlConnection]:
        """Context with a connection for reading."""
        with self.translate_errors():
            async with self._reading.connect() as connection:
                yield SqlConnection(connection)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[SqlConnection]:
        """Context with a connection in a transaction, which is committed at the end."""
        with self.translate_errors():
            async with self.engine.begin() as connection:
                yield SqlConnection(connection)

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Context in which errors of the database become Unavailable."""
        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            raise Unavailable(self._where, _describe_cause(error)) from error


def _describe_cause(error: SQLAlchemyError | OSError) -> str:
    """Return the error of the driver or of the operating system, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return str(cause).partition("\n")[0]
