"""Objects that a component cannot read: whoever fails on one passes it over, and it is shown and logged once.

What is wrong with an object may be found anywhere: by a handler of a cache, or in the middle of a reconciliation that
reads hundreds of others. `suspects` finds the objects that were in hand where an error was raised.
"""

import logging
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final, TypeVar

from cachetools import LRUCache

from mockkube.api.types import ReadOnlyObject
from mockkube.runtime.loop_board import Loop, LoopBoard

T = TypeVar("T")
UNREADABLE: Final = "unreadable"
_SHOWN_MAX: Final = 10_000
_LOGGED_MAX: Final = 10_000
_MESSAGE_MAX: Final = 500

_LOG: Final = logging.getLogger("mockkube.objects")


class BadObjects:
    """What one component cannot read, by kind and key, and who of it has failed on it."""

    def __init__(self, board: LoopBoard | None = None) -> None:
        """Show them on a board."""
        self._board = board or LoopBoard()
        self._board.add(self.current)
        self._bad: dict[tuple[str, str], dict[str, str]] = {}
        self._logged: LRUCache[tuple[str, str, str, str], bool] = LRUCache(_LOGGED_MAX)

    def __len__(self) -> int:
        return len(self._bad)

    def fail(self, reader: str, kind: str, key: object, error: Exception) -> None:
        """Show that a reader has failed on an object, until the object is forgotten."""
        self.log(reader, kind, key, error)
        readers = self._bad.setdefault((kind, str(key)), {})
        known = reader in readers
        readers[reader] = describe(error)
        if len(self._bad) > _SHOWN_MAX:
            del self._bad[next(iter(self._bad))]
        if not known:
            self._board.bell.ring()

    def attempt(self, reader: str, kind: str, key: object, act: Callable[[], T], otherwise: T) -> T:
        """Return what `act` returns; where it fails on an object, show that and return something else."""
        try:
            return act()
        except Exception as error:
            self.fail(reader, kind, key, error)
            return otherwise

    def log(self, reader: str, kind: str, key: object, error: Exception) -> None:
        """Log, once, that a reader has failed on an object."""
        said = (reader, kind, str(key), describe(error))
        if said not in self._logged:
            self._logged[said] = True
            _LOG.error("%s cannot read %s: %s", reader, f"{kind} {key}".strip(), said[3], exc_info=error)

    def forget(self, kind: str, key: object, reader: str = "") -> None:
        """Forget an object that has changed or is gone, or which one reader could read at last."""
        name = (kind, str(key))
        readers = self._bad.get(name)
        if readers is None or (reader and reader not in readers):
            return
        if reader and len(readers) > 1:
            del readers[reader]
        else:
            del self._bad[name]
        self._board.bell.ring()

    def current(self) -> list[Loop]:
        """Return what is shown: each object with each of its readers."""
        return [
            Loop(reader, f"{kind} {key}".strip(), UNREADABLE, 0, message)
            for (kind, key), readers in self._bad.items()
            for reader, message in readers.items()
        ]


def describe(error: Exception) -> str:
    """Return what an error says, in a line."""
    return f"{type(error).__name__}: {error}"[:_MESSAGE_MAX]


def name_of(reader: Any) -> str:
    """Return what a callable, or the object whose method it is, is called."""
    owner = getattr(reader, "__self__", reader)
    name = getattr(owner, "name", None)
    if isinstance(name, str):
        return name
    return owner.__qualname__ if callable(owner) and hasattr(owner, "__qualname__") else type(owner).__name__


def suspects(error: Exception) -> Iterator[ReadOnlyObject]:
    """Yield the objects that the variables of the failed functions held, the innermost function first."""
    seen: set[int] = set()
    for frame in reversed(_frames(error.__traceback__)):
        for value in list(frame.values()):
            obj = value if isinstance(value, dict) else getattr(value, "obj", None)
            if isinstance(obj, dict) and isinstance(obj.get("metadata"), dict) and id(obj) not in seen:
                seen.add(id(obj))
                yield obj


def _frames(trace: TracebackType | None) -> list[dict[str, Any]]:
    frames = []
    while trace is not None:
        frames.append(trace.tb_frame.f_locals)
        trace = trace.tb_next
    return frames
