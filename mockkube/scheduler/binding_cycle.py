"""Binding the pods that were decided on: waiting for permission, preparing, binding; several at a time.

upstream 1.36: pkg/scheduler/schedule_one.go (bindingCycle)
"""

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from mockkube.api.errors import ApiError
from mockkube.client.events import NORMAL
from mockkube.client.series import SeriesRecorder
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Bell
from mockkube.scheduler.failure_handler import Failures
from mockkube.scheduler.fit_error import Refusal, on_one_node
from mockkube.scheduler.framework.events import Action, ClusterEvent, Subject
from mockkube.scheduler.framework.interface import CycleState, PreBindPlugin
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.runtime import Points
from mockkube.scheduler.framework.status import SUCCESS, Code, Status
from mockkube.scheduler.metrics import Metrics
from mockkube.scheduler.pod_status import PodStatusWriter
from mockkube.scheduler.queue.queued_pod_info import Queued
from mockkube.scheduler.queue.scheduling_queue import Queue
from mockkube.scheduler.scheduling_algorithm import Failure
from mockkube.scheduler.snapshot import Picture

_LOG: Final = logging.getLogger("mockkube.scheduler")
RETRY_SECONDS: Final = 1.0
"""How long what waits is left alone when nothing happens."""
PARALLEL_MAX: Final = 16
"""How many pods are bound at once."""
_ATTEMPTS_SHOWN_MAX: Final = 15
_PRE_BIND: Final = "PreBind"
_BIND: Final = "Bind"


class Stage(IntEnum):
    """How far a binding has come."""

    NEW = 0
    PERMITTED = 1
    PREPARING = 2
    BINDING = 3


@dataclass(slots=True, eq=False)
class Assumed:
    """A pod that was decided on, and all that its binding needs."""

    queued: Queued
    pod: PodInfo
    """As if it were bound."""
    node_name: str
    state: CycleState
    points: Points
    started: float
    waits: bool = False
    """Whether it has to wait for permission."""
    stage: Stage = Stage.NEW
    left: list[PreBindPlugin] = field(default_factory=list)
    """The plugins that are not done preparing."""
    called_off: str = ""


@dataclass(frozen=True, slots=True)
class Desk:
    """What binding needs of the scheduler around it."""

    picture: Picture
    queue: Queue
    failures: Failures
    writer: PodStatusWriter
    recorder: SeriesRecorder
    metrics: Metrics
    clock: Clock
    nominates: bool
    """Whether a pod whose binding takes preparation is nominated to its node."""


