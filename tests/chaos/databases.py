"""The databases that chaos runs on: how each is emptied, and how its integrity is checked while nobody has it open."""

import asyncio
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[2]))

from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.errors import Unavailable
from postgresql_server import PostgresqlServer

from tests.contract.store.etcd_cluster import ETCD, SKIP_ETCD, Member

__all__ = [
    "ETCD",
    "SKIP_ETCD",
    "Database",
    "EtcdDatabase",
    "KillableDatabase",
    "LogDatabase",
    "OwnPostgresqlDatabase",
    "PostgresqlDatabase",
    "SqliteDatabase",
]

INVARIANTS: Final = (
    (
        "versions whose predecessor is missing",
        "SELECT count(*) FROM entries e WHERE e.previous > (SELECT value FROM meta WHERE name = 'compacted')"
        " AND NOT EXISTS (SELECT 1 FROM entries p WHERE p.revision = e.previous AND p.key = e.key)",
    ),
    (
        "versions whose predecessor has another successor",
        "SELECT count(*) FROM (SELECT 1 FROM entries WHERE previous > 0 GROUP BY key, previous HAVING count(*) > 1) d",
    ),
    (
        "versions not after their predecessor",
        "SELECT count(*) FROM entries WHERE previous >= revision OR create_revision > revision",
    ),
    ("marks that are missing", "SELECT 3 - count(*) FROM meta WHERE name IN ('format', 'compacted', 'swept')"),
    (
        "compaction marks out of order",
        "SELECT count(*) FROM meta s, meta c WHERE s.name = 'swept' AND c.name = 'compacted' AND s.value > c.value",
    ),
)
"""What is counted in the tables, and must be none."""


class SqliteDatabase:
    """The file in the state directory of the cluster."""

    name = "sqlite"
    url = ""
    """The cluster finds the file by itself."""
    is_in_process = True

    async def empty(self) -> None:
        """Do nothing: each run has a state directory of its own."""

    async def close(self) -> None:
        """Do nothing."""

    async def check(self, state: Path) -> list[str]:
        """Return what is wrong with the databases of the cluster."""
        return [
            f"{path.name}: {wrong}"
            for path in (state / "cluster.db", state / "control.db")
            if path.exists()
            for wrong in _check_file(path)
        ]


def _check_file(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        wrong = [row[0] for row in database.execute("PRAGMA integrity_check") if row[0] != "ok"]
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if wrong or not tables:
            return wrong  # an empty file: killed before the tables were made
        return [what for what, query in INVARIANTS if database.execute(query).fetchone()[0]]


def _check_control(state: Path) -> list[str]:
    """Return what is wrong with the control resources, which are in a file whatever the engine."""
    control = state / "control.db"
    return [f"control.db: {one}" for one in _check_file(control)] if control.exists() else []


class LogDatabase:
    """The directory of a log engine."""

    name = "log"
    is_in_process = True

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp())
        self._store = self._folder / "store"
        self.url = f"log:///{self._store}"

    async def empty(self) -> None:
        """Do nothing: the directory is new."""

    async def close(self) -> None:
        """Remove the directory."""
        shutil.rmtree(self._folder)

    async def check(self, state: Path) -> list[str]:
        """Return what is wrong with the log, and with the control resources, which are in a file."""
        wrong = _check_control(state)
        if not self._store.exists():
            return wrong
        # A copy: opening the log cuts off an incomplete last record, which the next start shall find.
        copy = self._folder / "copy"
        await asyncio.to_thread(shutil.copytree, self._store, copy)
        try:
            async with open_store(f"log:///{copy}") as store:
                await store.list("")
        except Unavailable as error:
            wrong.append(str(error))
        finally:
            await asyncio.to_thread(shutil.rmtree, copy)
        return wrong


class PostgresqlDatabase:
    """A database that may be emptied, of a server that is not killed."""

    name = "postgresql"
    is_in_process = False

    def __init__(self, url: str) -> None:
        self.url = url

    async def close(self) -> None:
        """Do nothing: the server runs on."""

    async def empty(self) -> None:
        """Drop the tables of the store."""
        import asyncpg

        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute("DROP TABLE IF EXISTS entries, meta")
        finally:
            await connection.close()

    async def check(self, state: Path) -> list[str]:
        """Return what is wrong with the tables, and with the control resources, which are in a file."""
        import asyncpg

        wrong = _check_control(state)
        connection = await asyncpg.connect(self.url)
        try:
            if await connection.fetchval("SELECT to_regclass('entries')") is None:
                return wrong
            return wrong + [what for what, query in INVARIANTS if await connection.fetchval(query)]
        finally:
            await connection.close()


class OwnPostgresqlDatabase(PostgresqlDatabase):
    """A database of a server that chaos starts and kills."""

    def __init__(self, binaries: Path) -> None:
        self._server = PostgresqlServer(binaries)
        super().__init__(self._server.url)

    async def empty(self) -> None:
        """Start the server."""
        await asyncio.to_thread(self._server.create)
        await self._server.start()

    async def restart(self, seconds: float) -> None:
        """Kill the server, and start it again so many seconds later."""
        await self._server.restart(seconds)

    async def close(self) -> None:
        """Stop the server."""
        self._server.close()


class EtcdDatabase:
    """A member of etcd."""

    name = "etcd"
    is_in_process = False

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp())
        self._member = Member("chaos", self._folder / "etcd")
        self.url = self._member.url

    async def empty(self) -> None:
        """Start the member."""
        self._member.start()
        await self._member.wait_until_serving()

    async def restart(self, seconds: float) -> None:
        """Kill the member, and start it again so many seconds later."""
        self._member.kill()
        await asyncio.sleep(seconds)
        self._member.start()
        await self._member.wait_until_serving()

    async def check(self, state: Path) -> list[str]:
        """Return what is wrong with the control resources, which are in a file."""
        return _check_control(state)

    async def close(self) -> None:
        """Stop the member."""
        self._member.kill()
        shutil.rmtree(self._folder)


KillableDatabase = EtcdDatabase | OwnPostgresqlDatabase
Database = SqliteDatabase | LogDatabase | PostgresqlDatabase | KillableDatabase
