"""The events of kubelets: each has its queue and limits, as if it ran by itself, and they are written side by side."""

import asyncio
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.client.correlator import REMEMBERED_MAX
from mockkube.client.protocol import Client
from mockkube.client.recorder import EventRecorder
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Bell

COMPONENT: Final = "kubelet"
TOLD_MAX: Final = 4 * REMEMBERED_MAX
"""How many events, about, kubelets remember together to count those that come again; one alone a quarter of that.

Beyond it, those that were silent for longest forget what they told: equal events of theirs are new ones then.
"""
BATCH_MAX: Final = 32
"""How many kubelets write an event in one step; they wait for the server side by side."""


class Voices:
    """A recorder for each node, made when it first has something to tell. A worker for all of them."""

    def __init__(self, client: Client, clock: Clock, chance: Chance, *, owner: str) -> None:
        self.name = f"{owner}/events"
        self.bell = Bell()
        self._client, self._clock, self._chance, self._owner = client, clock, chance, owner
        self._recorders: dict[str, EventRecorder] = {}
        """By node; who told something last stands last."""
        self._told: dict[str, int] = {}
        """How many events each may remember."""
        self._told_in_all = 0
        self._speaking: dict[EventRecorder, None] = {}
        """Those whose queue is not empty; who wrote last stands last."""

    def record(self, about: ReadOnlyObject, severity: str, reason: str, message: str, *, host: str) -> None:
        """Record an event of the kubelet on a node."""
        recorder = self._recorders.pop(host, None)
        if recorder is None:
            recorder = EventRecorder(self._client, self._clock, self._chance, component=COMPONENT, owner=self._owner)
        self._recorders[host] = recorder
        recorder.record(about, severity, reason, message, host=host)
        self._speaking[recorder] = None
        self._count(host)
        self.bell.ring()

    def leave(self, host: str) -> None:
        """Forget a node that is gone, and what was told there; what is in its queue is written all the same."""
        self._recorders.pop(host, None)
        self._told_in_all -= self._told.pop(host, 0)

    def _count(self, host: str) -> None:
        """Count an event that was told; when there are too many, let those forget who were silent for longest."""
        told = self._told.get(host, 0)
        if told == REMEMBERED_MAX:
            return
        self._told[host] = told + 1
        self._told_in_all += 1
        while self._told_in_all > TOLD_MAX:
            self.leave(next(iter(self._recorders)))

    def ready(self) -> bool:
        """Whether an event is to be written now."""
        return any(recorder.ready() for recorder in self._speaking)

    def wake_at(self) -> float | None:
        """Return when a server that did not answer is asked again."""
        return min((at for recorder in self._speaking if (at := recorder.wake_at()) is not None), default=None)

    async def step(self) -> None:
        """Let kubelets write an event each, those first that wrote longest ago."""
        writing: list[EventRecorder] = []
        for recorder in self._speaking:
            if recorder.ready():
                writing.append(recorder)
                if len(writing) == BATCH_MAX:
                    break
        async with asyncio.TaskGroup() as group:
            for recorder in writing:
                group.create_task(recorder.step())
        for recorder in writing:
            del self._speaking[recorder]
            if recorder.ready() or recorder.wake_at() is not None:
                self._speaking[recorder] = None
