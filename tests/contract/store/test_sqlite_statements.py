"""SQL text of the SQLite engine does what the same statements of SQLAlchemy do."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import aiosqlite
import pytest
from mockkube_storage.engines import sql_tables as tables
from mockkube_storage.engines import sqlite_connection
from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.engines.sqlite_connection import SqliteConnection
from sqlalchemy import create_engine
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import ClauseElement

DIALECT = sqlite.dialect(paramstyle="named")
# Reads and writes in a new store, then prints the modules that have been imported.
WORK = """
import asyncio, json, sys
from mockkube_storage.engines.catalogue import open_store

async def work():
    for _ in range(2):
        async with open_store(sys.argv[1]) as store:
            entry = await store.create(f"/a/{store.revision}", b"1")
            entry = await store.update(entry.key, b"2", expected=entry.revision)
            await store.get(entry.key), await store.list("/a"), await store.current_revision()
            async with store.watch("/", after=entry.revision - 1) as watch:
                await anext(watch)
            await store.compact(store.revision)
            if sys.argv[2] == "past":
                entry = await store.update(entry.key, b"3", expected=entry.revision)
                await store.list("/a", revision=entry.revision - 1)

asyncio.run(work())
print(json.dumps(sorted(sys.modules)))
"""


def normalized(text: str) -> str:
    """Return SQL without what has no meaning: spaces, aliases of columns, names of parameters and tables."""
    for removed in ("entries.", "meta.", " AS max_1", " AS newest", " AS compacted", '"'):
        text = text.replace(removed, "")
    return " ".join(text.replace("(", " ( ").replace(")", " ) ").split())


def compiled(statement: ClauseElement) -> str:
    return str(statement.compile(dialect=DIALECT, compile_kwargs={"literal_binds": True}))


@pytest.fixture
async def connection(tmp_path: Path) -> AsyncIterator[SqliteConnection]:
    path = tmp_path / "store.db"
    path.touch()
    connection = await SqliteConnection.open(f"file:{path}")
    await connection.create_missing_tables("here")
    yield connection
    await connection.close()


async def test_the_tables_are_those_of_sql_tables(connection: SqliteConnection, tmp_path: Path) -> None:
    query = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    engine = create_engine(f"sqlite:///{tmp_path / 'alchemy.db'}")
    with closing(engine.raw_connection()) as raw:
        tables.METADATA.create_all(engine)
        expected = raw.cursor().execute(query).fetchall()
    engine.dispose()
    async with aiosqlite.connect(tmp_path / "store.db") as reader:
        found = await reader.execute_fetchall(query)
    assert [(kind, name, normalized(sql)) for kind, name, sql in found] == [
        (kind, name, normalized(sql)) for kind, name, sql in expected
    ]


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        pytest.param(sqlite_connection.META, tables.META_VALUES, id="meta"),
        pytest.param(sqlite_connection.NEWEST, tables.NEWEST, id="newest"),
        pytest.param(
            sqlite_connection.DELETE_REPLACED.replace(":after", "1").replace(":up_to", "2"),
            tables.delete_replaced(1, 2),
            id="delete replaced",
        ),
    ],
)
def test_statements_are_those_of_sql_tables(text: str, statement: ClauseElement) -> None:
    assert normalized(text) == normalized(compiled(statement))


@pytest.mark.parametrize("work", ["present", "past"])
def test_only_reads_of_the_past_import_sqlalchemy(tmp_path: Path, work: str) -> None:
    command = [sys.executable, "-c", WORK, str(tmp_path / "store.db"), work]
    loaded = set(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert "aiosqlite" in loaded
    assert ("sqlalchemy" in loaded) == (work == "past")


async def test_a_name_with_characters_of_urls_is_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a store?mode=ro&x#1%41.db"
    async with open_store(f"sqlite:///{path}") as store:
        entry = await store.create("/a", b"1")
        await store.update("/a", b"2", expected=entry.revision)
        assert await store.get("/a", revision=entry.revision) == entry
    assert path.exists()
