"""Scheduling queue: active, backoff and unschedulable pods.

A rejected pod waits among the unschedulable pods until an event helps one of the plugins that rejected it, as their
queueing hints say; then it becomes active, after a backoff that grows with each rejection. A pod whose attempt ended
with an error only backs off. Nothing here waits: `next_flush_at` returns when time alone moves a pod.

upstream 1.36: pkg/scheduler/backend/queue/scheduling_queue.go
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Signal
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from mockkube.scheduler.framework.interface import PreEnqueuePlugin, SortablePod
from mockkube.scheduler.framework.metrics import Labels, SchedulerMetrics
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.queue.heap import Heap
from mockkube.scheduler.queue.in_flight_events import InFlightEvents
from mockkube.scheduler.queue.queued_pod_info import Backoff, QueuedPodInfo
from mockkube.scheduler.queue.queueing_hints import QueueingHints, QueueingStrategy, event_label
from mockkube.scheduler.queue.unschedulable_pods import UnschedulablePods, WaitReason

# A pod is tried again after so long without an event. upstream: DefaultPodMaxInUnschedulablePodsDuration
UNSCHEDULABLE_SECONDS_MAX: Final = 300.0
# Interval of the check for such pods.
FLUSH_SECONDS: Final = 30.0

SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"
BACKOFF_COMPLETE: Final = "BackoffComplete"
POP_FROM_BACKOFF: Final = "PopFromBackoffQ"
FORCE_ACTIVATE: Final = "ForceActivate"
TIMEOUT_EVENT: Final = ClusterEvent(EventResource.WILDCARD, ActionType.UPDATE, label="UnschedulableTimeout")
_ACTIVATION_EVENT: Final = ClusterEvent(EventResource.WILDCARD, ActionType.UPDATE, label=FORCE_ACTIVATE)
_POD_ADDED: Final = event_label(ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.ADD))
_POD_UPDATED: Final = event_label(ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.UPDATE))


@dataclass(frozen=True, slots=True)
class SchedulingQueueConfig:
    """Configuration of the queue; profiles are named by the scheduler name of their pods."""

    sort_key: Callable[[SortablePod], tuple[Any, ...]]
    pre_enqueue_plugins: Mapping[str, Sequence[PreEnqueuePlugin]]
    hints: Mapping[str, QueueingHints]
    backoff: Backoff = field(default_factory=Backoff)
    pop_from_backoff: bool = True
    """Whether pods in backoff are popped when the active queue is empty."""
    unschedulable_seconds_max: float = UNSCHEDULABLE_SECONDS_MAX


class SchedulingQueue:
    """Pods without a node that are not being scheduled."""

    def __init__(
        self,
        config: SchedulingQueueConfig,
        clock: Clock,
        metrics: SchedulerMetrics,
        nominate: Callable[[PodInfo], None],
    ) -> None:
        self._config, self._clock, self._metrics, self._nominate = config, clock, metrics, nominate
        self._active: Heap[QueuedPodInfo] = Heap()
        self._backoff: Heap[QueuedPodInfo] = Heap()
        self._error_backoff: Heap[QueuedPodInfo] = Heap()
        self._unschedulable = UnschedulablePods()
        self._in_flight = InFlightEvents()
        self._next_flush = clock.monotonic() + FLUSH_SECONDS
        # Notified when there may be a pod to pop.
        self.signal = Signal()
        # Called with a pod that a plugin cannot read; the pod stays out of the active queue.
        self.on_plugin_error: Callable[[PodInfo, Exception], None] = lambda pod, error: None
        metrics.add_gauge("scheduler_pending_pods", "Pods waiting, by queue.", ("queue",), self._count_pending)
        text = "Rejected pods, by each plugin that rejected them."
        metrics.add_gauge("scheduler_unschedulable_pods", text, ("plugin", "profile"), self._count_unschedulable)

    @property
    def resources(self) -> set[EventResource]:
        """Resources that plugins registered for."""
        return {resource for hints in self._config.hints.values() for resource in hints.resources}

    # Pop and requeue

    def is_ready(self) -> bool:
        """Return whether `pop` has something to do."""
        return bool(self._active) or bool(self._backoff and self._config.pop_from_backoff) or self._is_due()

    def next_flush_at(self) -> float | None:
        """Return when, on the clock's `monotonic`, time alone moves a pod; None if it does not."""
        ends = [self._config.backoff.ends_at(first) for heap in self._backoffs if (first := heap.peek()) is not None]
        moments = [self._clock.monotonic() + max(end - self._now(), 0.0) for end in ends]
        if self._unschedulable:
            moments.append(self._next_flush)
        return min(moments, default=None)

    def pop(self) -> QueuedPodInfo | None:
        """Pop the next pod to schedule; it is in flight until `done` or until it is added again."""
        self._flush_due()
        queued = self._active.pop()
        if queued is None and self._config.pop_from_backoff:
            # Only rejected pods, not those with errors: retrying a failing API server at full speed would not help.
            queued = self._backoff.pop()
            if queued is not None:
                self._metrics.queue_incoming_pods.add("active", POP_FROM_BACKOFF)
        if queued is not None:
            queued.attempts += 1
            self._in_flight.add_pod(queued.pod.uid)
        return queued

    def done(self, uid: str) -> None:
        """End the flight of a pod that does not return."""
        self._in_flight.done(uid)

    def add_unschedulable_if_not_present(self, queued: QueuedPodInfo) -> None:
        """Add a pod that was not scheduled, to wait for an event, or for its backoff if one occurred in flight."""
        uid = queued.pod.uid
        if uid not in self._unschedulable and uid not in self._active and not self._in_backoff(uid):
            if queued.rejector_plugins:
                queued.unschedulable_count, queued.consecutive_errors_count = queued.unschedulable_count + 1, 0
            else:
                queued.consecutive_errors_count += 1
            queued.queued_at, queued.flushed_at = self._now(), None
            self._requeue_with_strategy(queued, self._determine_in_flight_strategy(queued), SCHEDULE_ATTEMPT_FAILURE)
        self._in_flight.done(uid)

    def _determine_in_flight_strategy(self, queued: QueuedPodInfo) -> QueueingStrategy:
        """Return what the events during the pod's flight mean for it."""
        if not queued.rejector_plugins or queued.pod.uid not in self._in_flight:
            return QueueingStrategy.AFTER_BACKOFF
        hints = self._config.hints[queued.pod.scheduler_name]
        return max(
            (hints.is_pod_worth_requeuing(queued, event) for event in self._in_flight.events_since_pop(queued.pod.uid)),
            default=QueueingStrategy.SKIP,
        )

    # Events of waiting pods

    def add(self, pod: PodInfo) -> None:
        """Add a new pod."""
        self._move_to_active(QueuedPodInfo(pod, self._now()), _POD_ADDED)

    def update(self, old: PodInfo, pod: PodInfo, events: Sequence[ClusterEvent]) -> None:
        """Replace a pod by another revision; `events` say what has changed."""
        if pod.uid in self._in_flight:
            # The pod is not in the queue; its changes count when it returns.
            for event in events:
                self._in_flight.add_event(event, pod.uid)
            return
        queued = self._active.get(pod.uid)
        if queued is not None:
            queued.pod = pod
            self._active.put(pod.uid, self._sort_key(queued), queued)
        elif (queued := self._backoff.get(pod.uid) or self._error_backoff.get(pod.uid)) is not None:
            queued.pod = pod
            # Stays in backoff: an update must not shorten it.
            self._put_in_backoff(queued)
        elif (queued := self._unschedulable.get(pod.uid)) is not None:
            queued.pod = pod
            self._requeue_updated(queued, events)
        else:
            self._move_to_active(QueuedPodInfo(pod, self._now()), _POD_UPDATED)

    def _requeue_updated(self, queued: QueuedPodInfo, events: Iterable[ClusterEvent]) -> None:
        hints = self._config.hints[queued.pod.scheduler_name]
        for event in events:
            self._requeue_with_strategy(queued, hints.is_pod_worth_requeuing(queued, event), event_label(event))
            if queued.pod.uid not in self._unschedulable:
                return

    def delete(self, uid: str) -> None:
        """Delete a pod that is deleted or has a node."""
        self._active.remove(uid)
        self._backoff.remove(uid)
        self._error_backoff.remove(uid)
        self._unschedulable.delete(uid)

    def get(self, uid: str) -> QueuedPodInfo | None:
        """Return a pod in the queue."""
        heaps = (self._active, self._backoff, self._error_backoff)
        return self._unschedulable.get(uid) or next((queued for heap in heaps if (queued := heap.get(uid))), None)

    def activate(self, uid: str) -> None:
        """Move a pod to the active queue without regard to its rejections, a pod in flight when it returns."""
        queued = self._unschedulable.get(uid) or self._backoff.remove(uid) or self._error_backoff.remove(uid)
        if queued is None:
            self._in_flight.add_event(_ACTIVATION_EVENT, uid)
        else:
            self._move_to_active(queued, FORCE_ACTIVATE)

    def recheck_gate(self, uid: str) -> None:
        """Recheck the gate of a pod on the next event: it is no longer certain to reject the pod."""
        queued = self._unschedulable.get(uid)
        if queued is not None:
            self._unschedulable.put(queued)

    # Cluster events

    def move_all_to_active_or_backoff_queue(
        self, event: ClusterEvent, only: Callable[[PodInfo], bool] = lambda pod: True
    ) -> None:
        """Move the pods that an event helps; `only` restricts which pods are considered."""
        if not any(hints.matches_any_plugin(event) for hints in self._config.hints.values()):
            return
        if self._unschedulable:
            self._move_pods([queued for queued in self._possibly_helped(event) if only(queued.pod)], event)
        self._in_flight.add_event(event)

    def _possibly_helped(self, event: ClusterEvent) -> Sequence[QueuedPodInfo]:
        """Return the pods that an event may help, without calling hints."""
        groups = self._unschedulable.by_reason()
        groups_of_pods = [list(group.values()) for reason, group in groups if self._may_help(reason, event)]
        # One group is in order of arrival already.
        if len(groups_of_pods) == 1:
            return groups_of_pods[0]
        return self._unschedulable.sort_by_arrival([queued for group in groups_of_pods for queued in group])

    def _may_help(self, reason: WaitReason, event: ClusterEvent) -> bool:
        """Return whether the plugin that gates these pods, or one that rejected them, registered for the event."""
        if event.resource is EventResource.WILDCARD:
            return True
        hints = self._config.hints[reason.profile]
        if reason.gating_plugin:
            return not reason.is_certain and hints.matches_plugin(reason.gating_plugin, event)
        return not reason.rejector_plugins or any(hints.matches_plugin(name, event) for name in reason.rejector_plugins)

    def _find_gate(self, profile: str, name: str) -> PreEnqueuePlugin | None:
        return next((plugin for plugin in self._config.pre_enqueue_plugins[profile] if plugin.name == name), None)

    def _move_pods(self, pods: Iterable[QueuedPodInfo], event: ClusterEvent) -> None:
        for queued in pods:
            # A gated pod is moved only after its gate opened; hints of the plugins that rejected it earlier do not
            # count.
            if queued.gating_plugin and event.resource is not EventResource.WILDCARD and self._is_still_gated(queued):
                continue
            strategy = self._config.hints[queued.pod.scheduler_name].is_pod_worth_requeuing(queued, event)
            if strategy is not QueueingStrategy.SKIP:
                self._requeue_with_strategy(queued, strategy, event_label(event))

    # Time

    def _flush_due(self) -> None:
        now = self._now()
        for heap in self._backoffs:
            while (first := heap.peek()) is not None and not self._config.backoff.is_backing_off(first, now):
                heap.pop()
                # With pop-from-backoff, gates ran before the pod entered the backoff queue.
                self._move_to_active(first, BACKOFF_COMPLETE, gates_passed=self._config.pop_from_backoff)
        if self._clock.monotonic() >= self._next_flush:
            self._flush_unschedulable(now)

    def _flush_unschedulable(self, now: float) -> None:
        # Keeps the phase of the interval when the clock jumps over several of them.
        overdue = -(self._clock.monotonic() - self._next_flush) % FLUSH_SECONDS
        self._next_flush = self._clock.monotonic() + (overdue or FLUSH_SECONDS)
        late = self._unschedulable.sort_by_arrival(
            [queued for queued in self._unschedulable if self._is_late(queued, now)]
        )
        for queued in late:
            queued.flushed_at = now
        self._move_pods(late, TIMEOUT_EVENT)

    def _is_late(self, queued: QueuedPodInfo, now: float) -> bool:
        return now - max(queued.queued_at, queued.flushed_at or 0.0) > self._config.unschedulable_seconds_max

    def _is_due(self) -> bool:
        moment = self.next_flush_at()
        return moment is not None and moment <= self._clock.monotonic()

    # Moves between queues

    @property
    def _backoffs(self) -> tuple[Heap[QueuedPodInfo], Heap[QueuedPodInfo]]:
        return self._backoff, self._error_backoff

    def _requeue_with_strategy(self, queued: QueuedPodInfo, strategy: QueueingStrategy, event: str) -> None:
        if strategy is QueueingStrategy.SKIP:
            self._move_to_unschedulable(queued, event)
        elif strategy is QueueingStrategy.AFTER_BACKOFF and self._config.backoff.is_backing_off(queued, self._now()):
            self._move_to_backoff(queued, event)
        else:
            self._move_to_active(queued, event)

    def _move_to_active(self, queued: QueuedPodInfo, event: str, *, gates_passed: bool = False) -> None:
        """Move a pod to the active queue unless a PreEnqueue plugin rejects it.

        With `gates_passed` these plugins are skipped.
        """
        if not gates_passed and not self._run_pre_enqueue_plugins(queued):
            self._move_to_unschedulable(queued, event)
            return
        if queued.initial_attempt_at is None:
            queued.initial_attempt_at = self._now()
        self._unschedulable.delete(queued.pod.uid)
        self._active.put(queued.pod.uid, self._sort_key(queued), queued)
        self._metrics.queue_incoming_pods.add("active", event)
        # Only new revisions may carry a nomination in their status that the scheduler does not know.
        if event in (_POD_ADDED, _POD_UPDATED):
            self._nominate(queued.pod)
        self.signal.notify()

    def _move_to_backoff(self, queued: QueuedPodInfo, event: str) -> None:
        if self._config.pop_from_backoff and not self._run_pre_enqueue_plugins(queued):
            self._move_to_unschedulable(queued, event)
            return
        self._unschedulable.delete(queued.pod.uid)
        self._put_in_backoff(queued)
        self._metrics.queue_incoming_pods.add("backoff", event)
        self.signal.notify()

    def _put_in_backoff(self, queued: QueuedPodInfo) -> None:
        # Pods with errors have a heap of their own, from which `pop` does not take early.
        heap = self._backoff if queued.rejector_plugins else self._error_backoff
        heap.put(queued.pod.uid, (self._config.backoff.window_of_end(queued), self._sort_key(queued)), queued)

    def _move_to_unschedulable(self, queued: QueuedPodInfo, event: str) -> None:
        if queued.pod.uid not in self._unschedulable:
            self._metrics.queue_incoming_pods.add("unschedulable", event)
        gate = self._find_gate(queued.pod.scheduler_name, queued.gating_plugin) if queued.gating_plugin else None
        self._unschedulable.put(queued, is_certain=gate is not None and gate.is_certain_to_reject(queued.pod))

    def _run_pre_enqueue_plugins(self, queued: QueuedPodInfo) -> bool:
        plugins = self._config.pre_enqueue_plugins[queued.pod.scheduler_name]
        if queued.gating_plugin:  # that plugin most likely still rejects it
            plugins = sorted(plugins, key=lambda one: one.name != queued.gating_plugin)
        for plugin in plugins:
            if not self._run_pre_enqueue_plugin(plugin, queued.pod):
                queued.unschedulable_plugins.add(plugin.name)
                queued.gating_plugin = plugin.name
                queued.flushed_at = None
                return False
        queued.gating_plugin = ""
        return True

    def _is_still_gated(self, queued: QueuedPodInfo) -> bool:
        """Return whether the plugin that gated the pod still rejects it."""
        gate = self._find_gate(queued.pod.scheduler_name, queued.gating_plugin)
        return gate is not None and not self._run_pre_enqueue_plugin(gate, queued.pod)

    def _run_pre_enqueue_plugin(self, plugin: PreEnqueuePlugin, pod: PodInfo) -> bool:
        try:
            return plugin.pre_enqueue(pod).is_success
        except Exception as error:
            # An unreadable pod must not end the worker; it stays gated until it changes.
            self.on_plugin_error(pod, error)
            return False

    # Queries

    def _in_backoff(self, uid: str) -> bool:
        return uid in self._backoff or uid in self._error_backoff

    def _sort_key(self, queued: QueuedPodInfo) -> tuple[Any, ...]:
        return self._config.sort_key(SortablePod(queued.pod, queued.queued_at))

    def _now(self) -> float:
        return self._clock.now().timestamp()

    def _count_pending(self) -> Mapping[Labels, float]:
        gated = sum(1 for queued in self._unschedulable if queued.gating_plugin)
        return {
            ("active",): len(self._active),
            ("backoff",): len(self._backoff) + len(self._error_backoff),
            ("unschedulable",): len(self._unschedulable) - gated,
            ("gated",): gated,
        }

    def _count_unschedulable(self) -> Mapping[Labels, float]:
        counts: dict[Labels, float] = {}
        for waiting in (self._active, self._backoff, self._error_backoff, self._unschedulable):
            for queued in waiting:
                for plugin in queued.rejector_plugins:
                    labels = (plugin, queued.pod.scheduler_name)
                    counts[labels] = counts.get(labels, 0) + 1
        return counts
