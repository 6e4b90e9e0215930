"""The engines, and how to open one by URL.

Each is imported when it is opened: who keeps everything in memory does not pay for loading SQLAlchemy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mockkube_storage.errors import UnknownEngine
from mockkube_storage.store import Store


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine: how its URLs begin, one of them as an example, and what opens them."""

    name: str
    prefixes: tuple[str, ...]
    example: str
    open: Callable[[str], Store]


def _memory(_url: str) -> Store:
    from mockkube_storage.engines.memory import MemoryStore

    return MemoryStore()


ENGINES: Final = (Engine("memory", ("memory:",), "memory:", _memory),)


def open_store(url: str) -> Store:
    """Return the store of a URL, or of the path of an SQLite file; it is not started yet.

    Raises UnknownEngine.
    """
    for engine in ENGINES:
        if url.startswith(engine.prefixes):
            return engine.open(url)
    raise UnknownEngine(url, ", ".join(engine.example for engine in ENGINES))
