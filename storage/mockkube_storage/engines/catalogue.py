"""Catalogue of storage engines, and opening a store by URL.

Each engine is imported when a store of it is opened: a store in memory does not pay for loading SQLAlchemy.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mockkube_storage.errors import UnknownEngine

if TYPE_CHECKING:
    from mockkube_storage.store import Store  # with asyncio, which a command line without a cluster need not import


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine: how its URLs begin, an example of one, the function that opens them, and who may use its stores."""

    name: str
    prefixes: tuple[str, ...]
    example: str
    open: Callable[[str], Store]
    # Whether several processes can use one store at the same time.
    is_shared: bool = False


def _open_memory(_url: str) -> Store:
    from mockkube_storage.engines.memory import MemoryStore

    return MemoryStore()


def _open_sqlite(url: str) -> Store:
    from mockkube_storage.engines.sqlite import SqliteStore

    return SqliteStore(url.removeprefix("sqlite:///"))


def _open_log(url: str) -> Store:
    from mockkube_storage.engines.log import LogStore

    return LogStore(url.removeprefix("log:///"))


def _open_postgresql(url: str) -> Store:
    from mockkube_storage.engines.postgresql import PostgresqlStore

    return PostgresqlStore(url)


def _open_remote(url: str) -> Store:
    from mockkube_storage.engines.remote import RemoteStore

    return RemoteStore(url)


def _open_etcd(url: str) -> Store:
    from mockkube_storage.engines.etcd import EtcdStore

    return EtcdStore(url)


ENGINES: Final = (
    Engine("memory", ("memory:",), "memory:", _open_memory),
    Engine("sqlite", ("sqlite:///",), "sqlite:///path", _open_sqlite),
    Engine("log", ("log:///",), "log:///directory", _open_log),
    Engine("postgresql", ("postgresql://", "postgres://"), "postgresql://user@host/database", _open_postgresql, True),
    Engine("remote", ("mockkube-store://",), "mockkube-store://host:2379", _open_remote, True),
    Engine("etcd", ("etcd://",), "etcd://host:2379", _open_etcd, True),
)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # two letters or more: one is a drive


def open_store(url: str) -> Store:
    """Return the store of a URL, or of the path of an SQLite file; it is not started yet.

    Raises UnknownEngine.
    """
    for engine in ENGINES:
        if url.startswith(engine.prefixes):
            return engine.open(url)
    if url and not _SCHEME.match(url):
        return _open_sqlite(url)
    raise UnknownEngine(url, ", ".join(engine.example for engine in ENGINES))


def is_shared_store(url: str) -> bool:
    """Return whether several processes can use the store of a URL at the same time."""
    return any(engine.is_shared for engine in ENGINES if url.startswith(engine.prefixes))
