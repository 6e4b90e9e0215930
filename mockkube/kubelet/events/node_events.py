"""Event recorders of kubelets, one per node, with rate limits as if each kubelet were a process of its own."""

import asyncio
from collections.abc import Set
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.deleted_objects import DeletedObjects
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
# At the bound so much of it (one eighth) is freed, so that it is not reached again at once.
SPARE: Final = 8
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
        # Upper bound of the events that all recorders remember.
        self._remembered_max = 0
        self.deleted_pods = DeletedObjects(self._forget_pods)
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
        self._count_event()
        self.signal.notify()

    def remove_node(self, host: str) -> None:
        """Drop the recorder of a deleted node; events already queued are still written."""
        self._recorders.pop(host, None)

    def _forget_pods(self, uid_digests: Set[bytes]) -> None:
        for recorder in self._recorders.values():
            recorder.forget_objects(uid_digests)

    def _count_event(self) -> None:
        """Count a recorded event; over the bound, drop the least recently used recorders."""
        self._remembered_max += 1
        if self._remembered_max <= REMEMBERED_EVENTS_MAX:
            return
        # Some events were counted in equal ones, and others are forgotten since.
        remembered = sum(recorder.remembered for recorder in self._recorders.values())
        while remembered > REMEMBERED_EVENTS_MAX - REMEMBERED_EVENTS_MAX // SPARE:
            host = next(iter(self._recorders))
            remembered -= self._recorders[host].remembered
            self.remove_node(host)
        self._remembered_max = remembered

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
