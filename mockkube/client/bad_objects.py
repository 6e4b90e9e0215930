"""Objects that a component cannot read: whoever fails on one passes it over, and it is shown and logged once.

What is wrong with an object may be found anywhere: by a handler of a cache, or in the middle of a reconciliation that
reads hundreds of others. `suspects` finds the objects that were in hand where an error was raised.
"""

import logging
from collections.abc import Callable
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
_FRAMES_MAX: Final = 20
"""Functions that are looked into: what inner ones held says more than what outer ones did."""

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


def suspects(error: Exception, own: Callable[[ReadOnlyObject], bool] = lambda obj: False) -> list[ReadOnlyObject]:
    """Return the objects that the failed functions had in hand, the most suspicious first, without one's own.

    If the most suspicious is one's own there is no other.
    """
    frames = [list(frame.values()) for frame in reversed(_frames(error.__traceback__))]
    found = {id(obj): obj for values in frames for value in values if (obj := _object_in(value)) is not None}
    culprit = _culprit(frames, list(found.values()))
    if culprit is not None and own(culprit):
        return []
    others = [obj for obj in found.values() if obj is not culprit and not own(obj)]
    return others if culprit is None else [culprit, *others]


def _culprit(frames: list[list[object]], found: list[ReadOnlyObject]) -> ReadOnlyObject | None:
    """Return the object that the innermost function with any held, or held a piece of; None if there are several."""
    for values in frames[:_FRAMES_MAX]:
        for piece in values:
            whole = next((obj for obj in found if isinstance(piece, dict | list) and _contains(obj, piece)), None)
            if whole is not None and whole is not piece:
                return whole
        wholes = {id(obj): obj for value in values if (obj := _object_in(value)) is not None}
        odd = [obj for obj in wholes.values() if _is_odd(obj)]
        if wholes:
            return next(iter(odd or wholes.values())) if len(odd or wholes) == 1 else None
    return None


def _is_odd(obj: ReadOnlyObject) -> bool:
    """Return whether an object lacks the shape that all objects share."""
    metadata = obj["metadata"]
    texts = [metadata.get(name) or {} for name in ("labels", "annotations")]
    lists = [metadata.get(name) or [] for name in ("ownerReferences", "finalizers")]
    parts = [obj.get(name) or {} for name in ("spec", "status")]
    if not all(isinstance(one, dict) for one in (*texts, *parts)) or not all(isinstance(one, list) for one in lists):
        return True
    return any(not isinstance(value, str) for one in texts for value in one.values())


def _object_in(value: object) -> ReadOnlyObject | None:
    obj = value if isinstance(value, dict) else getattr(value, "obj", None)
    return obj if isinstance(obj, dict) and isinstance(obj.get("metadata"), dict) else None


def _contains(whole: object, piece: object) -> bool:
    """Return whether a piece is, itself, somewhere in an object."""
    waiting: list[object] = [whole]
    while waiting:
        one = waiting.pop()
        if one is piece:
            return True
        if isinstance(one, dict | list):
            waiting += one.values() if isinstance(one, dict) else one
    return False


def _frames(trace: TracebackType | None) -> list[dict[str, Any]]:
    frames = []
    while trace is not None:
        frames.append(trace.tb_frame.f_locals)
        trace = trace.tb_next
    return frames
