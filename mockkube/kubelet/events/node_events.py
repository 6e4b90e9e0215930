"""Event recorders of kubelets, one per node, with rate limits as if each kubelet were a process of its own."""

import asyncio
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.event_correlator import CACHE_SIZE_MAX
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.protocol import Client
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Signal

COMPONENT: Final = "kubelet"
# Bound of events that all kubelets together remember to count repeats; a single kubelet remembers a quarter of it.
# Beyond it, the least recently used recorders are dropped, and repeats of their events count as new.
REMEMBERED_EVENTS_MAX: Final = 4 * CACHE_SIZE_MAX
# Kubelets that write an event concurrently in one step.
BATCH_MAX: Final = 32


class NodeEvents:
    """Event recorders by node, created at the node's first event; one worker runs all of them."""

    def __init__(self, client: Client, clock: Clock, random: Random, *, owner: str) -> None:
        self.name = f"{owner}/events"
        self.signal = Signal()
        self._client, self._clock, self._random, self._owner = client, clock, random, owner
        # By node, least recently used first.
        self._recorders: dict[str, EventRecorder] = {}
        # Upper bound of the events that each recorder remembers.
        self._remembered: dict[str, int] = {}
        self._remembered_total = 0
        # Recorders with queued events, in the order of their last write.
        self._pending: dict[EventRecorder, None] = {}

    def record(self, obj: ReadOnlyObject, event_type: str, reason: str, message: str, *, host: str) -> None:
        """Record an event in the name of the kubelet of a node."""
        recorder = self._recorders.pop(host, None)
        if recorder is None:
            recorder = EventRecorder(self._client, self._clock, self._random, component=COMPONENT, owner=self._owner)
        self._recorders[host] = recorder
        recorder.record(obj, event_type, reason, message, host=host)
        self._pending[recorder] = None
        self._count_event(host)
        self.signal.notify()

    def remove_node(self, host: str) -> None:
        """Drop the recorder of a deleted node; events already queued are still written."""
        self._recorders.pop(host, None)
        self._remembered_total -= self._remembered.pop(host, 0)

    def _count_event(self, host: str) -> None:
        """Count a recorded event; over the bound, drop the least recently used recorders."""
        count = self._remembered.get(host, 0)
        if count == CACHE_SIZE_MAX:
            return
        self._remembered[host] = count + 1
        self._remembered_total += 1
        while self._remembered_total > REMEMBERED_EVENTS_MAX:
            self.remove_node(next(iter(self._recorders)))

    def is_ready(self) -> bool:
        """Return whether a recorder has an event to write."""
        return any(recorder.is_ready() for recorder in self._pending)

    def wake_at(self) -> float | None:
        """Return when the next recorder retries."""
        return min((at for recorder in self._pending if (at := recorder.wake_at()) is not None), default=None)

    async def step(self) -> None:
        """Write one event per kubelet, up to BATCH_MAX kubelets, least recently written first."""
        writing: list[EventRecorder] = []
        for recorder in self._pending:
            if recorder.is_ready():
                writing.append(recorder)
                if len(writing) == BATCH_MAX:
                    break
        # One queue for all nodes lost events: writes of different kubelets wait for the server concurrently, as real
        # ones do.
        async with asyncio.TaskGroup() as group:
            for recorder in writing:
                group.create_task(recorder.step())
        for recorder in writing:
            del self._pending[recorder]
            if recorder.is_ready() or recorder.wake_at() is not None:
                self._pending[recorder] = None
