"""Expiry of events: an event that has not been written for an hour is deleted.

Upstream stores events under leases of etcd that last for `--event-ttl`, and each write begins a new one.
"""

# upstream 1.36: pkg/controlplane/apiserver/options/options.go (EventTTL), pkg/registry/core/event/storage/storage.go
import logging
from collections import deque
from datetime import datetime
from typing import Final

from mockkube_storage import errors as store_errors

from mockkube.api.times import parse_time
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.registry import Registry
from mockkube.runtime.steps import give_way

TTL_SECONDS: Final = 3600.0
CHECK_SECONDS: Final = 300.0
_SLICE: Final = 100
"""How many events are read before the event loop turns again."""
_LOG: Final = logging.getLogger("mockkube.apiserver")


class EventExpiry:
    """Deletes the expired events of one store, at most `CHECK_SECONDS` late."""

    def __init__(self, registry: Registry) -> None:
        resource = registry.stored("", "events")
        assert resource is not None, "every server has events"
        self._collection = resource.collection
        self._services = registry.services
        self._marks: deque[tuple[float, int]] = deque()
        """Moments of the last hour, and the revision of the store at each."""
        self._found: dict[str, tuple[int, float]] = {}
        """Events that were stored when the server started: by key their revision, and when they expire."""

    async def run(self) -> None:
        """Delete what expires until cancelled."""
        await self._find_expiries()
        while True:
            self._marks.append((self._services.clock.monotonic(), self._services.store.revision))
            await self._services.clock.sleep(CHECK_SECONDS)
            try:
                await self.check()
            except store_errors.Unavailable as error:
                _LOG.warning("expired events stay for another %.0f s: %s", CHECK_SECONDS, error)

    async def check(self) -> None:
        """Delete the events that have expired."""
        now, written_before = self._services.clock.monotonic(), 0
        while self._marks and self._marks[0][0] <= now - TTL_SECONDS:
            written_before = self._marks.popleft()[1]
        for record in tuple(self._collection.records.values()):
            revision, expires_at = self._found.get(record.key, (0, 0.0))
            is_expired = expires_at <= now if revision == record.revision else record.revision <= written_before
            if is_expired:
                await self._delete(record)
        self._found = {key: found for key, found in self._found.items() if found[1] > now}

    async def _find_expiries(self) -> None:
        """Read from the events that are stored already when they expire."""
        now, monotonic = self._services.clock.now(), self._services.clock.monotonic()
        for number, record in enumerate(tuple(self._collection.records.values())):
            age = (now - _written_at(record, now)).total_seconds()
            self._found[record.key] = (record.revision, monotonic - max(age, 0) + TTL_SECONDS)
            if number % _SLICE == _SLICE - 1:
                await give_way()

    async def _delete(self, record: Record) -> None:
        # Past the admission plugins, as upstream: it is etcd that deletes.
        try:
            await self._services.store.delete(record.key, expected=record.revision)
        except store_errors.Conflict:
            return  # it has been written again, or another server was faster


def _written_at(record: Record, now: datetime) -> datetime:
    """Return when an event was last written; `now` if it does not say."""
    try:
        metadata: ReadOnlyObject = record.load()["metadata"]
        times = [metadata["creationTimestamp"], *(one.get("time") for one in metadata.get("managedFields") or ())]
        return max(parse_time(time) for time in times if time)
    except Exception:  # whatever lies in the store
        return now
