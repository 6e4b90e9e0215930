"""Queueing hints: which events make a rejected pod worth another attempt.

upstream 1.36: pkg/scheduler/backend/queue/scheduling_queue.go, pkg/scheduler/framework/types.go
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import Final

from mockkube.runtime.clock import Clock
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from mockkube.scheduler.framework.interface import Plugin
from mockkube.scheduler.framework.metrics import SchedulerMetrics
from mockkube.scheduler.queue.queued_pod_info import QueuedPodInfo

_LOG: Final = logging.getLogger("mockkube.scheduler")
_NOT_UPDATES: Final = ActionType.ADD | ActionType.DELETE
_TAINT_ACTIONS: Final = ActionType.NODE_TAINT | ActionType.UPDATE
_ANY_EVENT: Final = (ClusterEventWithHint(EventResource.WILDCARD, ~ActionType(0)),)


class QueueingStrategy(IntEnum):
    """Queue to which an event moves a rejected pod."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


def match_event(registration: ClusterEventWithHint, event: ClusterEvent) -> bool:
    """Return whether an event is one that a plugin registered for."""
    if registration.resource is EventResource.WILDCARD:
        return True
    if registration.resource is not event.resource:
        return False
    # Registered for any update: also for the updates that have a name of their own.
    any_update = ActionType.UPDATE in registration.action_types and not event.action_type & _NOT_UPDATES
    return any_update or bool(registration.action_types & event.action_type)


def event_label(event: ClusterEvent) -> str:
    """Return the label of an event in metrics."""
    return event.label or _event_label(event.resource, event.action_type.value)


@cache
def _event_label(resource: EventResource, action: int) -> str:
    return f"{_RESOURCE_LABELS.get(resource, resource)}{_ACTION_LABELS[ActionType(action)]}"


_RESOURCE_LABELS: Final = {
    EventResource.CSI_NODE: "storage.k8s.io/CSINode",
    EventResource.CSI_DRIVER: "storage.k8s.io/CSIDriver",
    EventResource.CSI_CAPACITY: "storage.k8s.io/CSIStorageCapacity",
    EventResource.STORAGE_CLASS: "storage.k8s.io/StorageClass",
    EventResource.VOLUME_ATTACHMENT: "storage.k8s.io/VolumeAttachment",
    EventResource.RESOURCE_CLAIM: "resource.k8s.io/ResourceClaim",
    EventResource.RESOURCE_SLICE: "resource.k8s.io/ResourceSlice",
    EventResource.DEVICE_CLASS: "resource.k8s.io/DeviceClass",
}
_ACTION_LABELS: Final = {
    ActionType.ADD: "Add",
    ActionType.DELETE: "Delete",
    ActionType.UPDATE: "Update",
    ActionType.NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    ActionType.NODE_LABEL: "UpdateNodeLabel",
    ActionType.NODE_TAINT: "UpdateNodeTaint",
    ActionType.NODE_CONDITION: "UpdateNodeCondition",
    ActionType.NODE_ANNOTATION: "UpdateNodeAnnotation",
    ActionType.NODE_DECLARED_FEATURE: "UpdateNodeDeclaredFeature",
    ActionType.POD_LABEL: "UpdatePodLabel",
    ActionType.POD_SCALE_DOWN: "UpdatePodScaleDown",
    ActionType.POD_TOLERATION: "UpdatePodToleration",
    ActionType.POD_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    ActionType.POD_GENERATED_CLAIM: "UpdatePodGeneratedResourceClaim",
}


