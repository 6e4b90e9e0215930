"""Watch of a component within the process, with the faults of the cluster."""

from collections.abc import Sequence
from typing import Final

from mockkube.apiserver.local.kind_view import LocalWatch
from mockkube.client.protocol import Heartbeats, WatchEvent, key_of
from mockkube.cluster.faults.event_injector import EventFormat, EventInjector
from mockkube.cluster.faults.faults import FaultRequest, Faults
from mockkube.runtime.steps import Signal

_FORMAT: Final[EventFormat[WatchEvent]] = EventFormat(
    get_type=lambda event: event.type,
    get_key=lambda event: key_of(event.object),
    with_type=lambda event, changed: event._replace(type=changed),
)


class FaultInjectedWatch:
    """Watch whose events are injected with faults."""

    def __init__(self, watch: LocalWatch, faults: Faults, request: FaultRequest) -> None:
        self.request = request
        self._watch = watch
        self._injector = EventInjector(faults, request, _FORMAT)

    @property
    def signal(self) -> Signal:
        """Signal of the watch."""
        return self._watch.signal

    @signal.setter
    def signal(self, signal: Signal) -> None:
        self._watch.signal = signal

    def is_ready(self) -> bool:  # hot: per step of every informer
        """Return whether there are events to deliver, or the watch is over."""
        if not self._injector.keeps_events:
            return self._watch.is_ready()
        return not self._injector.is_holding and (self._injector.has_due_events or self._watch.is_ready())

    def take(self, count_max: int = 0) -> list[WatchEvent]:
        """Return events in order; none if a fault keeps them."""
        taken = [] if self._injector.has_due_events and not self._watch.is_ready() else self._watch.take(count_max)
        return self._injector.process(taken)

    def skip_heartbeats(self, *, keep: bool) -> None:
        """Leave out heartbeats, as the watch does."""
        self._watch.skip_heartbeats(keep=keep)

    def take_heartbeats(self) -> Sequence[Heartbeats]:
        """Return the heartbeats that the watch left out; while there are faults, it leaves out none."""
        return self._watch.take_heartbeats()

    async def close(self) -> None:
        """Stop the watch and drop its events."""
        await self._watch.close()

    def end(self) -> None:
        """End the watch; events that wait can still be taken."""
        self._watch.end()
