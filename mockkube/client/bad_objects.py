"""Objects that a component cannot read, shown and logged once each.

A component skips such an object instead of failing on it again and again. A malformed object can raise anywhere: in an
event handler of an informer, or in the middle of a reconciliation that reads hundreds of others. `find_suspects` finds
the objects that the failed functions had in their local variables.
"""

import logging
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, TypeVar

from cachetools import LRUCache

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.well_formed import is_well_formed
from mockkube.runtime.hot_loops import HotLoop, HotLoops

T = TypeVar("T")
UNREADABLE: Final = "unreadable"
_SHOWN_MAX: Final = 10_000
_LOGGED_MAX: Final = 10_000
_MESSAGE_MAX: Final = 500
# The culprit is searched in the innermost frames only: what an inner function held is better evidence than what an
# outer one did.
_FRAMES_MAX: Final = 20

_LOG: Final = logging.getLogger("mockkube.objects")


class BadObjects:
    """Objects that one component cannot read, by kind and key, with the readers that failed."""

    def __init__(self, hot_loops: HotLoops | None = None) -> None:
        """Report the unreadable objects as hot loops."""
        self._hot_loops = hot_loops or HotLoops()
        self._hot_loops.add_source(self.current)
        self._bad: dict[tuple[str, str], dict[str, str]] = {}
        self._logged: LRUCache[tuple[str, str, str, str], bool] = LRUCache(_LOGGED_MAX)

    def __len__(self) -> int:
        return len(self._bad)

    def record_failure(self, reader: str, kind: str, key: object, error: Exception) -> None:
        """Record that a reader failed on an object; it stays shown until the object is forgotten."""
        self.log_failure(reader, kind, key, error)
        readers = self._bad.setdefault((kind, str(key)), {})
        known = reader in readers
        readers[reader] = describe_error(error)
        # Dicts keep insertion order, so the oldest entry is dropped first.
        if len(self._bad) > _SHOWN_MAX:
            del self._bad[next(iter(self._bad))]
        if not known:
            self._hot_loops.signal.notify()

    def attempt(self, reader: str, kind: str, key: object, call: Callable[[], T], otherwise: T) -> T:
        """Return the result of `call`; if it raises, record the failure and return `otherwise`."""
        try:
            return call()
        # A malformed object can raise anything, from KeyError to RecursionError.
        except Exception as error:
            self.record_failure(reader, kind, key, error)
            return otherwise

    def log_failure(self, reader: str, kind: str, key: object, error: Exception) -> None:
        """Log, once per message, that a reader failed on an object."""
        entry = (reader, kind, str(key), describe_error(error))
        if entry not in self._logged:
            self._logged[entry] = True
            _LOG.error("%s cannot read %s: %s", reader, f"{kind} {key}".strip(), entry[3], exc_info=error)

    def forget(self, kind: str, key: object, reader: str = "") -> None:
        """Forget an object that changed or was deleted, or only the failure of one reader."""
        name = (kind, str(key))
        readers = self._bad.get(name)
        if readers is None or (reader and reader not in readers):
            return
        if reader and len(readers) > 1:
            del readers[reader]
        else:
            del self._bad[name]
        self._hot_loops.signal.notify()

    def current(self) -> list[HotLoop]:
        """Return one hot loop for each unreadable object and reader."""
        return [
            HotLoop(reader, f"{kind} {key}".strip(), UNREADABLE, 0, message)
            for (kind, key), readers in self._bad.items()
            for reader, message in readers.items()
        ]


def describe_error(error: Exception) -> str:
    """Return type and message of an error in one short line."""
    return f"{type(error).__name__}: {error}"[:_MESSAGE_MAX]


def reader_name(reader: Any) -> str:
    """Return the name to show for a callable, or for the object whose method it is."""
    owner = getattr(reader, "__self__", reader)
    name = getattr(owner, "name", None)
    if isinstance(name, str):
        return name
    return owner.__qualname__ if callable(owner) and hasattr(owner, "__qualname__") else type(owner).__name__


def find_suspects(error: Exception, own: Callable[[ReadOnlyObject], bool] = lambda obj: False) -> list[ReadOnlyObject]:
    """Return the objects that the failed functions held, the most likely culprit first.

    `own` excludes the objects of the caller itself: if the most likely culprit is one of them, the list is empty.
    """
    frames = [list(frame.values()) for frame in reversed(_frame_locals(error.__traceback__))]
    found = {id(obj): obj for values in frames for value in values if (obj := _object_in(value)) is not None}
    culprit = _find_culprit(frames, list(found.values()))
    # What its schema does not allow is better evidence than where the function has failed.
    malformed = [obj for obj in found.values() if _is_malformed(obj)]
    if malformed and not any(obj is culprit for obj in malformed):
        culprit = malformed[0]
    if culprit is not None and own(culprit):
        return []
    # A guess that hides an object of others, such as the node of all pods, does more harm than a key that fails.
    if culprit is None and any(map(own, found.values())):
        return []
    others = [obj for obj in malformed or found.values() if obj is not culprit and not own(obj)]
    return others if culprit is None else [culprit, *others]


def _find_culprit(frames: list[list[object]], found: list[ReadOnlyObject]) -> ReadOnlyObject | None:
    """Return the object that the innermost function held in whole or in part; None if ambiguous."""
    for values in frames[:_FRAMES_MAX]:
        # A piece of an object (its spec, a container) is better evidence than the whole: the function was reading just
        # that.
        for piece in values:
            whole = next((obj for obj in found if isinstance(piece, dict | list) and _contains(obj, piece)), None)
            if whole is not None and whole is not piece:
                return whole
        wholes = {id(obj): obj for value in values if (obj := _object_in(value)) is not None}
        # With several objects in one frame only the malformed one can be blamed; with none malformed it would be a
        # guess.
        odd = [obj for obj in wholes.values() if _is_malformed(obj)]
        if wholes:
            return next(iter(odd or wholes.values())) if len(odd or wholes) == 1 else None
    return None


def _is_malformed(obj: ReadOnlyObject) -> bool:
    """Return whether a field of an object has the wrong type: by its schema, or by what all objects share."""
    if not is_well_formed(obj):
        return True
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
    """Return whether `piece` is, by identity, somewhere inside `whole`."""
    # An explicit stack: JSON of a custom resource can be nested deeper than the recursion limit.
    waiting: list[object] = [whole]
    while waiting:
        one = waiting.pop()
        if one is piece:
            return True
        if isinstance(one, dict | list):
            waiting += one.values() if isinstance(one, dict) else one
    return False


def _frame_locals(trace: TracebackType | None) -> list[dict[str, Any]]:
    frames = []
    while trace is not None:
        frames.append(trace.tb_frame.f_locals)
        trace = trace.tb_next
    return frames
