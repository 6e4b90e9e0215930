"""Counts pods that controllers create and lose again, for the detection of hot loops.

Upstream has no such thing. It watches pods from outside, so controllers need not report anything.
"""

from collections.abc import Mapping
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.client.informer import Informer, ObjectChange
from mockkube.client.protocol import Key, WatchEventType
from mockkube.controllers.framework.controller_ref_manager import controller_of, has_deletion_timestamp
from mockkube.controllers.framework.hot_loops import WINDOW_SECONDS, HotLoopDetector
from mockkube.runtime.clock import Clock

_CONTROLLERS: Final[Mapping[str, str]] = {
    "DaemonSet": "daemonset-controller",
    "Job": "job-controller",
    "ReplicaSet": "replicaset-controller",
    "ReplicationController": "replicationcontroller-controller",
    "StatefulSet": "statefulset-controller",
}


class PodRecreationCounter:
    """Counts created and lost pods by the controller of their owner, and the owner.

    A pod that lived longer than the window of hot loops does not count as lost: a rollout replaces old pods.
    """

    def __init__(self, pods: Informer, hot_loops: HotLoopDetector, clock: Clock) -> None:
        self._pods, self._loops, self._clock = pods, hot_loops, clock
        pods.add_event_handler(self._on_pod_change)

    def _on_pod_change(self, change: ObjectChange) -> None:
        owner = controller_of(change.object)
        # The first list delivers existing pods as ADDED; none of them was created just now.
        if owner is None or not self._pods.has_synced:
            return
        controller = _CONTROLLERS.get(owner["kind"], owner["kind"])
        key = Key(change.object["metadata"]["namespace"], owner["name"])
        if change.type is WatchEventType.ADDED:
            self._loops.record_creation(controller, key)
        elif _is_lost(change) and self._is_young(change.object):
            self._loops.record_loss(controller, key)

    def _is_young(self, pod: ReadOnlyObject) -> bool:
        age = self._clock.now() - parse_time(pod["metadata"]["creationTimestamp"])
        return age.total_seconds() < WINDOW_SECONDS


def _is_lost(change: ObjectChange) -> bool:
    """Return whether this change ends a pod that could still have run."""
    if change.old is None or _has_ended(change.old):
        return False
    return change.type is WatchEventType.DELETED or _has_ended(change.object)


def _has_ended(pod: ReadOnlyObject) -> bool:
    return has_deletion_timestamp(pod) or pod.get("status", {}).get("phase") == "Failed"
