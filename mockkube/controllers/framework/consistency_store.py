"""Consistency store: whether informers show what the controller itself has written.

A controller that reconciled from older objects would repeat what it has just done.
upstream 1.36: pkg/controller/util/consistency (gates StaleControllerConsistency...)
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Informer, ObjectChange
from mockkube.client.protocol import Key
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock

# After this long the controller stops waiting: the write may never become visible.
SECONDS_MAX: Final = 30.0
# differs: upstream waits for ever, for its caches know their resourceVersion even after a relist


@dataclass(frozen=True, slots=True)
class TrackedInformer:
    """Informer to wait for, and the names of its resource in metrics."""

    informer: Informer
    group: str
    resource: str


@dataclass(frozen=True, slots=True)
class _WrittenVersion:
    version: int
    at: float


class ConsistencyStore:
    """Last writes for each key; without informers to wait for, no key is ever stale."""

    def __init__(
        self, clock: Clock, subsystem: str, registry: CollectorRegistry, informers: Sequence[TrackedInformer]
    ) -> None:
        self._clock = clock
        self._informers: Mapping[str, TrackedInformer] = {one.informer.kind: one for one in informers}
        self._observed_versions: dict[str, int] = {}
        self._written: dict[Key, dict[str, _WrittenVersion]] = {}
        self._skips = Counter(
            "stale_sync_skips",
            "Total number of syncs skipped due to a stale watch cache.",
            ("group", "resource"),
            subsystem=subsystem,
            registry=registry,
        )
        for kind, one in self._informers.items():
            one.informer.add_event_handler(partial(self._observe, kind))

    def _observe(self, kind: str, change: ObjectChange) -> None:
        # A relist may deliver objects in any order; the newest of them says how far the informer is.
        self._observed_versions[kind] = max(self._observed_versions.get(kind, 0), _numeric_version(change.object))

    def wrote_at(self, key: Key, kind: str, obj: ReadOnlyObject) -> None:
        """Record the version of an object that was written for a key."""
        if kind in self._informers:
            self._written.setdefault(key, {})[kind] = _WrittenVersion(_numeric_version(obj), self._clock.monotonic())

    def is_stale(self, key: Key) -> bool:
        """Return whether an informer does not yet show a write for a key."""
        overdue = self._clock.monotonic() - SECONDS_MAX
        for kind, written in self._written.get(key, {}).items():
            if written.version > self._observed_versions.get(kind, 0) and written.at > overdue:
                self._skips.labels(self._informers[kind].group, self._informers[kind].resource).inc()
                return True
        self.forget(key)
        return False

    def forget(self, key: Key) -> None:
        """Forget the writes for a key."""
        self._written.pop(key, None)


def _numeric_version(obj: ReadOnlyObject) -> int:
    """Return a resourceVersion as a number; zero if it is not one."""
    text = obj["metadata"].get("resourceVersion", "")
    return int(text) if text.isdecimal() else 0
