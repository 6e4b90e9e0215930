"""Binding cycle: wait for permission, run PreBind, bind, for several pods at a time.

upstream 1.36: pkg/scheduler/schedule_one.go (bindingCycle)
"""

import asyncio
import logging
from collections import deque
from dataclasses import field
from enum import IntEnum
from typing import Final

from mockkube.api.errors import ApiError
from mockkube.client.events import NORMAL
from mockkube.client.series_recorder import SeriesRecorder
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Signal
from mockkube.runtime.tracing import Span, within
from mockkube.scheduler.cycle.failure_handler import FailureHandler
from mockkube.scheduler.cycle.scheduling_algorithm import SchedulingError
from mockkube.scheduler.framework.cache import Cache
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from mockkube.scheduler.framework.fit_error import FitError, fit_error_on_node
from mockkube.scheduler.framework.interface import CycleState, PreBindPlugin
from mockkube.scheduler.framework.metrics import SchedulerMetrics
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_status_writer import PodStatusWriter
from mockkube.scheduler.framework.status import SUCCESS, Code, Status
from mockkube.scheduler.profile.framework import Framework
from mockkube.scheduler.queue.queued_pod_info import QueuedPodInfo
from mockkube.scheduler.queue.scheduling_queue import SchedulingQueue

_LOG: Final = logging.getLogger("mockkube.scheduler")
# Longest time between two attempts of a waiting binding, if no event wakes it earlier.
RETRY_SECONDS: Final = 1.0
# Pods that are bound in parallel.
PARALLELISM: Final = 16
_ATTEMPTS_LABEL_MAX: Final = 15
_PRE_BIND: Final = "PreBind"
_BIND: Final = "Bind"
_NO_BIND_PLUGIN: Final = Status.error("no plugin binds")


class BindingStage(IntEnum):
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
    framework: Framework
    started: float
    waits_on_permit: bool = False
    """Whether a Permit plugin delays the pod."""
    stage: BindingStage = BindingStage.NEW
    pending_pre_binds: list[PreBindPlugin] = field(default_factory=list)
    """PreBind plugins that are not done."""
    cancel_reason: str = ""
    span: Span | None = None
    """Span of the scheduling cycle; None without a tracer."""


@dataclass(frozen=True, slots=True)
class BindingDependencies:
    """Everything that binding needs from the scheduler."""

    cache: Cache
    queue: SchedulingQueue
    failure_handler: FailureHandler
    writer: PodStatusWriter
    recorder: SeriesRecorder
    metrics: SchedulerMetrics
    clock: Clock
    nominate_before_binding: bool
    """Whether a pod whose binding takes preparation is nominated to its node first."""


