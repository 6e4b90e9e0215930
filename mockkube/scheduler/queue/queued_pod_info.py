"""QueuedPodInfo: a pod in the queue with its attempts and rejections; and how long it backs off."""

from dataclasses import field
from math import floor

from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.pod_info import PodInfo


@dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """Pod in the queue with its history. Times are seconds of the clock's `now`."""

    pod: PodInfo
    queued_at: float
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors_count: int = 0
    """Internal errors since the last rejection."""
    initial_attempt_at: float | None = None
    flushed_at: float | None = None
    unschedulable_plugins: set[str] = field(default_factory=set)
    pending_plugins: set[str] = field(default_factory=set)
    """Plugins that wait for something outside the scheduler."""
    gating_plugin: str = ""
    """PreEnqueue plugin that keeps the pod out of the active queue."""

    @property
    def rejector_plugins(self) -> set[str]:
        """All plugins that rejected the pod."""
        return self.unschedulable_plugins | self.pending_plugins


@dataclass(frozen=True, slots=True)
class Backoff:
    """Backoff between attempts, doubled each time, optionally aligned to whole seconds."""

    initial_seconds: float = 1.0
    seconds_max: float = 10.0
    aligned: bool = True
    """Whether all backoffs that end within one second end together."""

    def align(self, moment: float) -> float:
        """Return the start of the second that contains a moment."""
        return floor(moment) if self.aligned else moment

    def window_of_end(self, queued: QueuedPodInfo) -> float:
        """Return the second in which the pod's backoff ends; 0 if there is none."""
        # upstream 1.36: errors have a count of their own, so that a flaky API server does not add to the rejections.
        count = queued.consecutive_errors_count or queued.unschedulable_count
        if not count or not self.seconds_max:
            return 0.0
        # The exponent is bounded before the maximum applies: a pod may be rejected for months.
        seconds = min(self.initial_seconds * 2.0 ** min(count - 1, 60), self.seconds_max)
        return self.align(queued.queued_at + seconds)

    def is_backing_off(self, queued: QueuedPodInfo, now: float) -> bool:
        """Return whether the pod is backing off; the second in which its backoff ends is part of it."""
        # upstream 1.36: pkg/scheduler/backend/queue/backoff_queue.go
        end = self.window_of_end(queued)
        # differs: without windows the moment of the end is over, or nothing would end a backoff in virtual time.
        return end >= self.align(now) if self.aligned else end > now

    def ends_at(self, queued: QueuedPodInfo) -> float:
        """Return the moment from which the pod is not backing off any more."""
        # Upstream completes backoffs by whole windows, in which pods are sorted by priority again.
        return self.window_of_end(queued) + 1.0 if self.aligned else self.window_of_end(queued)
