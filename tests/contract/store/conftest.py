"""Every test that takes `store` or `url` runs once per engine.

PostgreSQL takes part when MOCKKUBE_TEST_POSTGRES holds the URL of a database that may be emptied.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from mockkube_storage.engines.catalogue import ENGINES, open_store
from mockkube_storage.store import Store

POSTGRES = os.environ.get("MOCKKUBE_TEST_POSTGRES", "")
SKIP_POSTGRES = "MOCKKUBE_TEST_POSTGRES is not set to the URL of a PostgreSQL database that may be emptied"


async def emptied() -> str:
    """Return the URL of the PostgreSQL database, without tables."""
    import asyncpg

    connection = await asyncpg.connect(POSTGRES)
    try:
        await connection.execute("DROP TABLE IF EXISTS entries, meta")
    finally:
        await connection.close()
    return POSTGRES


@pytest.fixture
def empty_postgres() -> Callable[[], Awaitable[str]]:
    """Empties the PostgreSQL database, as often as it is called, and returns its URL."""
    if not POSTGRES:
        pytest.skip(SKIP_POSTGRES)
    return emptied


@pytest.fixture(params=[engine.name for engine in ENGINES])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each engine."""
    match request.param:
        case "memory":
            return "memory:"
        case "sqlite":
            return f"sqlite:///{tmp_path / 'store.db'}"
        case "postgresql":
            if not POSTGRES:
                pytest.skip(SKIP_POSTGRES)
            return await emptied()
        case name:
            raise AssertionError(f"no way to test engine {name}")


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    """A started, empty store of each engine."""
    async with open_store(url) as store:
        yield store
