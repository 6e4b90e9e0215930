"""Queueing hints: which events make a rejected pod worth another attempt.

upstream 1.36: pkg/scheduler/backend/queue/scheduling_queue.go, pkg/scheduler/framework/types.go
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import Final

from mockkube.runtime.clock import Clock
from mockkube.scheduler.framework.events import Action, ClusterEvent, ClusterEventWithHint, Subject
from mockkube.scheduler.framework.interface import Plugin
from mockkube.scheduler.metrics import Metrics
from mockkube.scheduler.queue.queued_pod_info import QueuedPodInfo

_LOG: Final = logging.getLogger("mockkube.scheduler")
_NOT_UPDATES: Final = Action.ADD | Action.DELETE
_TAINT_ACTIONS: Final = Action.NODE_TAINT | Action.UPDATE
_ANY_EVENT: Final = (ClusterEventWithHint(Subject.WILDCARD, ~Action(0)),)


class QueueingStrategy(IntEnum):
    """Queue to which an event moves a rejected pod."""

    NOTHING = 0
    AFTER_BACKOFF = 1
    AT_ONCE = 2


def matches(interest: ClusterEventWithHint, event: ClusterEvent) -> bool:
    """Return whether an event is one that a plugin registered for."""
    if interest.subject is Subject.WILDCARD:
        return True
    if interest.subject is not event.subject:
        return False
    # Registered for any update: also for the updates that have a name of their own.
    any_update = Action.UPDATE in interest.actions and not event.action & _NOT_UPDATES
    return any_update or bool(interest.actions & event.action)


def label(event: ClusterEvent) -> str:
    """Return the label of an event in metrics."""
    return event.label or _event_label(event.subject, event.action.value)


@cache
def _event_label(subject: Subject, action: int) -> str:
    return f"{_RESOURCE_LABELS.get(subject, subject)}{_ACTION_LABELS[Action(action)]}"


_RESOURCE_LABELS: Final = {
    Subject.CSI_NODE: "storage.k8s.io/CSINode",
    Subject.CSI_DRIVER: "storage.k8s.io/CSIDriver",
    Subject.CSI_CAPACITY: "storage.k8s.io/CSIStorageCapacity",
    Subject.STORAGE_CLASS: "storage.k8s.io/StorageClass",
    Subject.VOLUME_ATTACHMENT: "storage.k8s.io/VolumeAttachment",
    Subject.RESOURCE_CLAIM: "resource.k8s.io/ResourceClaim",
    Subject.RESOURCE_SLICE: "resource.k8s.io/ResourceSlice",
    Subject.DEVICE_CLASS: "resource.k8s.io/DeviceClass",
}
_ACTION_LABELS: Final = {
    Action.ADD: "Add",
    Action.DELETE: "Delete",
    Action.UPDATE: "Update",
    Action.NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    Action.NODE_LABEL: "UpdateNodeLabel",
    Action.NODE_TAINT: "UpdateNodeTaint",
    Action.NODE_CONDITION: "UpdateNodeCondition",
    Action.NODE_ANNOTATION: "UpdateNodeAnnotation",
    Action.NODE_DECLARED_FEATURE: "UpdateNodeDeclaredFeature",
    Action.POD_LABEL: "UpdatePodLabel",
    Action.POD_SCALE_DOWN: "UpdatePodScaleDown",
    Action.POD_TOLERATION: "UpdatePodToleration",
    Action.POD_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    Action.POD_GENERATED_CLAIM: "UpdatePodGeneratedResourceClaim",
}


class QueueingHints:
    """Registered events of one profile's plugins.

    Without `hints_enabled` hints are not called, and every registered event requeues the pod.
    """

    def __init__(self, plugins: Iterable[Plugin], clock: Clock, metrics: Metrics, *, asked: bool = True) -> None:
        self._interests = {plugin.name: _interests(plugin) for plugin in plugins}
        self._clock, self._metrics, self._hints_enabled = clock, metrics, asked
        # Registrations that match an event, by plugin: computed once per kind of event.
        self._by_event: dict[tuple[Subject, int], Mapping[str, Sequence[ClusterEventWithHint]]] = {}

    @property
    def subjects(self) -> set[Subject]:
        """Resources that plugins registered for."""
        named = {registration.subject for registrations in self._interests.values() for registration in registrations}
        return named | set(Subject) - {Subject.DEVICE_TAINT_RULE} if Subject.WILDCARD in named else named

    def matches_any_plugin(self, event: ClusterEvent) -> bool:
        """Return whether any plugin registered for the event."""
        if event.subject is Subject.WILDCARD:
            return True
        return bool(self._registrations_for(event))

    def matches_plugin(self, plugin: str, event: ClusterEvent) -> bool:
        """Return whether one plugin registered for the event."""
        return bool(self._registrations_of(plugin, event))

    def _registrations_of(self, plugin: str, event: ClusterEvent) -> Sequence[ClusterEventWithHint]:
        # A rejection by a plugin that is not known here may be resolved by any event.
        return self._registrations_for(event).get(plugin, ()) if plugin in self._interests else _ANY_EVENT

    def _registrations_for(
        self, event: ClusterEvent
    ) -> Mapping[str, Sequence[ClusterEventWithHint]]:  # hot: per event, per waiting pod
        kind = (event.subject, event.action.value)
        registered = self._by_event.get(kind)
        if registered is None:
            matching = {
                plugin: [registration for registration in registrations if matches(registration, event)]
                for plugin, registrations in self._interests.items()
            }
            registered = self._by_event[kind] = {plugin: some for plugin, some in matching.items() if some}
        return registered

    def worth(self, queued: QueuedPodInfo, event: ClusterEvent) -> QueueingStrategy:
        """Return what an event means for a rejected pod."""
        rejectors = queued.rejectors
        # The pod failed with an error, which any event may have resolved.
        if not rejectors:
            return QueueingStrategy.AFTER_BACKOFF
        if event.subject is Subject.WILDCARD:
            return QueueingStrategy.AFTER_BACKOFF
        strategy = QueueingStrategy.NOTHING
        for name in sorted(rejectors):
            if not self._any_hint_matches(name, queued, event):
                continue
            # A pod that waited for something outside has not been rejected, so it skips the backoff.
            if name in queued.pending_by:
                return QueueingStrategy.AT_ONCE
            strategy = QueueingStrategy.AFTER_BACKOFF
            # No plugin left whose hint could lead to the active queue.
            if not queued.pending_by:
                return strategy
        return strategy

    def _any_hint_matches(self, plugin: str, queued: QueuedPodInfo, event: ClusterEvent) -> bool:
        return any(
            self._call_hint(plugin, registration, queued, event)
            for registration in self._registrations_of(plugin, event)
        )

    def _call_hint(
        self, plugin: str, interest: ClusterEventWithHint, queued: QueuedPodInfo, event: ClusterEvent
    ) -> bool:
        if interest.hint is None or not self._hints_enabled:
            return True
        start = self._clock.monotonic()
        try:
            helps = interest.hint(queued.pod, event)
            outcome = "Queue" if helps else "QueueSkip"
        except Exception:  # a failing hint must not keep the pod waiting
            _LOG.exception("hint of %s for pod %s", plugin, queued.pod.key)
            helps, outcome = True, "Error"
        self._metrics.hint_seconds.observe(self._clock.monotonic() - start, plugin, label(event), outcome)
        return helps


def _interests(plugin: Plugin) -> Sequence[ClusterEventWithHint]:
    registrations = tuple(plugin.interests())
    of_nodes = [registration.actions for registration in registrations if registration.subject is Subject.NODE]
    # upstream 1.36: node additions may be missed while a node is tainted during its registration, so a plugin that
    # registers for them is registered for changes of taints, too.
    if any(Action.ADD in one for one in of_nodes) and not any(one & _TAINT_ACTIONS for one in of_nodes):
        registrations = (*registrations, ClusterEventWithHint(Subject.NODE, Action.NODE_TAINT))
    return registrations or _ANY_EVENT
