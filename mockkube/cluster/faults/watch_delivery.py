"""Delivery of a watch over HTTP, with the faults of the cluster."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from mockkube.apiserver.registry.watch_cache import ChangeType
from mockkube.apiserver.registry.watching import CacheWatcher, CacheWatchEvent
from mockkube.client.protocol import Key, WatchEventType
from mockkube.cluster.faults.event_injector import EventFormat, EventInjector
from mockkube.cluster.faults.faults import FaultRequest, Faults

_FORMAT: Final[EventFormat[CacheWatchEvent]] = EventFormat(
    get_type=lambda event: WatchEventType(event.type.value),
    get_key=lambda event: Key(event.object.namespace, event.object.name),
    with_type=lambda event, changed: event._replace(type=ChangeType(changed.value)),
)


class FaultyWatchDelivery:
    """Delivers the events of one watch after injecting faults."""

    def __init__(self, faults: Faults, request: FaultRequest, start_revision: int = 0) -> None:
        self.start_revision = start_revision
        self._faults, self._request = faults, request
        self._injector = EventInjector(faults, request, _FORMAT)

    @property
    def is_holding(self) -> bool:
        """True while a fault holds events."""
        return self._injector.is_holding

    async def wait(self, watch: CacheWatcher) -> None:  # hot: per batch of events of a watch
        """Wait for events, or for the end of the fault that keeps some; nothing is taken while one holds them."""
        if not self._injector.keeps_events:
            await watch.wait()
            return
        with self._waking(watch) as changed:
            while not self._injector.has_due_events:
                if not self._injector.is_holding:
                    await watch.wait()
                    return
                await changed.wait()
                changed.clear()

    @contextmanager
    def _waking(self, watch: CacheWatcher) -> Iterator[asyncio.Event]:
        """Wake a waiting watch when the faults change."""
        changed = asyncio.Event()

        def wake() -> None:
            changed.set()
            watch.wake()

        self._faults.listeners[wake] = None
        try:
            yield changed
        finally:
            del self._faults.listeners[wake]

    async def take_events(self, watch: CacheWatcher) -> list[CacheWatchEvent]:
        """Return the events to write now."""
        if self._injector.is_holding:
            return []
        events = self._injector.process(await watch.take_converted_events())
        if (on_event := self._faults.on_event) is not None:
            for event in events:
                on_event(self._request, event.type.value, _FORMAT.get_key(event), event.object.revision)
        return events