class BindingCycle:
    """Runs the binding of assumed pods; one step handles several of them."""

    def __init__(self, dependencies: BindingDependencies, *, owner: str, parallelism: int = PARALLELISM) -> None:
        self.name = f"{owner}/binding"
        self.signal = Signal()
        self._dependencies, self._parallelism = dependencies, parallelism
        self._ready: deque[AssumedPod] = deque()
        # Bindings that wait, by uid, with the time of the next attempt.
        self._waiting: dict[str, tuple[AssumedPod, float]] = {}

    def start(self, assumed: AssumedPod) -> None:
        """Start the binding of a pod."""
        self._ready.append(assumed)
        self.signal.notify()

    def retry_waiting(self) -> None:
        """Retry all waiting bindings, because something has changed."""
        if self._waiting:
            self._ready.extend(assumed for assumed, _ in self._waiting.values())
            self._waiting.clear()
            self.signal.notify()

    def cancel(self, uid: str, reason: str) -> bool:
        """Cancel the binding of a waiting pod; return whether there was one."""
        waiting = self._waiting.pop(uid, None)
        if waiting is None:
            return False
        waiting[0].cancel_reason = reason
        self.start(waiting[0])
        return True

    def is_ready(self) -> bool:
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
            status = await (self._advance(assumed) if assumed.span is None else self._trace(assumed, assumed.span))
        except ApiError as error:
            status = Status.error(str(error))
        except Exception as error:  # an unreadable object only stops pods that need it
            self._dependencies.failure_handler.pods.bad.record_failure(self.name, "Pod", assumed.pod.key, error)
            status = Status.error("internal error")
        if status.code is Code.WAIT:
            self._waiting[assumed.pod.uid] = assumed, self._dependencies.clock.monotonic() + RETRY_SECONDS
        elif not status.is_success:
            await self._handle_failure(assumed, status)
        else:
            self._handle_success(assumed)

    async def _trace(self, assumed: AssumedPod, cycle: Span) -> Status:
        """Advance within a span below that of the scheduling cycle."""
        with within(cycle.tracer.start_span("Binding", parent=cycle.context)) as span:
            span.attributes["k8s.node.name"] = assumed.node_name
            status = await self._advance(assumed)
            if not status.is_success and status.code is not Code.WAIT:
                span.error = status.message
            return status

    async def _advance(self, assumed: AssumedPod) -> Status:
        """Run the remaining stages until one waits or fails, or the pod is bound."""
        if assumed.cancel_reason:
            return Status.error(assumed.cancel_reason)
        if assumed.stage is BindingStage.NEW:
            status = await self._run_pre_bind_preflights(assumed)
            if not status.is_success:
                return status
        if assumed.stage is BindingStage.WAITING_ON_PERMIT:
            if assumed.waits_on_permit and not (status := self._check_permit(assumed)).is_success:
                return status
            # Permit is the last extension point at which a pod counts as unschedulable; failures behind it go to the
            # backoff queue, which needs no events since the pod was popped. As upstream, they are freed here.
            self._dependencies.queue.done(assumed.pod.uid)
            assumed.stage = BindingStage.PRE_BINDING
        if assumed.stage is BindingStage.PRE_BINDING:
            status = await self._run_pre_bind(assumed)
            if not status.is_success:
                return status
            assumed.stage = BindingStage.BINDING
        return await self._run_bind(assumed)

    async def _run_pre_bind_preflights(self, assumed: AssumedPod) -> Status:
        """Find the PreBind plugins with work to do, and nominate the pod if there are any."""
        assumed.stage = BindingStage.WAITING_ON_PERMIT
        plugins = assumed.framework.profile.pre_bind
        if not self._dependencies.nominate_before_binding:
            assumed.pending_pre_binds = list(plugins)
            return SUCCESS
        for plugin in plugins:
            status = plugin.pre_bind_pre_flight(assumed.state, assumed.pod, assumed.node_name)
            if status.is_success:
                assumed.pending_pre_binds.append(plugin)
            elif status.code is not Code.SKIP:
                return Status.error(f'running PreBindPreFlight "{plugin.name}": {status.message}')
        # The nomination keeps the node for the pod if the scheduler restarts, and shows others where it will run. It is
        # not needed for a binding that follows immediately.
        if assumed.pending_pre_binds or assumed.waits_on_permit:
            try:
                await self._dependencies.writer.write(assumed.pod, nomination=assumed.node_name)
            except ApiError as error:
                # Upstream too goes on without the nomination: it is an optimization.
                _LOG.warning("nominating pod %s to %s: %s", assumed.pod.key, assumed.node_name, error)
        return SUCCESS

    def _check_permit(self, assumed: AssumedPod) -> Status:
        return assumed.framework.run_permit(assumed.state, assumed.pod, assumed.node_name)

    async def _run_pre_bind(self, assumed: AssumedPod) -> Status:
        start = self._dependencies.clock.monotonic()
        status = SUCCESS
        while assumed.pending_pre_binds and status.is_success:
            plugin = assumed.pending_pre_binds[0]
            status = await plugin.pre_bind(assumed.state, assumed.pod, assumed.node_name)
            if status.is_success:
                # Finished plugins are not called again when a later one waits.
                del assumed.pending_pre_binds[0]
            elif status.code is not Code.WAIT and not status.is_rejected:
                status = Status.error(f'running PreBind plugin "{plugin.name}": {status.message}')
            else:
                status = status.with_plugin(plugin.name)
        assumed.framework.observe_extension_point(_PRE_BIND, status.code, start)
        return status

    async def _run_bind(self, assumed: AssumedPod) -> Status:
        start = self._dependencies.clock.monotonic()
        status = _NO_BIND_PLUGIN
        for plugin in assumed.framework.profile.bind:
            status = await plugin.bind(assumed.state, assumed.pod, assumed.node_name)
            if status.code is Code.SKIP:
                continue
            if not status.is_success and not status.is_rejected:
                status = Status.error(f'running Bind plugin "{plugin.name}": {status.message}')
            break
        assumed.framework.observe_extension_point(_BIND, status.code, start)
        return status

    def _handle_success(self, assumed: AssumedPod) -> None:
        dependencies, pod, queued = self._dependencies, assumed.pod, assumed.queued
        note = f"Successfully assigned {pod.namespace}/{pod.name} to {assumed.node_name}"
        dependencies.recorder.record(
            pod.obj, NORMAL, "Scheduled", note, action="Binding", controller=assumed.framework.profile.name
        )
        profile = assumed.framework.profile.name
        dependencies.metrics.attempts.add("scheduled", profile)
        dependencies.metrics.attempt_seconds.observe(
            dependencies.clock.monotonic() - assumed.started, "scheduled", profile
        )
        dependencies.metrics.pod_attempts.observe(queued.attempts)
        if queued.initial_attempt_at is not None:
            # upstream: labels above 15 attempts are merged to bound the metric.
            attempts = str(queued.attempts) if queued.attempts < _ATTEMPTS_LABEL_MAX else f"{_ATTEMPTS_LABEL_MAX}+"
            dependencies.metrics.sli_seconds.observe(
                dependencies.clock.now().timestamp() - queued.initial_attempt_at, attempts
            )
        if queued.flushed_at is not None:
            dependencies.metrics.after_flush.add()
        for plugin in assumed.framework.profile.post_bind:
            plugin.post_bind(assumed.state, pod, assumed.node_name)

    async def _handle_failure(self, assumed: AssumedPod, status: Status) -> None:
        """Release the reservation, requeue the pod, and wake pods that could use the released resources."""
        dependencies, pod = self._dependencies, assumed.pod
        assumed.framework.run_unreserve(assumed.state, pod, assumed.node_name)
        dependencies.cache.forget_pod(pod.uid)
        freed = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, old=pod.obj)
        # A pod that failed with an error backs off anyway, so this event cannot wake it too early.
        if not status.is_rejected:
            dependencies.queue.move_all_to_active_or_backoff_queue(freed)
        try:
            await assumed.framework.run_clean_up(assumed.state, pod, assumed.node_name)
        except ApiError as error:
            _LOG.warning("cleaning up after pod %s: %s", pod.key, error)
        outcome: FitError | SchedulingError = SchedulingError(status.message)
        if status.is_rejected:
            outcome = fit_error_on_node(assumed.node_name, status)
        await dependencies.failure_handler.handle(assumed.queued, outcome, nomination="", started=assumed.started)
        if status.is_rejected:
            # After a rejection the event comes after requeueing and excludes the pod: its own release must not wake it.
            dependencies.queue.move_all_to_active_or_backoff_queue(freed, lambda other: other.uid != pod.uid)
