"""Faults of one open watch: its events are held, missed or repeated."""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, Generic, TypeVar

from mockkube.client.protocol import Key, WatchEventType
from mockkube.cluster.faults.faults import ActiveFault, EventEffect, FaultRequest, Faults
from mockkube.lazy_dataclasses import dataclass

EventT = TypeVar("EventT")

# Type of the event that a client gets for two of one object, of which it has missed the first; None: it gets neither.
_MERGED: Final = {
    (WatchEventType.ADDED, WatchEventType.MODIFIED): WatchEventType.ADDED,
    (WatchEventType.ADDED, WatchEventType.DELETED): None,
    (WatchEventType.DELETED, WatchEventType.ADDED): WatchEventType.MODIFIED,
}


@dataclass(frozen=True, slots=True)
class EventFormat(Generic[EventT]):
    """Access to events of one representation."""

    get_type: Callable[[EventT], WatchEventType]
    get_key: Callable[[EventT], Key]
    with_type: Callable[[EventT, WatchEventType], EventT]


class EventInjector(Generic[EventT]):
    """Injects the faults of a cluster into the events of one watch."""

    def __init__(self, faults: Faults, request: FaultRequest, event_format: EventFormat[EventT]) -> None:
        self._faults, self._request, self._format = faults, request, event_format
        # The first one is held; those after it wait, since a watch delivers in order.
        self._queue: deque[EventT] = deque()
        self._holding: list[ActiveFault] = []
        self._missed: dict[Key, tuple[ActiveFault, EventT]] = {}
        # Whether there are such events.
        self.keeps_events = False
        # Matching events so far, by the uid of a fault.
        self._seen: Counter[str] = Counter()

    @property
    def is_holding(self) -> bool:
        """True while an event is held."""
        return any(map(self._faults.contains, self._holding))

    @property
    def has_due_events(self) -> bool:
        """True if `process` would deliver events of earlier calls: the fault that kept them has ended."""
        if self.is_holding:
            return False
        return bool(self._queue) or any(not self._faults.contains(fault) for fault, _ in self._missed.values())

    def process(self, events: Iterable[EventT]) -> list[EventT]:  # hot: per batch of events of a watch
        """Take over events, and return those to deliver now."""
        if not self._faults.has_event_faults and not self.keeps_events:
            return list(events)
        self._queue.extend(events)
        delivered: list[EventT] = []
        while self._queue and not self.is_holding:
            if self._holding:  # the fault has ended: the first event has been matched already
                self._holding = []
                delivered += self._deliver(self._queue.popleft())
            else:
                delivered += self._inject(self._queue[0])
        if not self.is_holding:
            delivered += self._take_missed()
        self.keeps_events = bool(self._queue or self._missed)
        return delivered

    def _inject(self, event: EventT) -> list[EventT]:
        """Inject faults into the first event of the queue, and return what is delivered for it."""
        key = self._format.get_key(event)
        request = replace(self._request, namespace=key.namespace, name=key.name)
        found = list(self._faults.find_event_faults(request, self._seen))
        self._holding = [fault for fault in found if fault.injection.event_effect is EventEffect.HOLD]
        if self._holding:
            return []
        self._queue.popleft()
        for fault in found:
            if fault.injection.event_effect is EventEffect.MISS:
                merged = self._merge_missed(key, event)
                if merged is not None:
                    self._missed[key] = fault, merged
                return []
        return self._deliver(event) * (2 if found else 1)

    def _deliver(self, event: EventT) -> list[EventT]:
        """Return an event as a client gets it that has missed earlier ones of the object."""
        merged = self._merge_missed(self._format.get_key(event), event)
        return [] if merged is None else [merged]

    def _merge_missed(self, key: Key, event: EventT) -> EventT | None:
        if key not in self._missed:
            return event
        _, missed = self._missed.pop(key)
        new = self._format.get_type(event)
        merged = _MERGED.get((self._format.get_type(missed), new), new)
        return None if merged is None else self._format.with_type(event, merged)

    def _take_missed(self) -> list[EventT]:
        """Return the missed events whose fault has ended: as after a new list, the client gets the last state."""
        due = [key for key, (fault, _) in self._missed.items() if not self._faults.contains(fault)]
        return [self._missed.pop(key)[1] for key in due]
