"""PostgreSQL engine: several processes share one database, which decides their conflicts.

A writer holds one lock of the database to the end of its transaction, so commits happen in revision
order, and the holder of the lock has read all commits before its own. Processes announce commits by
NOTIFY; when the listening connection breaks, the next `poll` opens another and fetches what was missed.
One store per database: the lock and the channel have fixed names.
"""

import logging
from asyncio import Event as AsyncEvent
from asyncio import Lock, get_running_loop
from collections.abc import Callable, Sequence
from typing import Any, Final
from weakref import WeakSet

from sqlalchemy import ARRAY, Text, bindparam, event, make_url, text
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from mockkube_storage.engines import sql_tables as tables
from mockkube_storage.engines.sql import OpenDatabase, SqlStore
from mockkube_storage.engines.sql_database import SqlConnection, SqlDatabase
from mockkube_storage.engines.sql_format import to_entry
from mockkube_storage.engines.sql_plan import CommitPlan, LatestVersion, plan_writes
from mockkube_storage.errors import Unavailable, UnknownEngine
from mockkube_storage.writes import Write

CHANNEL: Final = "store_commits"
CONNECT_SECONDS_MAX: Final = 10
COMMAND_SECONDS_MAX: Final = 60
# Time that a close waits for the outcome of writes.
CLOSE_SECONDS_MAX: Final = 0.4

# An advisory lock does not block readers. The notification is sent with the commit, so it takes no round trip of its
# own.
_LOCK_AND_NOTIFY: Final = text("SELECT pg_advisory_xact_lock(4711023), pg_notify(:channel, :sender)")
_BACKEND_PID: Final = text("SELECT pg_backend_pid()")
# ORDER BY previous uses the unique index on (key, previous): the highest `previous` belongs to the latest version.
_LATEST_VERSIONS: Final = text(
    """
    SELECT head.* FROM unnest(:keys) AS wanted(key) CROSS JOIN LATERAL (
        SELECT revision, key, create_revision, value FROM entries
        WHERE key = wanted.key COLLATE "C" ORDER BY previous DESC LIMIT 1
    ) AS head
    """
).bindparams(bindparam("keys", type_=ARRAY(Text)))
_NO_VERSION: Final = LatestVersion(0, None)
_log = logging.getLogger(__name__)


