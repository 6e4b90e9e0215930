"""Follow a store from its oldest revision on, and add what the page shows of its objects to the history.

It reads the store as the watch cache of an API server does. That is the only place which has the past, and all kinds
in the order in which they changed; a restart of the API server does not interrupt it.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from mockkube_storage import errors as store_errors
from mockkube_storage.model import REVISION_FIRST, Entry, Event, EventType
from mockkube_storage.store import Store

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.apiserver.registry.resource import Resource
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import yield_to_event_loop
from mockkube.ui.cluster_history import Change, ClusterHistory, RowKey
from mockkube.ui.object_rows import Row

RETRY_SECONDS: Final = 1.0
# Objects that are decoded before others get a turn.
_OBJECTS_PER_TURN: Final = 200
_LOG: Final = logging.getLogger("mockkube.ui")


@dataclass(frozen=True, slots=True)
class RowSource:
    """A resource of the page: how to find and decode its objects, and what to show of them."""

    name: str
    get_resource: Callable[[], Resource]
    make_row: Callable[[ReadOnlyObject], Row]


class StoreFollower:
    """Follower of one store."""

    def __init__(
        self, store: Store, sources: Sequence[RowSource], history: ClusterHistory, clock: Clock, pace_clock: Clock
    ) -> None:
        """Take times from the cluster's clock; wait by `pace_clock`, which is to run in real time."""
        self._store, self._history, self._clock, self._pace_clock = store, history, clock, pace_clock
        self._sources = {source.get_resource().collection.prefix: source for source in sources}
        # Changes after this revision happen while they are read, so the clock has their time.
        self._live_after = 0

    async def run(self) -> None:
        """Follow the store until cancelled."""
        after = None
        while True:
            try:
                after = await self._load() if after is None else after
                async with self._store.watch("", after=after) as watch:
                    async for events in watch:
                        await self._apply(events)
                        after = events[-1].revision
            except store_errors.Lagged as error:
                after = error.revision
            except store_errors.Compacted:
                after = await self._list_again()
            except store_errors.Unavailable as error:
                _LOG.warning("the page of the cluster waits for its store: %s", error)
                await self._pace_clock.sleep(RETRY_SECONDS)
            else:
                return  # the store is closed

    async def _load(self) -> int:
        """Load the oldest state that the store has; return its revision."""
        self._live_after = self._store.revision
        rows: dict[RowKey, Row] = {}
        latest = 0
        oldest = REVISION_FIRST
        for prefix, source in self._sources.items():
            entries, oldest = await self._list_oldest(prefix, oldest)
            for number, entry in enumerate(entries):
                obj = _decode(source, entry)
                rows[_make_key(source, obj)] = source.make_row(obj)
                latest = max(latest, find_time(obj))
                if number % _OBJECTS_PER_TURN == 0:
                    await yield_to_event_loop()
        self._history.load(rows, latest)
        return oldest

    async def _list_oldest(self, prefix: str, revision: int) -> tuple[Sequence[Entry], int]:
        """Return the entries at a revision, or at the oldest one after it, and which one that is."""
        while True:
            try:
                return (await self._store.list(prefix, revision=revision)).entries, revision
            except store_errors.Compacted as error:
                revision = error.oldest

    async def _list_again(self) -> int:
        """Record the current state, because changes were compacted before they were read; return its revision."""
        rows: dict[RowKey, Row] = {}
        revision = await self._store.current_revision()
        for prefix, source in self._sources.items():
            for entry in (await self._store.list(prefix, revision=revision)).entries:
                obj = _decode(source, entry)
                rows[_make_key(source, obj)] = source.make_row(obj)
        names = [source.name for source in self._sources.values()]
        self._history.replace(names, rows, revision, to_milliseconds(self._clock.now()))
        return revision

    async def _apply(self, events: Sequence[Event]) -> None:
        for number, event in enumerate(events, start=1):
            source = self._sources.get(_find_prefix(event.entry.key))
            if source is None:
                continue
            obj = _decode(source, event.entry)
            live = event.revision > self._live_after
            at = to_milliseconds(self._clock.now()) if live else find_time(obj)
            row = None if event.type is EventType.DELETE else source.make_row(obj)
            key = _make_key(source, obj)
            # The last state of a deleted pod says why: its eviction may have come with the same write.
            if row is None and (last := source.make_row(obj)) != self._history.current.get(key):
                self._history.add(Change(key, last, event.revision, at))
            self._history.add(Change(key, row, event.revision, at))
            if number % _OBJECTS_PER_TURN == 0:
                await yield_to_event_loop()


def _find_prefix(key: str) -> str:
    """Return the part of a key that names the resource: `/registry/core/pods/`."""
    return "/".join((*key.split("/", 4)[:4], ""))


def _decode(source: RowSource, entry: Entry) -> ReadOnlyObject:
    return source.get_resource().decode_entry(entry).load()


def _make_key(source: RowSource, obj: ReadOnlyObject) -> RowKey:
    return RowKey(source.name, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


def to_milliseconds(moment: datetime) -> int:
    """Return a time as milliseconds since 1970."""
    return round(moment.timestamp() * 1000)


def find_time(obj: ReadOnlyObject) -> int:
    """Return when an object was last written, as far as it says so itself; 0 if it does not."""
    metadata = obj["metadata"]
    times = [one.get("time") for one in metadata.get("managedFields") or ()]
    times += [metadata.get("creationTimestamp"), metadata.get("deletionTimestamp")]
    found = [to_milliseconds(parse_time(one)) for one in times[:-1] if one]
    # A deletion is announced for the end of the grace period, which may lie ahead.
    return max(found, default=0)
