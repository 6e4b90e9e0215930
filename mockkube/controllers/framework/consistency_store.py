"""Whether the caches show what a controller itself has written: until they do, it would decide from the past.

upstream 1.36: pkg/controller/util/consistency (gates StaleControllerConsistency...)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter

from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import Change, ListWatch
from mockkube.client.protocol import Key
from mockkube.runtime.clock import Clock

SECONDS_MAX: Final = 30.0
"""After this long nobody waits any more."""
# differs: upstream waits for ever, for its caches say how far they are even when they list anew


@dataclass(frozen=True, slots=True)
class Watched:
    """A cache that is waited for, and what metrics call its kind."""

    cache: ListWatch
    group: str
    resource: str


@dataclass(frozen=True, slots=True)
class _Written:
    version: int
    at: float


class OwnWrites:
    """The last writes for each key. Without caches to wait for it is never behind."""

    def __init__(self, clock: Clock, subsystem: str, registry: CollectorRegistry, watched: Sequence[Watched]) -> None:
        self._clock = clock
        self._watched: Mapping[str, Watched] = {one.cache.kind: one for one in watched}
        self._seen: dict[str, int] = {}
        self._written: dict[Key, dict[str, _Written]] = {}
        self._skips = Counter(
            "stale_sync_skips",
            "Total number of syncs skipped due to a stale watch cache.",
            ("group", "resource"),
            subsystem=subsystem,
            registry=registry,
        )
        for kind, one in self._watched.items():
            one.cache.subscribe(partial(self._see, kind))

    def _see(self, kind: str, change: Change) -> None:
        self._seen[kind] = max(self._seen.get(kind, 0), _version(change.object))

    def wrote(self, key: Key, kind: str, obj: ReadOnlyObject) -> None:
        """Take note of an object that was written for a key."""
        if kind in self._watched:
            self._written.setdefault(key, {})[kind] = _Written(_version(obj), self._clock.monotonic())

    def behind(self, key: Key) -> bool:
        """Whether something written for a key is still to be seen."""
        overdue = self._clock.monotonic() - SECONDS_MAX
        for kind, written in self._written.get(key, {}).items():
            if written.version > self._seen.get(kind, 0) and written.at > overdue:
                self._skips.labels(self._watched[kind].group, self._watched[kind].resource).inc()
                return True
        self.forget(key)
        return False

    def forget(self, key: Key) -> None:
        """Forget what was written for a key."""
        self._written.pop(key, None)


def _version(obj: ReadOnlyObject) -> int:
    """Return a resourceVersion as a number; zero for one that is none."""
    text = obj["metadata"].get("resourceVersion", "")
    return int(text) if text.isdecimal() else 0