class PostgresqlStore(SqlStore):
    """Store in one PostgreSQL database, which other processes may use at the same time."""

    def __init__(self, url: str) -> None:
        try:
            self._url = make_url(url).set(drivername="postgresql+asyncpg")
        except (ArgumentError, ValueError):
            raise UnknownEngine(url, "postgresql://user@host/database") from None
        super().__init__(self._url.set(drivername="postgresql").render_as_string(hide_password=True))
        self._sql_database: SqlDatabase | None = None
        self._listen_lock = Lock()
        self._listener: AsyncConnection | None = None
        self._listener_driver: Any = None  # asyncpg's own connection, of the listener
        self._backend_pid = ""  # by which we know our own notifications
        # asyncpg's own connections.
        self._drivers: WeakSet[Any] = WeakSet()
        self._commit_announced = AsyncEvent()
        self._stopping = False

    async def start(self) -> None:
        """Open the database and follow what other processes commit."""
        self._stopping = False
        await super().start()
        try:
            await self.poll()
        except BaseException:
            await self.close()
            raise
        self._database.tasks.start_background(self._follow_other_writers())

    async def close(self) -> None:
        """Stop following other processes, finish the writes in progress, close the database."""
        self._stopping = True
        self._commit_announced.set()
        database = self._open_database
        # A server that does not answer must not keep the process from ending.
        timer = get_running_loop().call_later(CLOSE_SECONDS_MAX, self._abort, database)
        try:
            await super().close()
        finally:
            timer.cancel()

    def _abort(self, database: OpenDatabase | None) -> None:
        """Break all connections and end all work."""
        _log.warning("store %s: the server has not answered all writes", self._where)
        for driver in list(self._drivers):
            driver.terminate()
        if database is not None:
            database.tasks.cancel()

    async def poll(self) -> None:
        """Publish what other processes have committed; listen again if the connection broke."""
        await self._database.tasks.call(self._listen())
        await super().poll()

    async def _open(self) -> None:
        limits = {"timeout": CONNECT_SECONDS_MAX, "command_timeout": COMMAND_SECONDS_MAX}
        try:
            engine = create_async_engine(self._url, connect_args=limits)
        except ModuleNotFoundError as error:
            # asyncpg is an optional dependency.
            raise Unavailable(self._where, f"the Python package {error.name} is not installed") from error
        event.listen(engine.sync_engine, "connect", lambda adapted, _: self._drivers.add(adapted.driver_connection))
        # Reads need no BEGIN and ROLLBACK around them.
        reading = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._sql_database = SqlDatabase(self._where, engine, reading)
        async with self._sql_database.transaction() as connection:
            await self._lock_out_writers(connection)
            await connection.create_missing_tables(self._where)
            self._begin_at(await connection.read_newest_revision())

    async def _release(self) -> None:
        await self._unlisten()
        database, self._sql_database = self._sql_database, None
        if database is not None:
            await database.dispose()

    async def _get_sql_database(self) -> SqlDatabase:
        if self._sql_database is None:
            raise Unavailable(self._where, "it is not started, or has been closed")
        return self._sql_database

    async def _lock_out_writers(self, connection: SqlConnection) -> None:
        """Keep other processes from writing until the end of the transaction."""
        await connection.raw.execute(_LOCK_AND_NOTIFY, {"channel": CHANNEL, "sender": self._backend_pid})

    async def _plan_and_commit(self, writes: Sequence[Write]) -> CommitPlan:
        database = await self._get_sql_database()
        async with database.transaction() as connection:
            await self._lock_out_writers(connection)
            latest_of = await self._read_latest_versions(connection, writes)
            plan = plan_writes(writes, newest=self.revision, head_of=latest_of)
            if plan.rows:
                await connection.raw.execute(tables.INSERT, plan.rows)
        return plan

    async def _sweep(self, revision: int) -> int:
        database = await self._get_sql_database()
        async with database.transaction() as connection:
            await self._lock_out_writers(connection)
            window = await connection.sweep(revision)
        self._set_compacted(window.compacted)
        return window.up_to

    async def _read_latest_versions(
        self, connection: SqlConnection, writes: Sequence[Write]
    ) -> Callable[[str], LatestVersion]:
        """Publish all that is committed; return a look-up of the latest versions of these keys."""
        await self._refresh(connection)
        # The lock is held: after the refresh, no process can commit before this transaction ends.
        keys = list({write.key: None for write in writes})
        rows = await connection.raw.execute(_LATEST_VERSIONS, {"keys": keys})
        heads = {row.key: LatestVersion(row.revision, to_entry(row)) for row in rows}
        return lambda key: heads.get(key, _NO_VERSION)

    async def _follow_other_writers(self) -> None:
        """Poll when another process announces a commit."""
        while True:
            await self._commit_announced.wait()
            self._commit_announced.clear()
            if self._stopping:
                return
            try:
                await self._poll()
            except Unavailable as error:
                _log.warning("not following other writers until the next poll: %s", error)

    async def _listen(self) -> None:
        async with self._listen_lock:
            if self._listener_driver is not None and not self._listener_driver.is_closed():
                return
            await self._unlisten()
            database = await self._get_sql_database()
            with database.translate_errors():
                self._listener = await database.engine.connect()
                self._backend_pid = str((await self._listener.execute(_BACKEND_PID)).scalar_one())
                await self._listener.commit()  # inside a transaction nothing would be heard
                driver = (await self._listener.get_raw_connection()).driver_connection
            try:
                await driver.add_listener(CHANNEL, self._on_notify)  # type: ignore[union-attr]  # asyncpg's
            except Exception as error:  # asyncpg's own, which SQLAlchemy does not get to translate
                raise Unavailable(self._where, str(error)) from error
            self._listener_driver = driver

    async def _unlisten(self) -> None:
        listener, self._listener, self._listener_driver = self._listener, None, None
        if listener is not None:
            await listener.invalidate()  # it is not to go back to the pool while it still listens
            await listener.close()

    def _on_notify(self, _driver: object, _pid: int, _channel: str, sender: str) -> None:
        # A store's own commits are published when they return; PostgreSQL notifies the sender as well.
        if sender != self._backend_pid:
            self._commit_announced.set()
