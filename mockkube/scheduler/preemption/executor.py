"""Preemption executor: evicts victims while their preemptor is kept out of the active queue.

upstream 1.36: pkg/scheduler/framework/preemption/executor.go
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from mockkube.api.errors import ApiError, Conflict, NotFound
from mockkube.client.events import NORMAL
from mockkube.client.informer import Informer
from mockkube.client.protocol import Client, DeleteOptions
from mockkube.client.series_recorder import SeriesRecorder
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import DISRUPTION_TARGET
from mockkube.runtime.steps import Signal
from mockkube.scheduler.framework.metrics import SchedulerMetrics
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_status_writer import PodCondition, PodStatusWriter
from mockkube.scheduler.preemption.candidates import PREEMPTION_BY_SCHEDULER
from mockkube.scheduler.queue.nominator import Nominator

_LOG: Final = logging.getLogger("mockkube.scheduler")


@dataclass(frozen=True, slots=True)
class Preemption:
    """Decision to evict the victims on a node for another pod."""

    preemptor: PodInfo
    node_name: str
    victims: Sequence[PodInfo]


@dataclass(frozen=True, slots=True)
class ExecutorDependencies:
    """Everything that the executor needs from the scheduler."""

    client: Client
    pods: Informer
    writer: PodStatusWriter
    recorder: SeriesRecorder
    nominator: Nominator
    metrics: SchedulerMetrics
    activate: Callable[[str], None]
    """Moves a pod to the active queue."""
    recheck_gate: Callable[[str], None]
    """Makes the queue recheck the gate of a pod."""
    cancel_binding: Callable[[str, str], bool]
    """Cancels the binding of a waiting pod, for a reason; returns whether there was one."""
    relate_events_to_preemptor: bool = False
    """Whether events about victims have the preemptor as related object."""


class PreemptionExecutor:
    """Executes preemptions, several per step."""

    def __init__(self, dependencies: ExecutorDependencies, *, owner: str, parallelism: int = 1) -> None:
        self.name = f"{owner}/evictions"
        self.signal = Signal()
        self._dependencies, self._parallelism = dependencies, parallelism
        self._waiting: deque[Preemption] = deque()
        # Uids of preemptors with more than one victim to evict.
        self._with_pending_victims: dict[str, None] = {}
        # The last victim, by the uid of the preemptor.
        self._last_victims: dict[str, PodInfo] = {}

    def start(self, preemption: Preemption) -> None:
        """Start a preemption."""
        # A terminating victim makes room without being evicted.
        victims = [victim for victim in preemption.victims if not victim.terminating]
        if not victims:
            return
        self._dependencies.metrics.victims.observe(len(preemption.victims))
        self._with_pending_victims[preemption.preemptor.uid] = None
        self._waiting.append(Preemption(preemption.preemptor, preemption.node_name, victims))
        self.signal.notify()

    def is_running_preemption(self, uid: str) -> bool:
        """Return whether pods are being evicted for this one, until the last victim is known to terminate."""
        if uid in self._with_pending_victims:
            return True
        last = self._last_victims.get(uid)
        if last is None:
            return False
        # Once the last victim is known to terminate, its deletion will wake the preemptor, which need not be kept out
        # any more.
        current = self._dependencies.pods.get(last.key)
        return current is not None and not current["metadata"].get("deletionTimestamp")

    def has_pending_victims(self, uid: str) -> bool:
        """Return whether more than one victim is left; the queue rechecks the preemptor's gate when that changes."""
        return uid in self._with_pending_victims

    def is_ready(self) -> bool:
        """Return whether a preemption waits."""
        return bool(self._waiting)

    def wake_at(self) -> None:
        """Return None: only `start` makes this worker ready."""

    async def step(self) -> None:
        """Execute the next preemptions, independently of each other."""
        batch = [self._waiting.popleft() for _ in range(min(self._parallelism, len(self._waiting)))]
        if len(batch) == 1:
            await self._run(batch[0])
            return
        async with asyncio.TaskGroup() as group:
            for preemption in batch:
                group.create_task(self._run(preemption))

    async def _run(self, preemption: Preemption) -> None:
        uid, failed = preemption.preemptor.uid, False
        try:
            await self._execute(preemption)
        except ApiError as error:
            _LOG.warning("preemption for pod %s: %s", preemption.preemptor.key, error)
            failed = True
        except Exception as error:
            self._dependencies.pods.bad.record_failure(self.name, "Pod", preemption.preemptor.key, error)
            failed = True
        finally:
            self._last_victims.pop(uid, None)
            self._mark_last_victim(uid)
        if failed:
            # After a failure no event may come, so that the preemptor is moved to the active queue directly.
            self._dependencies.activate(uid)

    async def _execute(self, preemption: Preemption) -> None:
        await self._clear_lower_nominations(preemption)
        # upstream: the gate of the preemptor opens before the last eviction, so that at least one deletion finds it
        # open and requeues the preemptor.
        *others, last = preemption.victims
        for victim in others:
            await self._evict(preemption, victim)
        self._last_victims[preemption.preemptor.uid] = last
        self._mark_last_victim(preemption.preemptor.uid)
        await self._evict(preemption, last)

    def _mark_last_victim(self, uid: str) -> None:
        if uid in self._with_pending_victims:
            del self._with_pending_victims[uid]
            self._dependencies.recheck_gate(uid)

    async def _clear_lower_nominations(self, preemption: Preemption) -> None:
        for pod in self._dependencies.nominator.nominated_pods_for_node(preemption.node_name):
            # Pods of lower priority will not fit beside the preemptor; without nomination they look for another node.
            if pod.priority < preemption.preemptor.priority:
                try:
                    await self._dependencies.writer.write(pod, nomination="")
                except ApiError as error:
                    _LOG.warning("clearing the nomination of pod %s: %s", pod.key, error)

    async def _evict(self, preemption: Preemption, victim: PodInfo) -> None:
        preemptor = preemption.preemptor
        note = f"Preempted by pod {preemptor.uid} on node {preemption.node_name}"
        # A victim that waits for permission is not on its node yet, so cancelling its binding is enough.
        if self._dependencies.cancel_binding(victim.uid, "preempted by DefaultPreemption"):
            note += " (in kube-scheduler memory)."
        elif not await self._delete_victim(preemptor, victim):
            return
        self._dependencies.recorder.record(
            victim.obj,
            NORMAL,
            "Preempted",
            note,
            action="Preempting",
            controller=preemptor.scheduler_name,
            related=preemptor.obj if self._dependencies.relate_events_to_preemptor else None,
        )

    async def _delete_victim(self, preemptor: PodInfo, victim: PodInfo) -> bool:
        """Set the DisruptionTarget condition and delete the victim; return False if it is deleted already."""
        message = f"{preemptor.scheduler_name}: preempting to accommodate a higher priority pod"
        try:
            await self._dependencies.writer.write(
                victim, PodCondition(DISRUPTION_TARGET, "True", PREEMPTION_BY_SCHEDULER, message)
            )
            await self._dependencies.client.delete("Pod", victim.key, DeleteOptions(uid=victim.uid))
        except (NotFound, Conflict):
            return False
        return True
