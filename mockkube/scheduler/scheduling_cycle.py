"""Scheduling cycle: pop one pod, decide, assume it and start its binding, or handle the failure.

upstream 1.36: pkg/scheduler/schedule_one.go
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mockkube.api.errors import ApiError
from mockkube.api.fields import quoted
from mockkube.client.cache import Caches
from mockkube.client.events import WARNING
from mockkube.client.series import SeriesRecorder
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Bell
from mockkube.scheduler.binding_cycle import Assumed, Binder
from mockkube.scheduler.configuration.profiles import Profile
from mockkube.scheduler.failure_handler import Failures
from mockkube.scheduler.fit_error import Refusal, on_one_node
from mockkube.scheduler.framework.interface import CycleState
from mockkube.scheduler.framework.status import Code, Status
from mockkube.scheduler.log_buffer import LogBuffer
from mockkube.scheduler.metrics import Metrics
from mockkube.scheduler.nominator import Nominations
from mockkube.scheduler.preemption.executor import Evictions, Preemption
from mockkube.scheduler.queue.queued_pod_info import Queued
from mockkube.scheduler.queue.scheduling_queue import Queue
from mockkube.scheduler.scheduling_algorithm import Decider, Failure, Placement
from mockkube.scheduler.snapshot import Picture

_LOG: Final = logging.getLogger("mockkube.scheduler")
_PREEMPTION: Final = "DefaultPreemption"
# Verbosity of the line that a pod fits no node.
_NO_FIT: Final = 2
# How often the worker checks whether the informers have synced, until they have.
_SYNC_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything that the scheduling cycle needs."""

    caches: Caches
    queue: Queue
    picture: Picture
    nominations: Nominations
    deciders: Mapping[str, Decider]
    """Scheduling algorithms by scheduler name."""
    binder: Binder
    evictions: Evictions
    failures: Failures
    log: LogBuffer
    recorder: SeriesRecorder
    metrics: Metrics
    clock: Clock