class Binder:
    """Brings bindings to their end; one step handles as many as may go at once."""

    def __init__(self, desk: Desk, *, owner: str, at_once: int = PARALLEL_MAX) -> None:
        self.name = f"{owner}/binding"
        self.bell = Bell()
        self._desk, self._at_once = desk, at_once
        self._ready: deque[Assumed] = deque()
        self._parked: dict[str, tuple[Assumed, float]] = {}
        """Those that wait for something, by uid, and when to look again at the latest."""

    def begin(self, assumed: Assumed) -> None:
        """Have a pod bound."""
        self._ready.append(assumed)
        self.bell.ring()

    def poke(self) -> None:
        """Look again at what waits: something has happened."""
        if self._parked:
            self._ready.extend(assumed for assumed, _ in self._parked.values())
            self._parked.clear()
            self.bell.ring()

    def call_off(self, uid: str, reason: str) -> bool:
        """Stop the binding of a pod that waits; False if there is none to stop."""
        found = self._parked.pop(uid, None)
        if found is None:
            return False
        found[0].called_off = reason
        self.begin(found[0])
        return True

    def ready(self) -> bool:
        """Whether there is something to bind, or to look at again."""
        return bool(self._ready) or any(at <= self._desk.clock.monotonic() for _, at in self._parked.values())

    def wake_at(self) -> float | None:
        """Return when to look again at what waits."""
        return min((at for _, at in self._parked.values()), default=None)

    async def step(self) -> None:
        """Go on with the next bindings, as far as they come."""
        now = self._desk.clock.monotonic()
        for uid in [uid for uid, (_, at) in self._parked.items() if at <= now]:
            self._ready.append(self._parked.pop(uid)[0])
        batch = [self._ready.popleft() for _ in range(min(self._at_once, len(self._ready)))]
        if len(batch) == 1:
            await self._go_on(batch[0])
            return
        async with asyncio.TaskGroup() as group:
            for assumed in batch:
                group.create_task(self._go_on(assumed))

    async def _go_on(self, assumed: Assumed) -> None:
        try:
            status = await self._advance(assumed)
        except ApiError as error:
            status = Status.error(str(error))
        except Exception as error:  # an object that a plugin cannot read stops the pods that need it, and no others
            self._desk.failures.pods.bad.fail(self.name, "Pod", assumed.pod.key, error)
            status = Status.error("internal error")
        if status.code is Code.WAIT:
            self._parked[assumed.pod.uid] = assumed, self._desk.clock.monotonic() + RETRY_SECONDS
        elif not status.ok:
            await self._fail(assumed, status)
        else:
            self._succeed(assumed)

    async def _advance(self, assumed: Assumed) -> Status:
        """Go through the stages until something waits, fails, or the pod is bound."""
        if assumed.called_off:
            return Status.error(assumed.called_off)
        if assumed.stage is Stage.NEW:
            status = await self._announce(assumed)
            if not status.ok:
                return status
        if assumed.stage is Stage.PERMITTED:
            if assumed.waits and not (status := self._ask_permission(assumed)).ok:
                return status
            # From here on the pod is not unschedulable any more, whatever happens.
            self._desk.queue.done(assumed.pod.uid)
            assumed.stage = Stage.PREPARING
        if assumed.stage is Stage.PREPARING:
            status = await self._prepare(assumed)
            if not status.ok:
                return status
            assumed.stage = Stage.BINDING
        return await self._bind(assumed)

    async def _announce(self, assumed: Assumed) -> Status:
        """Find out who has something to prepare; nominate the pod, so that others know where it goes."""
        assumed.stage = Stage.PERMITTED
        plugins = assumed.points.profile.pre_bind
        if not self._desk.nominates:
            assumed.left = list(plugins)
            return SUCCESS
        for plugin in plugins:
            status = plugin.pre_bind_preview(assumed.state, assumed.pod, assumed.node_name)
            if status.ok:
                assumed.left.append(plugin)
            elif status.code is not Code.SKIP:
                return Status.error(f'running PreBindPreFlight "{plugin.name}": {status.message}')
        if assumed.left or assumed.waits:
            try:
                await self._desk.writer.write(assumed.pod, nomination=assumed.node_name)
            except ApiError as error:
                _LOG.warning("nominating pod %s to %s: %s", assumed.pod.key, assumed.node_name, error)
        return SUCCESS

    def _ask_permission(self, assumed: Assumed) -> Status:
        return assumed.points.permit(assumed.state, assumed.pod, assumed.node_name)

    async def _prepare(self, assumed: Assumed) -> Status:
        start = self._desk.clock.monotonic()
        status = SUCCESS
        while assumed.left and status.ok:
            plugin = assumed.left[0]
            status = await plugin.pre_bind(assumed.state, assumed.pod, assumed.node_name)
            if status.ok:
                del assumed.left[0]
            elif status.code is not Code.WAIT and not status.rejected:
                status = Status.error(f'running PreBind plugin "{plugin.name}": {status.message}')
            else:
                status = status.of(plugin.name)
        assumed.points.measure(_PRE_BIND, status.code, start)
        return status

    async def _bind(self, assumed: Assumed) -> Status:
        start = self._desk.clock.monotonic()
        status = Status.error("no plugin binds")
        for plugin in assumed.points.profile.bind:
            status = await plugin.bind(assumed.state, assumed.pod, assumed.node_name)
            if status.code is Code.SKIP:
                continue
            if not status.ok and not status.rejected:
                status = Status.error(f'running Bind plugin "{plugin.name}": {status.message}')
            break
        assumed.points.measure(_BIND, status.code, start)
        return status

    def _succeed(self, assumed: Assumed) -> None:
        desk, pod, queued = self._desk, assumed.pod, assumed.queued
        note = f"Successfully assigned {pod.namespace}/{pod.name} to {assumed.node_name}"
        desk.recorder.record(
            pod.obj, NORMAL, "Scheduled", note, action="Binding", controller=assumed.points.profile.name
        )
        profile = assumed.points.profile.name
        desk.metrics.attempts.add("scheduled", profile)
        desk.metrics.attempt_seconds.observe(desk.clock.monotonic() - assumed.started, "scheduled", profile)
        desk.metrics.pod_attempts.observe(queued.attempts)
        if queued.first_tried_at is not None:
            attempts = str(queued.attempts) if queued.attempts < _ATTEMPTS_SHOWN_MAX else f"{_ATTEMPTS_SHOWN_MAX}+"
            desk.metrics.sli_seconds.observe(desk.clock.now().timestamp() - queued.first_tried_at, attempts)
        if queued.flushed_at is not None:
            desk.metrics.after_flush.add()
        for plugin in assumed.points.profile.post_bind:
            plugin.post_bind(assumed.state, pod, assumed.node_name)

    async def _fail(self, assumed: Assumed, status: Status) -> None:
        """Give back all that was taken; those who waited for it may have it."""
        desk, pod = self._desk, assumed.pod
        assumed.points.unreserve(assumed.state, pod, assumed.node_name)
        desk.picture.forget(pod.uid)
        freed = ClusterEvent(Subject.ASSIGNED_POD, Action.DELETE, old=pod.obj)
        if not status.rejected:
            desk.queue.happened(freed)
        try:
            await assumed.points.clean_up(assumed.state, pod, assumed.node_name)
        except ApiError as error:
            _LOG.warning("cleaning up after pod %s: %s", pod.key, error)
        outcome: Refusal | Failure = Failure(status.message)
        if status.rejected:
            outcome = on_one_node(assumed.node_name, status)
        await desk.failures.settle(assumed.queued, outcome, nomination="", started=assumed.started)
        if status.rejected:
            # Not before it is settled: what it gives back must not wake the pod itself.
            desk.queue.happened(freed, lambda other: other.uid != pod.uid)