class QueueingHints:
    """Registered events of one profile's plugins.

    Without `hints_enabled` hints are not called, and every registered event requeues the pod.
    """

    def __init__(
        self, plugins: Iterable[Plugin], clock: Clock, metrics: SchedulerMetrics, *, hints_enabled: bool = True
    ) -> None:
        self._registered = {plugin.name: _events_of(plugin) for plugin in plugins}
        self._clock, self._metrics, self._hints_enabled = clock, metrics, hints_enabled
        # Registrations that match an event, by plugin: computed once per kind of event.
        self._by_event: dict[tuple[EventResource, int], Mapping[str, Sequence[ClusterEventWithHint]]] = {}

    @property
    def resources(self) -> set[EventResource]:
        """Resources that plugins registered for."""
        named = {registration.resource for registrations in self._registered.values() for registration in registrations}
        return (
            named | set(EventResource) - {EventResource.DEVICE_TAINT_RULE} if EventResource.WILDCARD in named else named
        )

    def matches_any_plugin(self, event: ClusterEvent) -> bool:
        """Return whether any plugin registered for the event."""
        if event.resource is EventResource.WILDCARD:
            return True
        return bool(self._registrations_for(event))

    def matches_plugin(self, plugin: str, event: ClusterEvent) -> bool:
        """Return whether one plugin registered for the event."""
        return bool(self._registrations_of(plugin, event))

    def _registrations_of(self, plugin: str, event: ClusterEvent) -> Sequence[ClusterEventWithHint]:
        # A rejection by a plugin that is not known here may be resolved by any event.
        return self._registrations_for(event).get(plugin, ()) if plugin in self._registered else _ANY_EVENT

    def _registrations_for(
        self, event: ClusterEvent
    ) -> Mapping[str, Sequence[ClusterEventWithHint]]:  # hot: per event, per waiting pod
        kind = (event.resource, event.action_type.value)
        registered = self._by_event.get(kind)
        if registered is None:
            matching = {
                plugin: [registration for registration in registrations if match_event(registration, event)]
                for plugin, registrations in self._registered.items()
            }
            registered = self._by_event[kind] = {plugin: some for plugin, some in matching.items() if some}
        return registered

    def is_pod_worth_requeuing(self, queued: QueuedPodInfo, event: ClusterEvent) -> QueueingStrategy:
        """Return what an event means for a rejected pod."""
        rejectors = queued.rejector_plugins
        # The pod failed with an error, which any event may have resolved.
        if not rejectors:
            return QueueingStrategy.AFTER_BACKOFF
        if event.resource is EventResource.WILDCARD:
            return QueueingStrategy.AFTER_BACKOFF
        strategy = QueueingStrategy.SKIP
        for name in sorted(rejectors):
            if not self._any_hint_matches(name, queued, event):
                continue
            # A pod that waited for something outside has not been rejected, so it skips the backoff.
            if name in queued.pending_plugins:
                return QueueingStrategy.IMMEDIATELY
            strategy = QueueingStrategy.AFTER_BACKOFF
            # No plugin left whose hint could lead to the active queue.
            if not queued.pending_plugins:
                return strategy
        return strategy

    def _any_hint_matches(self, plugin: str, queued: QueuedPodInfo, event: ClusterEvent) -> bool:
        return any(
            self._call_hint(plugin, registration, queued, event)
            for registration in self._registrations_of(plugin, event)
        )

    def _call_hint(
        self, plugin: str, registration: ClusterEventWithHint, queued: QueuedPodInfo, event: ClusterEvent
    ) -> bool:
        if registration.hint is None or not self._hints_enabled:
            return True
        start = self._clock.monotonic()
        try:
            helps = registration.hint(queued.pod, event)
            outcome = "Queue" if helps else "QueueSkip"
        except Exception:  # a failing hint must not keep the pod waiting
            _LOG.exception("hint of %s for pod %s", plugin, queued.pod.key)
            helps, outcome = True, "Error"
        self._metrics.hint_seconds.observe(self._clock.monotonic() - start, plugin, event_label(event), outcome)
        return helps


def _events_of(plugin: Plugin) -> Sequence[ClusterEventWithHint]:
    registrations = tuple(plugin.events_to_register())
    of_nodes = [
        registration.action_types for registration in registrations if registration.resource is EventResource.NODE
    ]
    # upstream 1.36: node additions may be missed while a node is tainted during its registration, so a plugin that
    # registers for them is registered for changes of taints, too.
    if any(ActionType.ADD in one for one in of_nodes) and not any(one & _TAINT_ACTIONS for one in of_nodes):
        registrations = (*registrations, ClusterEventWithHint(EventResource.NODE, ActionType.NODE_TAINT))
    return registrations or _ANY_EVENT
