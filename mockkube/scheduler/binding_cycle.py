"""Binding cycle: wait for permission, run PreBind, bind, for several pods at a time.

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
from mockkube.runtime.steps import Signal
from mockkube.scheduler.failure_handler import FailureHandler
from mockkube.scheduler.fit_error import FitError, fit_error_on_node
from mockkube.scheduler.framework.events import Action, ClusterEvent, Subject
from mockkube.scheduler.framework.interface import CycleState, PreBindPlugin
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.runtime import Framework
from mockkube.scheduler.framework.status import SUCCESS, Code, Status
from mockkube.scheduler.metrics import Metrics
from mockkube.scheduler.pod_status import PodStatusWriter
from mockkube.scheduler.queue.queued_pod_info import QueuedPodInfo
from mockkube.scheduler.queue.scheduling_queue import Queue
from mockkube.scheduler.scheduling_algorithm import Failure
from mockkube.scheduler.snapshot import Picture

_LOG: Final = logging.getLogger("mockkube.scheduler")
# Longest time between two attempts of a waiting binding, if no event wakes it earlier.
RETRY_SECONDS: Final = 1.0
# Pods that are bound in parallel.
PARALLELISM: Final = 16
_ATTEMPTS_LABEL_MAX: Final = 15
_PRE_BIND: Final = "PreBind"
_BIND: Final = "Bind"


class Stage(IntEnum):
    """Progress of a binding."""

    NEW = 0
    WAITING_ON_PERMIT = 1
    PRE_BINDING = 2
    BINDING = 3


@dataclass(slots=True, eq=False)
class AssumedPod:
    """Pod that was assumed on a node, with everything that its binding needs."""

    queued: QueuedPodInfo
    pod: PodInfo
    """Pod as if it were bound."""
    node_name: str
    state: CycleState
    points: Framework
    started: float
    waits: bool = False
    """Whether a Permit plugin delays the pod."""
    stage: Stage = Stage.NEW
    left: list[PreBindPlugin] = field(default_factory=list)
    """PreBind plugins that are not done."""
    called_off: str = ""


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything that binding needs from the scheduler."""

    picture: Picture
    queue: Queue
    failures: FailureHandler
    writer: PodStatusWriter
    recorder: SeriesRecorder
    metrics: Metrics
    clock: Clock
    nominates: bool
    """Whether a pod whose binding takes preparation is nominated to its node first."""


