"""Expiry of events: delete events that have not been written for an hour.

Upstream stores events under etcd leases of `--event-ttl`; each write starts a new lease.
"""

# upstream 1.36: pkg/controlplane/apiserver/options/options.go (EventTTL), pkg/registry/core/event/storage/storage.go
import logging
from collections import deque
from datetime import datetime
from typing import Final

from mockkube_storage import errors as store_errors

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.registry import Registry
from mockkube.runtime.steps import yield_to_event_loop

TTL_SECONDS: Final = 3600.0
CHECK_SECONDS: Final = 300.0
# Events decoded or deleted before other tasks get their turn.
_EVENTS_PER_TURN: Final = 100
_LOG: Final = logging.getLogger("mockkube.apiserver")


class EventExpiry:
    """Deletes expired events of one store, at most `CHECK_SECONDS` late."""

    def __init__(self, registry: Registry) -> None:
        resource = registry.find_storage_resource("", "events")
        assert resource is not None, "every server has events"
        self._collection = resource.collection
        self._dependencies = registry.dependencies
        # Times of the last hour, and the revision of the store at each: they tell the age of an event without decoding
        # it.
        self._revision_times: deque[tuple[float, int]] = deque()
        # Events that existed when the server started: by key their revision and time of expiry.
        self._initial_expiries: dict[str, tuple[int, float]] = {}

    async def run(self) -> None:
        """Delete expired events until cancelled."""
        await self._read_initial_expiries()
        while True:
            self._revision_times.append((self._dependencies.clock.monotonic(), self._dependencies.store.revision))
            await self._dependencies.clock.sleep(CHECK_SECONDS)
            try:
                await self.delete_expired()
            except store_errors.Unavailable as error:
                _LOG.warning("expired events stay for another %.0f s: %s", CHECK_SECONDS, error)

    async def delete_expired(self) -> None:
        """Delete the events that have expired."""
        now, written_before = self._dependencies.clock.monotonic(), 0
        while self._revision_times and self._revision_times[0][0] <= now - TTL_SECONDS:
            written_before = self._revision_times.popleft()[1]
        deleted = 0
        for cached in tuple(self._collection.objects.values()):
            revision, expires_at = self._initial_expiries.get(cached.key, (0, 0.0))
            is_expired = expires_at <= now if revision == cached.revision else cached.revision <= written_before
            if is_expired:
                await self._delete(cached)
                deleted += 1
                # A store in memory deletes without waiting: its watchers would lose their watches over too many events.
                if deleted % _EVENTS_PER_TURN == 0:
                    await self._dependencies.watch_cache.wait_until_fresh()
        self._initial_expiries = {key: found for key, found in self._initial_expiries.items() if found[1] > now}

    async def _read_initial_expiries(self) -> None:
        """Compute from the stored events when they expire."""
        now, monotonic = self._dependencies.clock.now(), self._dependencies.clock.monotonic()
        for number, cached in enumerate(tuple(self._collection.objects.values())):
            age = (now - _last_write_time(cached, now)).total_seconds()
            self._initial_expiries[cached.key] = (cached.revision, monotonic - max(age, 0) + TTL_SECONDS)
            if number % _EVENTS_PER_TURN == _EVENTS_PER_TURN - 1:
                await yield_to_event_loop()

    async def _delete(self, cached: CachedObject) -> None:
        try:
            # No admission and no finalizers: upstream it is etcd that deletes expired events.
            await self._dependencies.store.delete(cached.key, expected=cached.revision)
        except store_errors.Conflict:
            return  # it has been written again, or another server was faster


def _last_write_time(cached: CachedObject, now: datetime) -> datetime:
    """Return when an event was last written; `now` if that cannot be read."""
    try:
        metadata: ReadOnlyObject = cached.load()["metadata"]
        times = [metadata["creationTimestamp"], *(one.get("time") for one in metadata.get("managedFields") or ())]
        return max(parse_time(time) for time in times if time)
    except Exception:  # stored objects may be malformed
        return now
