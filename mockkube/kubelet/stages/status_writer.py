"""Write the result of parsing each stage: condition Accepted, and an event for an invalid one."""

import logging
from typing import Final

from mockkube.api.conditions import find_condition, make_condition, with_condition
from mockkube.api.errors import ApiError, Unavailable
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.api.times import render_time
from mockkube.client.protocol import Client, Key
from mockkube.kubelet.containers.kubelet_event import KubeletEvent
from mockkube.kubelet.events.event_reporter import EventReporter
from mockkube.kubelet.stages.stage import STAGE_KIND
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Signal
from mockkube.runtime.work_queue import WorkQueue

ACCEPTED: Final = "Accepted"
INVALID: Final = "Invalid"

_LOG: Final = logging.getLogger("mockkube.kubelet")


class StageStatusWriter:
    """Worker that writes conditions of stages; without permission the result is only logged."""

    def __init__(self, client: Client, clock: Clock, events: EventReporter, *, owner: str) -> None:
        self.name = f"{owner}/stages"
        self.signal = Signal()
        self._client, self._clock, self._events = client, clock, events
        self._queue: WorkQueue[str] = WorkQueue(clock, signal=self.signal)
        # Stages whose condition is to be written, with their error.
        self._results: dict[str, tuple[ReadOnlyObject, str]] = {}

    def report(self, stage: ReadOnlyObject, error: str = "") -> None:
        """Queue the result for a stage, unless its status shows it already."""
        name = stage["metadata"]["name"]
        if _has_condition(stage, error):
            self._results.pop(name, None)
            return
        self._results[name] = stage, error
        self._queue.add(name)
        if error:
            self._events.record_event(stage, KubeletEvent("Warning", "InvalidStage", f"The stage is ignored: {error}"))

    def is_ready(self) -> bool:
        """Return whether a stage is due."""
        return self._queue.is_ready()

    def wake_at(self) -> float | None:
        """Return when the next stage is due."""
        return self._queue.wake_at()

    async def step(self) -> None:
        """Write the condition of one stage."""
        name = self._queue.get()
        if (result := self._results.get(name)) is not None:
            try:
                await self._write(name, *result)
            except Unavailable:
                self._queue.add_rate_limited(name)
            # A stage that was deleted, or that this component may not write, is not retried.
            except ApiError as error:
                _LOG.debug("stage %s: %s", name, error)
                self._forget(name)
            else:
                self._forget(name)
        self._queue.done(name)

    def _forget(self, name: str) -> None:
        self._results.pop(name, None)
        self._queue.forget(name)

    async def _write(self, name: str, stage: ReadOnlyObject, error: str) -> None:
        conditions = (stage.get("status") or {}).get("conditions") or ()
        now = render_time(self._clock.now())
        patch = {
            "metadata": {"uid": stage["metadata"]["uid"]},
            "status": {"conditions": with_condition(conditions, _make_condition(error), now)},
        }
        await self._client.patch(STAGE_KIND, Key("", name), patch, patch_type=PatchType.MERGE, subresource="status")


def _make_condition(error: str) -> Object:
    if error:
        return make_condition(ACCEPTED, holds=False, reason=INVALID, message=error)
    return make_condition(ACCEPTED, holds=True, reason=ACCEPTED, message="kubelets play it")


def _has_condition(stage: ReadOnlyObject, error: str) -> bool:
    """Return whether the stage's condition shows this result already."""
    known = find_condition((stage.get("status") or {}).get("conditions") or (), ACCEPTED) or {}
    return all(known.get(name) == value for name, value in _make_condition(error).items())
