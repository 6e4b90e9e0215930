"""The scheduling cycle: one pod at a time, from the queue to a decision, and on to binding or back.

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
_NO_FIT: Final = 2
"""The verbosity from which on it is logged that a pod fits nowhere."""
_SYNC_SECONDS: Final = 0.1
"""How often it is looked whether the caches are filled, until they are."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the cycle works with."""

    caches: Caches
    queue: Queue
    picture: Picture
    nominations: Nominations
    deciders: Mapping[str, Decider]
    """By the name that pods give their scheduler."""
    binder: Binder
    evictions: Evictions
    failures: Failures
    log: LogBuffer
    recorder: SeriesRecorder
    metrics: Metrics
    clock: Clock


class Cycle:
    """Decides for one pod per step."""

    def __init__(self, surroundings: Surroundings, *, owner: str) -> None:
        self.name = f"{owner}/cycle"
        self._around = surroundings
        self._synced = False

    @property
    def bell(self) -> Bell:
        """That of the queue."""
        return self._around.queue.bell

    def ready(self) -> bool:
        """Whether a pod waits, and all is known that there was to know."""
        self._synced = self._synced or self._around.caches.synced()
        return self._synced and self._around.queue.ready()

    def wake_at(self) -> float | None:
        """Return when time alone brings a pod."""
        if not self._synced:
            return self._around.clock.monotonic() + _SYNC_SECONDS
        return self._around.queue.next_moment()

    async def step(self) -> None:
        """Decide for the next pod."""
        queued = self._around.queue.pop()
        if queued is None:
            return
        if self._is_to_be_skipped(queued):
            self._around.queue.done(queued.pod.uid)
            return
        try:
            await self._schedule(queued)
        except Exception as error:  # one object that cannot be read must not keep other pods from being scheduled
            self._around.log.flush(str(queued.pod.key))
            self._blame(queued, error)
            await self._give_up(queued)

    async def _give_up(self, queued: Queued) -> None:
        """Put a pod back that could not be decided on, or leave it until it changes if not even that can be done."""
        self._around.picture.forget(queued.pod.uid)
        try:
            await self._settle(queued, Failure("internal error"), "", self._around.clock.monotonic())
        except Exception as error:
            self._around.caches.bad.fail(self.name, "Pod", queued.pod.key, error)
            self._around.queue.done(queued.pod.uid)

    def _blame(self, queued: Queued, error: Exception) -> None:
        """Act as if the object were not there that made the cycle fail; the pod itself fails until it changes."""
        pod, caches = queued.pod, self._around.caches
        if not caches.blame(self.name, error, own=pod.key):
            caches.bad.fail(self.name, "Pod", pod.key, error)

    def _is_to_be_skipped(self, queued: Queued) -> bool:
        pod = queued.pod
        if pod.terminating:
            note = f"skip schedule deleting pod: {pod.namespace}/{pod.name}"
            self._around.recorder.record(
                pod.obj, WARNING, "FailedScheduling", note, action="Scheduling", controller=pod.scheduler_name
            )
            return True
        return self._around.picture.assumed(pod.uid)

    async def _schedule(self, queued: Queued) -> None:
        started = self._around.clock.monotonic()
        decider = self._around.deciders[queued.pod.scheduler_name]
        state = decider.state()
        self._around.log.begin()
        decision = decider.decide(state, queued.pod)
        if isinstance(decision, Refusal):
            self._around.log.info(f'"Unable to schedule pod; no fit; waiting" err={quoted(decision.message)}', _NO_FIT)
        self._around.log.flush(str(queued.pod.key))
        self._around.metrics.algorithm_seconds.observe(self._around.clock.monotonic() - started)
        match decision:
            case Placement():
                await self._take(queued, decider, state, decision, started)
            case Refusal():
                await self._carry_out(decider, state, queued)
                self._begin_preemption(queued, decider.points.profile, decision)
                remedy = decision.remedy
                await self._settle(queued, decision, remedy.node_name if remedy else "", started)
            case Failure():
                await self._settle(queued, decision, "", started)

    async def _carry_out(self, decider: Decider, state: CycleState, queued: Queued) -> None:
        """Let the plugins that looked for a remedy write what they have decided."""
        for plugin in decider.points.profile.post_filters:
            try:
                await plugin.carry_out(state, queued.pod)
            except ApiError as error:
                _LOG.warning("%s for pod %s: %s", plugin.name, queued.pod.key, error)

    def _begin_preemption(self, queued: Queued, profile: Profile, refusal: Refusal) -> None:
        remedy = refusal.remedy
        if (
            remedy is not None
            and _PREEMPTION in self._around.deciders[queued.pod.scheduler_name].points.profile.plugins
        ):
            self._around.metrics.preemption_attempts.add()
        if remedy is not None and remedy.status.ok and remedy.node_name and remedy.victims:
            self._around.evictions.begin(Preemption(queued.pod, remedy.node_name, remedy.victims))

    async def _take(
        self, queued: Queued, decider: Decider, state: CycleState, placement: Placement, started: float
    ) -> None:
        """Count the pod in where it goes, and send it on to binding unless a plugin objects."""
        around, points, node_name = self._around, decider.points, placement.node_name
        pod = around.picture.assume(queued.pod, node_name)
        around.nominations.drop(pod.uid)
        status = points.reserve(state, pod, node_name)
        if status.ok:
            status = points.permit(state, pod, node_name)
        if status.ok or status.code is Code.WAIT:
            waits = status.code is Code.WAIT
            around.binder.begin(Assumed(queued, pod, node_name, state, points, started, waits))
            return
        points.unreserve(state, pod, node_name)
        around.picture.forget(pod.uid)
        await points.clean_up(state, pod, node_name)
        await self._settle(queued, _outcome(node_name, status), "", started)

    async def _settle(self, queued: Queued, outcome: Refusal | Failure, nomination: str | None, started: float) -> None:
        await self._around.failures.settle(queued, outcome, nomination=nomination, started=started)


def _outcome(node_name: str, status: Status) -> Refusal | Failure:
    return on_one_node(node_name, status) if status.rejected else Failure(status.message)
