"""Scheduling cycle: pop one pod, decide, assume it and start its binding, or handle the failure.

upstream 1.36: pkg/scheduler/schedule_one.go
"""

import logging
from collections.abc import Mapping
from typing import Final

from mockkube.api.errors import ApiError
from mockkube.api.fields import quote
from mockkube.client.events import WARNING
from mockkube.client.informer import InformerFactory
from mockkube.client.series_recorder import SeriesRecorder
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Signal
from mockkube.runtime.tracing import AttributeValue, Tracer, current_span, within
from mockkube.scheduler.cycle.binding_cycle import AssumedPod, BindingCycle
from mockkube.scheduler.cycle.failure_handler import FailureHandler
from mockkube.scheduler.cycle.scheduling_algorithm import ScheduleResult, SchedulingAlgorithm, SchedulingError
from mockkube.scheduler.framework.cache import Cache
from mockkube.scheduler.framework.fit_error import FitError, fit_error_on_node
from mockkube.scheduler.framework.interface import CycleState
from mockkube.scheduler.framework.log_buffer import LogBuffer
from mockkube.scheduler.framework.metrics import SchedulerMetrics
from mockkube.scheduler.framework.status import Code, Status
from mockkube.scheduler.preemption.executor import Preemption, PreemptionExecutor
from mockkube.scheduler.profile.profiles import Profile
from mockkube.scheduler.queue.nominator import Nominator
from mockkube.scheduler.queue.queued_pod_info import QueuedPodInfo
from mockkube.scheduler.queue.scheduling_queue import SchedulingQueue

_LOG: Final = logging.getLogger("mockkube.scheduler")
_PREEMPTION: Final = "DefaultPreemption"
# Verbosity of the line that a pod fits no node.
_NO_FIT_VERBOSITY: Final = 2
# How often the worker checks whether the informers have synced, until they have.
_SYNC_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class SchedulingCycleDependencies:
    """Everything that the scheduling cycle needs."""

    informers: InformerFactory
    queue: SchedulingQueue
    cache: Cache
    nominator: Nominator
    algorithms: Mapping[str, SchedulingAlgorithm]
    """Scheduling algorithms by scheduler name."""
    binding_cycle: BindingCycle
    preemption_executor: PreemptionExecutor
    failure_handler: FailureHandler
    log: LogBuffer
    recorder: SeriesRecorder
    metrics: SchedulerMetrics
    clock: Clock
    tracer: Tracer | None = None
    """Tracer of scheduling cycles; None: they are not traced."""