class Cycle:
    """Schedules one pod per step."""

    def __init__(self, surroundings: Surroundings, *, owner: str) -> None:
        self.name = f"{owner}/cycle"
        self._around = surroundings
        self._synced = False

    @property
    def bell(self) -> Bell:
        """Signal of the queue."""
        return self._around.queue.bell

    def ready(self) -> bool:
        """Return whether a pod waits and all informers have synced."""
        self._synced = self._synced or self._around.caches.synced()
        return self._synced and self._around.queue.ready()

    def wake_at(self) -> float | None:
        """Return when time alone makes a pod ready."""
        if not self._synced:
            return self._around.clock.monotonic() + _SYNC_SECONDS
        return self._around.queue.next_moment()

    async def step(self) -> None:
        """Schedule the next pod."""
        queued = self._around.queue.pop()
        if queued is None:
            return
        if self._is_to_be_skipped(queued):
            self._around.queue.done(queued.pod.uid)
            return
        try:
            await self._schedule(queued)
        except Exception as error:  # one unreadable object must not stop the scheduling of other pods
            self._around.log.flush(str(queued.pod.key))
            self._blame(queued, error)
            await self._give_up(queued)

    async def _give_up(self, queued: Queued) -> None:
        """Requeue a pod whose cycle failed; if that fails too, drop it until it changes."""
        # The cycle may have failed after the pod was assumed.
        self._around.picture.forget(queued.pod.uid)
        try:
            await self._settle(queued, Failure("internal error"), "", self._around.clock.monotonic())
        except Exception as error:
            self._around.caches.bad.fail(self.name, "Pod", queued.pod.key, error)
            self._around.queue.done(queued.pod.uid)

    def _blame(self, queued: Queued, error: Exception) -> None:
        """Report the object that made the cycle fail, and ignore it until it changes.

        If it was the pod itself, the pod fails until it changes.
        """
        pod, informers = queued.pod, self._around.caches
        if not informers.blame(self.name, error, own=pod.key):
            informers.bad.fail(self.name, "Pod", pod.key, error)

    def _is_to_be_skipped(self, queued: Queued) -> bool:
        pod = queued.pod
        if pod.terminating:
            note = f"skip schedule deleting pod: {pod.namespace}/{pod.name}"
            self._around.recorder.record(
                pod.obj, WARNING, "FailedScheduling", note, action="Scheduling", controller=pod.scheduler_name
            )
            return True
        # An update can requeue a pod that is assumed already; it must not be scheduled twice.
        return self._around.picture.assumed(pod.uid)

    async def _schedule(self, queued: Queued) -> None:
        started = self._around.clock.monotonic()
        algorithm = self._around.deciders[queued.pod.scheduler_name]
        state = algorithm.state()
        self._around.log.begin()
        decision = algorithm.decide(state, queued.pod)
        if isinstance(decision, Refusal):
            # Within the cycle of the log buffer, so that the pod is appended to the line.
            self._around.log.info(f'"Unable to schedule pod; no fit; waiting" err={quoted(decision.message)}', _NO_FIT)
        self._around.log.flush(str(queued.pod.key))
        self._around.metrics.algorithm_seconds.observe(self._around.clock.monotonic() - started)
        match decision:
            case Placement():
                await self._take(queued, algorithm, state, decision, started)
            case Refusal():
                await self._carry_out(algorithm, state, queued)
                # Started before the failure is handled: the pod's gate must already hold it back when it is requeued.
                self._begin_preemption(queued, algorithm.points.profile, decision)
                result = decision.remedy
                await self._settle(queued, decision, result.node_name if result else "", started)
            case Failure():
                await self._settle(queued, decision, "", started)

    async def _carry_out(self, decider: Decider, state: CycleState, queued: Queued) -> None:
        """Let PostFilter plugins write their results."""
        for plugin in decider.points.profile.post_filters:
            try:
                await plugin.carry_out(state, queued.pod)
            except ApiError as error:
                _LOG.warning("%s for pod %s: %s", plugin.name, queued.pod.key, error)

    def _begin_preemption(self, queued: Queued, profile: Profile, refusal: Refusal) -> None:
        result = refusal.remedy
        if (
            result is not None
            and _PREEMPTION in self._around.deciders[queued.pod.scheduler_name].points.profile.plugins
        ):
            self._around.metrics.preemption_attempts.add()
        if result is not None and result.status.ok and result.node_name and result.victims:
            self._around.evictions.begin(Preemption(queued.pod, result.node_name, result.victims))

    async def _take(
        self, queued: Queued, decider: Decider, state: CycleState, placement: Placement, started: float
    ) -> None:
        """Assume the pod on its node and start its binding, unless a plugin rejects it."""
        dependencies, framework, node_name = self._around, decider.points, placement.node_name
        pod = dependencies.picture.assume(queued.pod, node_name)
        # The assumed pod occupies its node, so its nomination must not count a second time.
        dependencies.nominations.drop(pod.uid)
        status = framework.reserve(state, pod, node_name)
        if status.ok:
            status = framework.permit(state, pod, node_name)
        if status.ok or status.code is Code.WAIT:
            waits = status.code is Code.WAIT
            dependencies.binder.begin(Assumed(queued, pod, node_name, state, framework, started, waits))
            return
        framework.unreserve(state, pod, node_name)
        dependencies.picture.forget(pod.uid)
        await framework.clean_up(state, pod, node_name)
        await self._settle(queued, _outcome(node_name, status), "", started)

    async def _settle(self, queued: Queued, outcome: Refusal | Failure, nomination: str | None, started: float) -> None:
        await self._around.failures.settle(queued, outcome, nomination=nomination, started=started)


def _outcome(node_name: str, status: Status) -> Refusal | Failure:
    return on_one_node(node_name, status) if status.rejected else Failure(status.message)
