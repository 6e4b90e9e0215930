"""Table of decoders and other values that are compiled when first needed, by any thread."""

from collections.abc import Callable
from threading import RLock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class CompileCache(Generic[K, V]):
    """Table that compiles its entries, which may need one another; threads see only finished ones."""

    def __init__(self) -> None:
        self._published: dict[K, V] = {}
        self._in_progress: dict[K, V] = {}
        self._depth = 0
        self._lock = RLock()

    def get(self, key: K) -> V | None:
        """Return the entry of a key if it is compiled."""
        return self._published.get(key)

    def get_or_compile(self, key: K, compile_: Callable[[], V], placeholder: V) -> V:
        """Return the entry of a key, compiled if it is new; until then its parts get `placeholder`."""
        known = self._published.get(key)
        if known is not None:
            return known
        with self._lock:
            known = self._published.get(key) or self._in_progress.get(key)
            if known is not None:
                return known
            self._in_progress[key] = placeholder
            self._depth += 1
            try:
                entry = self._in_progress[key] = compile_()
            except BaseException:
                self._in_progress.pop(key, None)
                raise
            finally:
                self._depth -= 1
            # Entries refer to each other: they are published together, once the outermost one is complete.
            if not self._depth:
                self._published.update(self._in_progress)
                self._in_progress.clear()
            return entry

    def __getitem__(self, key: K) -> V:
        return self._published[key]