class SchedulingCycle:
    """Schedules one pod per step."""

    def __init__(self, dependencies: SchedulingCycleDependencies, *, owner: str) -> None:
        self.name = f"{owner}/cycle"
        self._dependencies = dependencies
        self._synced = False
        for informer in dependencies.informers.workers:
            informer.notify_when_synced(self.signal)

    @property
    def signal(self) -> Signal:
        """Signal of the queue."""
        return self._dependencies.queue.signal

    def is_ready(self) -> bool:
        """Return whether a pod waits and all informers have synced."""
        self._synced = self._synced or self._dependencies.informers.has_synced()
        return self._synced and self._dependencies.queue.is_ready()

    def wake_at(self) -> float | None:
        """Return when time alone makes a pod ready."""
        if not self._synced:
            return self._dependencies.clock.monotonic() + _SYNC_POLL_SECONDS
        return self._dependencies.queue.next_flush_at()

    async def step(self) -> None:
        """Schedule the next pod."""
        queued = self._dependencies.queue.pop()
        if queued is None:
            return
        if self._should_skip(queued):
            self._dependencies.queue.done(queued.pod.uid)
            return
        try:
            if self._dependencies.tracer is None:
                await self._schedule(queued)
            else:
                await self._trace_scheduling(self._dependencies.tracer, queued)
        except Exception as error:  # one unreadable object must not stop the scheduling of other pods
            self._dependencies.log.flush(str(queued.pod.key))
            self._report_bad_object(queued, error)
            await self._handle_internal_error(queued)

    async def _trace_scheduling(self, tracer: Tracer, queued: QueuedPodInfo) -> None:
        """Schedule a pod within a span of its own."""
        pod = queued.pod
        attributes: dict[str, AttributeValue] = {
            "k8s.namespace.name": pod.namespace,
            "k8s.pod.name": pod.name,
            "k8s.pod.uid": pod.uid,
            "profile": pod.scheduler_name,
            "attempts": queued.attempts,
        }
        # upstream 1.36: pkg/scheduler/schedule_one.go has a trace of this name, which it logs
        with within(tracer.start_span("Scheduling", attributes=attributes)):
            await self._schedule(queued)

    async def _handle_internal_error(self, queued: QueuedPodInfo) -> None:
        """Requeue a pod whose cycle failed; if that fails too, drop it until it changes."""
        # The cycle may have failed after the pod was assumed.
        self._dependencies.cache.forget_pod(queued.pod.uid)
        try:
            await self._handle_failure(
                queued, SchedulingError("internal error"), "", self._dependencies.clock.monotonic()
            )
        except Exception as error:
            self._dependencies.informers.bad.record_failure(self.name, "Pod", queued.pod.key, error)
            self._dependencies.queue.done(queued.pod.uid)

    def _report_bad_object(self, queued: QueuedPodInfo, error: Exception) -> None:
        """Report the object that made the cycle fail, and ignore it until it changes.

        If it was the pod itself, the pod fails until it changes.
        """
        pod, informers = queued.pod, self._dependencies.informers
        if not informers.hide_culprit(self.name, error, own=pod.key):
            informers.bad.record_failure(self.name, "Pod", pod.key, error)

    def _should_skip(self, queued: QueuedPodInfo) -> bool:
        pod = queued.pod
        if pod.terminating:
            note = f"skip schedule deleting pod: {pod.namespace}/{pod.name}"
            self._dependencies.recorder.record(
                pod.obj, WARNING, "FailedScheduling", note, action="Scheduling", controller=pod.scheduler_name
            )
            return True
        # An update can requeue a pod that is assumed already; it must not be scheduled twice.
        return self._dependencies.cache.is_assumed(pod.uid)

    async def _schedule(self, queued: QueuedPodInfo) -> None:
        started = self._dependencies.clock.monotonic()
        algorithm = self._dependencies.algorithms[queued.pod.scheduler_name]
        state = algorithm.new_cycle_state()
        self._dependencies.log.begin_cycle()
        decision = algorithm.schedule_pod(state, queued.pod)
        if isinstance(decision, FitError):
            # Within the cycle of the log buffer, so that the pod is appended to the line.
            self._dependencies.log.info(
                f'"Unable to schedule pod; no fit; waiting" err={quote(decision.message)}', _NO_FIT_VERBOSITY
            )
        self._dependencies.log.flush(str(queued.pod.key))
        self._dependencies.metrics.algorithm_seconds.observe(self._dependencies.clock.monotonic() - started)
        if (span := current_span()) is not None:
            span.attributes |= _describe_decision(decision)
        match decision:
            case ScheduleResult():
                await self._assume_and_bind(queued, algorithm, state, decision, started)
            case FitError():
                await self._apply_post_filter_results(algorithm, state, queued)
                # Started before the failure is handled: the pod's gate must already hold it back when it is requeued.
                self._start_preemption(queued, algorithm.framework.profile, decision)
                result = decision.post_filter_result
                await self._handle_failure(queued, decision, result.node_name if result else "", started)
            case SchedulingError():
                await self._handle_failure(queued, decision, "", started)

    async def _apply_post_filter_results(
        self, algorithm: SchedulingAlgorithm, state: CycleState, queued: QueuedPodInfo
    ) -> None:
        """Let PostFilter plugins write their results."""
        for plugin in algorithm.framework.profile.post_filters:
            try:
                await plugin.apply_result(state, queued.pod)
            except ApiError as error:
                _LOG.warning("%s for pod %s: %s", plugin.name, queued.pod.key, error)

    def _start_preemption(self, queued: QueuedPodInfo, profile: Profile, fit_error: FitError) -> None:
        result = fit_error.post_filter_result
        if (
            result is not None
            and _PREEMPTION in self._dependencies.algorithms[queued.pod.scheduler_name].framework.profile.plugins
        ):
            self._dependencies.metrics.preemption_attempts.add()
        if result is not None and result.status.is_success and result.node_name and result.victims:
            self._dependencies.preemption_executor.start(Preemption(queued.pod, result.node_name, result.victims))

    async def _assume_and_bind(
        self,
        queued: QueuedPodInfo,
        algorithm: SchedulingAlgorithm,
        state: CycleState,
        schedule_result: ScheduleResult,
        started: float,
    ) -> None:
        """Assume the pod on its node and start its binding, unless a plugin rejects it."""
        dependencies, framework, node_name = self._dependencies, algorithm.framework, schedule_result.node_name
        pod = dependencies.cache.assume_pod(queued.pod, node_name)
        # The assumed pod occupies its node, so its nomination must not count a second time.
        dependencies.nominator.delete_nominated_pod(pod.uid)
        status = framework.run_reserve(state, pod, node_name)
        if status.is_success:
            status = framework.run_permit(state, pod, node_name)
        if status.is_success or status.code is Code.WAIT:
            waits = status.code is Code.WAIT
            assumed = AssumedPod(queued, pod, node_name, state, framework, started, waits, span=current_span())
            dependencies.binding_cycle.start(assumed)
            return
        framework.run_unreserve(state, pod, node_name)
        dependencies.cache.forget_pod(pod.uid)
        await framework.run_clean_up(state, pod, node_name)
        await self._handle_failure(queued, _failure_outcome(node_name, status), "", started)

    async def _handle_failure(
        self, queued: QueuedPodInfo, outcome: FitError | SchedulingError, nomination: str | None, started: float
    ) -> None:
        await self._dependencies.failure_handler.handle(queued, outcome, nomination=nomination, started=started)


def _failure_outcome(node_name: str, status: Status) -> FitError | SchedulingError:
    return fit_error_on_node(node_name, status) if status.is_rejected else SchedulingError(status.message)


def _describe_decision(decision: ScheduleResult | FitError | SchedulingError) -> dict[str, AttributeValue]:
    """Return attributes of a span: the node, or why there is none."""
    match decision:
        case ScheduleResult():
            return {"result": "scheduled", "k8s.node.name": decision.node_name}
        case FitError():
            return {"result": "unschedulable", "message": decision.message}
        case _:
            return {"result": "error", "message": str(decision)}
