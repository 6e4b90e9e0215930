"""Failure handler: requeue a pod that was not scheduled, write its condition and nomination, record an event.

upstream 1.36: pkg/scheduler/schedule_one.go (handleSchedulingFailure)
"""

import logging
from typing import Final

from mockkube.api.errors import ApiError
from mockkube.client.events import WARNING
from mockkube.client.informer import Informer
from mockkube.client.series_recorder import SeriesRecorder
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.scheduler.cycle.scheduling_algorithm import SchedulingError
from mockkube.scheduler.framework.fit_error import FitError
from mockkube.scheduler.framework.metrics import SchedulerMetrics
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_status_writer import PodCondition, PodStatusWriter
from mockkube.scheduler.queue.nominator import Nominator
from mockkube.scheduler.queue.queued_pod_info import QueuedPodInfo
from mockkube.scheduler.queue.scheduling_queue import SchedulingQueue

_LOG: Final = logging.getLogger("mockkube.scheduler")
_NOTE_BYTES_MAX: Final = 1024
_TRUNCATION_MARK: Final = " ..."


@dataclass(frozen=True, slots=True)
class FailureHandler:
    """Handles pods that were not scheduled."""

    pods: Informer
    queue: SchedulingQueue
    nominator: Nominator
    writer: PodStatusWriter
    recorder: SeriesRecorder
    metrics: SchedulerMetrics
    clock: Clock

    async def handle(
        self, queued: QueuedPodInfo, outcome: FitError | SchedulingError, *, nomination: str | None, started: float
    ) -> None:
        """Requeue the pod and report why; an empty `nomination` clears it, None keeps it."""
        self._record_metrics(queued, outcome, started)
        queued.unschedulable_plugins, queued.pending_plugins = set(), set()
        if isinstance(outcome, FitError):
            queued.unschedulable_plugins |= outcome.diagnosis.unschedulable_plugins
            queued.pending_plugins |= outcome.diagnosis.pending_plugins
        else:
            _LOG.warning("scheduling pod %s: %s", queued.pod.key, outcome.message)
        if not self._requeue(queued):
            return
        # After requeueing, as upstream: the nominator refuses pods that are gone by now.
        self.nominator.add_nominated_pod(queued.pod, nomination)
        await self._report(queued.pod, outcome, nomination)

    def _requeue(self, queued: QueuedPodInfo) -> bool:
        """Requeue the current revision of the pod; return False if another pod has taken its name."""
        pod = queued.pod
        current = self.pods.get(pod.key)
        # The pod was deleted or bound meanwhile. Upstream reports the failure nevertheless.
        if current is None or current["spec"].get("nodeName"):
            self.queue.done(pod.uid)
        elif current["metadata"].get("uid") != pod.uid:
            self.queue.done(pod.uid)
            return False
        else:
            if current is not pod.obj:
                queued.pod = PodInfo(current)
            self.queue.add_unschedulable_if_not_present(queued)
        return True

    async def _report(self, pod: PodInfo, outcome: FitError | SchedulingError, nomination: str | None) -> None:
        is_fit_error, message = isinstance(outcome, FitError), outcome.message
        self.recorder.record(
            pod.obj,
            WARNING,
            "FailedScheduling",
            truncate_message(message),
            action="Scheduling",
            controller=pod.scheduler_name,
        )
        reason = "Unschedulable" if is_fit_error else "SchedulerError"
        condition = PodCondition("PodScheduled", "False", reason, message)
        try:
            await self.writer.write(pod, condition, nomination)
        except ApiError as error:
            _LOG.warning("updating the status of pod %s: %s", pod.key, error)
        # A status that cannot be read stays as it is; the pod is queued already.
        except Exception as error:
            self.pods.bad.record_failure("scheduler", "Pod", pod.key, error)

    def _record_metrics(self, queued: QueuedPodInfo, outcome: FitError | SchedulingError, started: float) -> None:
        result = "unschedulable" if isinstance(outcome, FitError) else "error"
        profile = queued.pod.scheduler_name
        self.metrics.attempts.add(result, profile)
        self.metrics.attempt_seconds.observe(self.clock.monotonic() - started, result, profile)


def truncate_message(message: str) -> str:
    """Truncate a message to the length that the note of an event may have."""
    data = message.encode()
    if len(data) <= _NOTE_BYTES_MAX:
        return message
    # The limit is in bytes, so that a character may be cut in two; its rest is dropped.
    return data[: _NOTE_BYTES_MAX - len(_TRUNCATION_MARK)].decode(errors="ignore") + _TRUNCATION_MARK
