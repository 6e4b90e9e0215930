"""Past of an SQLite file, read through SQLAlchemy."""

from urllib.parse import quote

from sqlalchemy import URL
from sqlalchemy.ext.asyncio import create_async_engine

from mockkube_storage.engines.sql_database import SqlDatabase


def open_sql_database(where: str, path: str) -> SqlDatabase:
    """Return the database of a file that exists."""
    url = URL.create("sqlite+aiosqlite", database=f"file:{quote(path)}", query={"mode": "rw", "uri": "true"})
    return SqlDatabase(where, create_async_engine(url, pool_reset_on_return=None))  # each use ends its own transaction