class Binder:
    """Runs the binding of assumed pods; one step handles several of them."""

    def __init__(self, desk: Desk, *, owner: str, at_once: int = PARALLELISM) -> None:
        self.name = f"{owner}/binding"
        self.bell = Signal()
        self._dependencies, self._parallelism = desk, at_once
        self._ready: deque[AssumedPod] = deque()
        # Bindings that wait, by uid, with the time of the next attempt.
        self._waiting: dict[str, tuple[AssumedPod, float]] = {}

    def begin(self, assumed: AssumedPod) -> None:
        """Start the binding of a pod."""
        self._ready.append(assumed)
        self.bell.ring()

    def retry_waiting(self) -> None:
        """Retry all waiting bindings, because something has changed."""
        if self._waiting:
            self._ready.extend(assumed for assumed, _ in self._waiting.values())
            self._waiting.clear()
            self.bell.ring()

    def call_off(self, uid: str, reason: str) -> bool:
        """Cancel the binding of a waiting pod; return whether there was one."""
        waiting = self._waiting.pop(uid, None)
        if waiting is None:
            return False
        waiting[0].called_off = reason
        self.begin(waiting[0])
        return True

    def ready(self) -> bool:
        """Return whether a binding can continue now."""
        return bool(self._ready) or any(at <= self._dependencies.clock.monotonic() for _, at in self._waiting.values())

    def wake_at(self) -> float | None:
        """Return when the next waiting binding is retried."""
        return min((at for _, at in self._waiting.values()), default=None)

    async def step(self) -> None:
        """Continue the next bindings as far as they get."""
        now = self._dependencies.clock.monotonic()
        for uid in [uid for uid, (_, at) in self._waiting.items() if at <= now]:
            self._ready.append(self._waiting.pop(uid)[0])
        batch = [self._ready.popleft() for _ in range(min(self._parallelism, len(self._ready)))]
        # Saves a task for the common case; in virtual time there is only this case, so the order stays deterministic.
        if len(batch) == 1:
            await self._run(batch[0])
            return
        async with asyncio.TaskGroup() as group:
            for assumed in batch:
                group.create_task(self._run(assumed))

    async def _run(self, assumed: AssumedPod) -> None:
        try:
            status = await self._advance(assumed)
        except ApiError as error:
            status = Status.error(str(error))
        except Exception as error:  # an unreadable object only stops pods that need it
            self._dependencies.failures.pods.bad.fail(self.name, "Pod", assumed.pod.key, error)
            status = Status.error("internal error")
        if status.code is Code.WAIT:
            self._waiting[assumed.pod.uid] = assumed, self._dependencies.clock.monotonic() + RETRY_SECONDS
        elif not status.ok:
            await self._handle_failure(assumed, status)
        else:
            self._handle_success(assumed)

    async def _advance(self, assumed: AssumedPod) -> Status:
        """Run the remaining stages until one waits or fails, or the pod is bound."""
        if assumed.called_off:
            return Status.error(assumed.called_off)
        if assumed.stage is Stage.NEW:
            status = await self._run_pre_bind_preflights(assumed)
            if not status.ok:
                return status
        if assumed.stage is Stage.WAITING_ON_PERMIT:
            if assumed.waits and not (status := self._check_permit(assumed)).ok:
                return status
            # Permit is the last extension point at which a pod counts as unschedulable; failures behind it go to the
            # backoff queue, which needs no events since the pod was popped. As upstream, they are freed here.
            self._dependencies.queue.done(assumed.pod.uid)
            assumed.stage = Stage.PRE_BINDING
        if assumed.stage is Stage.PRE_BINDING:
            status = await self._run_pre_bind(assumed)
            if not status.ok:
                return status
            assumed.stage = Stage.BINDING
        return await self._run_bind(assumed)

    async def _run_pre_bind_preflights(self, assumed: AssumedPod) -> Status:
        """Find the PreBind plugins with work to do, and nominate the pod if there are any."""
        assumed.stage = Stage.WAITING_ON_PERMIT
        plugins = assumed.points.profile.pre_bind
        if not self._dependencies.nominates:
            assumed.left = list(plugins)
            return SUCCESS
        for plugin in plugins:
            status = plugin.pre_bind_preview(assumed.state, assumed.pod, assumed.node_name)
            if status.ok:
                assumed.left.append(plugin)
            elif status.code is not Code.SKIP:
                return Status.error(f'running PreBindPreFlight "{plugin.name}": {status.message}')
        # The nomination keeps the node for the pod if the scheduler restarts, and shows others where it will run. It is
        # not needed for a binding that follows immediately.
        if assumed.left or assumed.waits:
            try:
                await self._dependencies.writer.write(assumed.pod, nomination=assumed.node_name)
            except ApiError as error:
                # Upstream too goes on without the nomination: it is an optimization.
                _LOG.warning("nominating pod %s to %s: %s", assumed.pod.key, assumed.node_name, error)
        return SUCCESS

    def _check_permit(self, assumed: AssumedPod) -> Status:
        return assumed.points.permit(assumed.state, assumed.pod, assumed.node_name)

    async def _run_pre_bind(self, assumed: AssumedPod) -> Status:
        start = self._dependencies.clock.monotonic()
        status = SUCCESS
        while assumed.left and status.ok:
            plugin = assumed.left[0]
            status = await plugin.pre_bind(assumed.state, assumed.pod, assumed.node_name)
            if status.ok:
                # Finished plugins are not called again when a later one waits.
                del assumed.left[0]
            elif status.code is not Code.WAIT and not status.rejected:
                status = Status.error(f'running PreBind plugin "{plugin.name}": {status.message}')
            else:
                status = status.of(plugin.name)
        assumed.points.measure(_PRE_BIND, status.code, start)
        return status

    async def _run_bind(self, assumed: AssumedPod) -> Status:
        start = self._dependencies.clock.monotonic()
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

    def _handle_success(self, assumed: AssumedPod) -> None:
        dependencies, pod, queued = self._dependencies, assumed.pod, assumed.queued
        note = f"Successfully assigned {pod.namespace}/{pod.name} to {assumed.node_name}"
        dependencies.recorder.record(
            pod.obj, NORMAL, "Scheduled", note, action="Binding", controller=assumed.points.profile.name
        )
        profile = assumed.points.profile.name
        dependencies.metrics.attempts.add("scheduled", profile)
        dependencies.metrics.attempt_seconds.observe(
            dependencies.clock.monotonic() - assumed.started, "scheduled", profile
        )
        dependencies.metrics.pod_attempts.observe(queued.attempts)
        if queued.first_tried_at is not None:
            # upstream: labels above 15 attempts are merged to bound the metric.
            attempts = str(queued.attempts) if queued.attempts < _ATTEMPTS_LABEL_MAX else f"{_ATTEMPTS_LABEL_MAX}+"
            dependencies.metrics.sli_seconds.observe(
                dependencies.clock.now().timestamp() - queued.first_tried_at, attempts
            )
        if queued.flushed_at is not None:
            dependencies.metrics.after_flush.add()
        for plugin in assumed.points.profile.post_bind:
            plugin.post_bind(assumed.state, pod, assumed.node_name)

    async def _handle_failure(self, assumed: AssumedPod, status: Status) -> None:
        """Release the reservation, requeue the pod, and wake pods that could use the released resources."""
        dependencies, pod = self._dependencies, assumed.pod
        assumed.points.unreserve(assumed.state, pod, assumed.node_name)
        dependencies.picture.forget(pod.uid)
        freed = ClusterEvent(Subject.ASSIGNED_POD, Action.DELETE, old=pod.obj)
        # A pod that failed with an error backs off anyway, so this event cannot wake it too early.
        if not status.rejected:
            dependencies.queue.happened(freed)
        try:
            await assumed.points.clean_up(assumed.state, pod, assumed.node_name)
        except ApiError as error:
            _LOG.warning("cleaning up after pod %s: %s", pod.key, error)
        outcome: FitError | Failure = Failure(status.message)
        if status.rejected:
            outcome = fit_error_on_node(assumed.node_name, status)
        await dependencies.failures.settle(assumed.queued, outcome, nomination="", started=assumed.started)
        if status.rejected:
            # After a rejection the event comes after requeueing and excludes the pod: its own release must not wake it.
            dependencies.queue.happened(freed, lambda other: other.uid != pod.uid)
