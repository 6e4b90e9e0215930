"""Event recorders of kubelets, one per node, with rate limits as if each kubelet were a process of its own."""

import asyncio
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.client.correlator import CACHE_SIZE_MAX
from mockkube.client.protocol import Client
from mockkube.client.recorder import EventRecorder
from mockkube.runtime.chance import Random
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Signal

COMPONENT: Final = "kubelet"
# Bound of events that all kubelets together remember to count repeats; a single kubelet remembers a quarter of it.
# Beyond it, the least recently used recorders are dropped, and repeats of their events count as new.
TOLD_MAX: Final = 4 * CACHE_SIZE_MAX
# Kubelets that write an event concurrently in one step.
BATCH_MAX: Final = 32


class Voices:
    """Event recorders by node, created at the node's first event; one worker runs all of them."""

    def __init__(self, client: Client, clock: Clock, chance: Random, *, owner: str) -> None:
        self.name = f"{owner}/events"
        self.signal = Signal()
        self._client, self._clock, self._chance, self._owner = client, clock, chance, owner
        # By node, least recently used first.
        self._recorders: dict[str, EventRecorder] = {}
        # Upper bound of the events that each recorder remembers.
        self._told: dict[str, int] = {}
        self._told_in_all = 0
        # Recorders with queued events, in the order of their last write.
        self._speaking: dict[EventRecorder, None] = {}

    def record(self, about: ReadOnlyObject, severity: str, reason: str, message: str, *, host: str) -> None:
        """Record an event in the name of the kubelet of a node."""
        recorder = self._recorders.pop(host, None)
        if recorder is None:
            recorder = EventRecorder(self._client, self._clock, self._chance, component=COMPONENT, owner=self._owner)
        self._recorders[host] = recorder
        recorder.record(about, severity, reason, message, host=host)
        self._speaking[recorder] = None
        self._count(host)
        self.signal.notify()

    def leave(self, host: str) -> None:
        """Drop the recorder of a deleted node; events already queued are still written."""
        self._recorders.pop(host, None)
        self._told_in_all -= self._told.pop(host, 0)

    def _count(self, host: str) -> None:
        """Count a recorded event; over the bound, drop the least recently used recorders."""
        count = self._told.get(host, 0)
        if count == CACHE_SIZE_MAX:
            return
        self._told[host] = count + 1
        self._told_in_all += 1
        while self._told_in_all > TOLD_MAX:
            self.leave(next(iter(self._recorders)))

    def is_ready(self) -> bool:
        """Return whether a recorder has an event to write."""
        return any(recorder.is_ready() for recorder in self._speaking)

    def wake_at(self) -> float | None:
        """Return when the next recorder retries."""
        return min((at for recorder in self._speaking if (at := recorder.wake_at()) is not None), default=None)

    async def step(self) -> None:
        """Write one event per kubelet, up to BATCH_MAX kubelets, least recently written first."""
        writing: list[EventRecorder] = []
        for recorder in self._speaking:
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
            del self._speaking[recorder]
            if recorder.is_ready() or recorder.wake_at() is not None:
                self._speaking[recorder] = None
