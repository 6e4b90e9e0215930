"""Consistency store: whether informers show what the controller itself has written.

A controller that reconciled from older objects would repeat what it has just done.
upstream 1.36: pkg/controller/util/consistency (gates StaleControllerConsistency...)
"""

from collections.abc import Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Informer
from mockkube.client.protocol import Key
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrackedInformer:
    """Informer to wait for, and the names of its resource in metrics."""

    informer: Informer
    group: str
    resource: str


class ConsistencyStore:
    """Last writes for each key; without informers to wait for, no key is ever stale."""

    def __init__(
        self, subsystem: str, registry: CollectorRegistry | None, informers: Sequence[TrackedInformer]
    ) -> None:
        """Wait for these informers; without a registry, there is no metric of it."""
        self._informers: Mapping[str, TrackedInformer] = {one.informer.kind: one for one in informers}
        self._written: dict[Key, dict[str, int]] = {}
        self._skips = Counter(
            "stale_sync_skips",
            "Total number of syncs skipped due to a stale watch cache.",
            ("group", "resource"),
            subsystem=subsystem,
            registry=registry,
        )

    def wrote_at(self, key: Key, kind: str, obj: ReadOnlyObject) -> None:
        """Record the version of an object that was written for a key."""
        if kind in self._informers:
            self._written.setdefault(key, {})[kind] = _parse_version(obj["metadata"].get("resourceVersion", ""))

    def is_stale(self, key: Key) -> bool:
        """Return whether an informer does not yet show a write for a key."""
        for kind, version in self._written.get(key, {}).items():
            tracked = self._informers[kind]
            if version > _parse_version(tracked.informer.resource_version):
                self._skips.labels(tracked.group, tracked.resource).inc()
                return True
        self.forget(key)
        return False

    def forget(self, key: Key) -> None:
        """Forget the writes for a key."""
        self._written.pop(key, None)


def _parse_version(text: str) -> int:
    """Return a resourceVersion as a number; zero if it is not one."""
    return int(text) if text.isdecimal() else 0
