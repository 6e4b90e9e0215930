"""Event handlers: update the cache and the scheduling queue from watches.

upstream 1.36: pkg/scheduler/eventhandlers.go
"""

from collections.abc import Collection, Iterable
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import EventHandler, InformerFactory, ObjectChange
from mockkube.client.protocol import WatchEventType
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_finished
from mockkube.scheduler.cycle.binding_cycle import BindingCycle
from mockkube.scheduler.framework import scheduling_properties
from mockkube.scheduler.framework.cache import Cache
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import PodRequestCalculator
from mockkube.scheduler.queue.nominator import Nominator, PendingPodLister
from mockkube.scheduler.queue.scheduling_queue import SchedulingQueue

_HANDLED_SEPARATELY: Final = (
    EventResource.NODE,
    EventResource.ASSIGNED_POD,
    EventResource.UNSCHEDULED_POD,
    EventResource.WILDCARD,
)
_ACTIONS: Final = {
    WatchEventType.ADDED: ActionType.ADD,
    WatchEventType.MODIFIED: ActionType.UPDATE,
    WatchEventType.DELETED: ActionType.DELETE,
}


@dataclass(frozen=True, slots=True)
class EventHandlers:
    """Handlers for the watch events of all resources."""

    cache: Cache
    queue: SchedulingQueue
    nominator: Nominator
    binding_cycle: BindingCycle
    requests: PodRequestCalculator
    caps: Capabilities
    scheduler_names: Collection[str]
    """Scheduler names whose pods this scheduler is responsible for."""

    def register(self, informers: InformerFactory, resources: Iterable[EventResource]) -> None:
        """Subscribe to nodes, pods and every other resource that plugins register for."""
        informers.informer_for("Node").add_event_handler(self._on_node_event)
        informers.informer_for("Pod").add_event_handler(self._on_pod_event)
        # Sorted, so that subscriptions, and with them the order of events, are the same in each run.
        for resource in sorted(set(resources).difference(_HANDLED_SEPARATELY)):
            informers.informer_for(resource.value).add_event_handler(self._handler_for(resource))

    # Nodes and other objects

    def _on_node_event(self, change: ObjectChange) -> None:
        match change.type:
            case WatchEventType.ADDED:
                self.cache.set_node(change.object)
                self.queue.move_all_to_active_or_backoff_queue(
                    ClusterEvent(EventResource.NODE, ActionType.ADD, new=change.object)
                )
            case WatchEventType.DELETED:
                # Before the removal: hints may still look the node up.
                self.queue.move_all_to_active_or_backoff_queue(
                    ClusterEvent(EventResource.NODE, ActionType.DELETE, old=change.object)
                )
                self.cache.remove_node(change.object["metadata"]["name"])
            case _:
                assert change.old is not None, "a modified object has an old revision"
                self.cache.set_node(change.object)
                for event in scheduling_properties.node_scheduling_properties_change(
                    change.old, change.object, self.caps
                ):
                    self.queue.move_all_to_active_or_backoff_queue(event)

    def _handler_for(self, resource: EventResource) -> EventHandler:
        def handle(change: ObjectChange) -> None:
            deleted = change.type is WatchEventType.DELETED
            old, new = (change.object, None) if deleted else (change.old, change.object)
            self.queue.move_all_to_active_or_backoff_queue(ClusterEvent(resource, _ACTIONS[change.type], old, new))
            # PreBind plugins wait for such objects (a bound claim, an allocated device).
            self.binding_cycle.retry_waiting()

        return handle

    # Pods

    def _on_pod_event(self, change: ObjectChange) -> None:  # hot: several times per pod
        new = None if change.type is WatchEventType.DELETED else change.object
        old = change.object if change.type is WatchEventType.DELETED else change.old
        # A pod was deleted and recreated under the same name between two events: handle both.
        if old is not None and new is not None and _pod_uid(old) != _pod_uid(new):
            self._dispatch_pod(old, None)
            old = None
        self._dispatch_pod(_unless_finished(old), _unless_finished(new))
        self.binding_cycle.retry_waiting()

    def _dispatch_pod(self, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> None:
        """Dispatch one pod event; None means absent or finished."""
        if new is None:
            if old is not None:
                self._delete_pod(old)
        elif _is_assigned(new):
            if old is not None and _is_assigned(old):
                self._update_assigned_pod(old, new)
            else:
                self._add_assigned_pod(old, new)
        elif self._is_responsible_for(new):
            if old is None:
                self.queue.add(self._read_pod(new))
            else:
                self._update_unscheduled_pod(old, new)

    def _is_responsible_for(self, pod: ReadOnlyObject) -> bool:
        return pod["spec"].get("schedulerName", "default-scheduler") in self.scheduler_names

    def _read_pod(self, obj: ReadOnlyObject) -> PodInfo:
        return PodInfo(obj, self.cache.spec_values)

    def _add_assigned_pod(self, old: ReadOnlyObject | None, new: ReadOnlyObject) -> None:
        pod = self._read_pod(new)
        self.cache.add_pod(pod)
        self.queue.move_all_to_active_or_backoff_queue(
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD, new=new)
        )
        # A pod that was just bound leaves the queue and no longer counts as nominated.
        if old is not None:
            self.queue.delete(pod.uid)
            self.nominator.delete_nominated_pod(pod.uid)

    def _update_assigned_pod(self, old: ReadOnlyObject, new: ReadOnlyObject) -> None:
        before, pod = self.cache.get_pod(_pod_uid(new)) or self._read_pod(old), self._read_pod(new)
        self.cache.add_pod(pod)
        for event in scheduling_properties.pod_scheduling_properties_change(
            EventResource.ASSIGNED_POD, before, pod, self.requests, self.caps
        ):
            self.queue.move_all_to_active_or_backoff_queue(event)

    def _update_unscheduled_pod(self, old: ReadOnlyObject, new: ReadOnlyObject) -> None:
        before, pod = self._read_pod(old), self._read_pod(new)
        # Updates of an assumed pod are ignored: its binding is in progress and will replace this revision.
        if self.cache.is_assumed(pod.uid):
            if pod.terminating and not before.terminating:
                self._forget_assumed_pod(pod)
            return
        waiting = self.queue.get(pod.uid) is not None
        self.queue.update(
            before,
            pod,
            scheduling_properties.pod_scheduling_properties_change(
                EventResource.UNSCHEDULED_POD, before, pod, self.requests, self.caps
            ),
        )
        # A pod in flight is not in the queue; the scheduling cycle decides about its nomination.
        if waiting:
            self.nominator.update_nominated_pod(before, pod)
        if before.nominated_node and before.nominated_node != pod.nominated_node:
            self._release_nominated_node(before)

    def _delete_pod(self, old: ReadOnlyObject) -> None:
        uid = _pod_uid(old)
        if _is_assigned(old):
            self.cache.remove_pod(uid)
            self.queue.move_all_to_active_or_backoff_queue(
                ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, old=old)
            )
            return
        if not self._is_responsible_for(old):
            return
        pod = self._read_pod(old)
        self.queue.delete(uid)
        self.nominator.delete_nominated_pod(uid)
        if self.cache.is_assumed(uid):
            self._forget_assumed_pod(pod)
        elif pod.nominated_node:
            self._release_nominated_node(pod)

    def _forget_assumed_pod(self, pod: PodInfo) -> None:
        """Release the resources of an assumed pod that is deleted; its binding continues, and fails at the API."""
        assumed = self.cache.get_pod(pod.uid)
        self.cache.forget_pod(pod.uid)
        if assumed is not None:
            self.queue.move_all_to_active_or_backoff_queue(
                ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, old=assumed.obj)
            )

    def _release_nominated_node(self, pod: PodInfo) -> None:
        """Wake pods that had left resources free for a nominated pod."""
        event = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, old=pod.obj)
        # Only pods of at most its priority had to respect the nomination.
        self.queue.move_all_to_active_or_backoff_queue(event, lambda other: other.priority <= pod.priority)


def _pod_uid(pod: ReadOnlyObject) -> str:
    uid: str = pod["metadata"].get("uid", "")
    return uid


def _is_assigned(pod: ReadOnlyObject) -> bool:
    return bool(pod["spec"].get("nodeName"))


def _unless_finished(pod: ReadOnlyObject | None) -> ReadOnlyObject | None:
    """Return a pod unless it has finished: to the scheduler a finished pod does not exist."""
    return None if pod is None or is_finished(pod) else pod


def pending_pod_lister(informers: InformerFactory) -> PendingPodLister:
    """Return a function that finds the current revision of a pod; None if it is deleted or has a node."""
    pods = informers.informer_for("Pod")

    def latest(pod: PodInfo) -> PodInfo | None:
        current = pods.get(pod.key)
        return None if current is None or _is_assigned(current) else pod

    return latest
