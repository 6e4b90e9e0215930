"""Pods that are made for an owner and lost again, over and over: seen from outside, whoever makes them.

upstream has nothing like it; what is found is told by `loops`.
"""

from collections.abc import Mapping
from typing import Final

from mockkube.api.times import parse_time
from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import Change, ListWatch
from mockkube.client.protocol import EventType, Key
from mockkube.controllers.framework.controller_ref_manager import controller_of, terminating
from mockkube.controllers.framework.hot_loops import WINDOW_SECONDS, Loops
from mockkube.runtime.clock import Clock

_CONTROLLERS: Final[Mapping[str, str]] = {
    "DaemonSet": "daemonset-controller",
    "Job": "job-controller",
    "ReplicaSet": "replicaset-controller",
    "ReplicationController": "replicationcontroller-controller",
    "StatefulSet": "statefulset-controller",
}


class PodChurn:
    """Counts pods that come and go, by the controller that answers for their owner, and the owner.

    A pod that has lived for longer than loops are looked back on is not part of one: a rollout replaces old pods.
    """

    def __init__(self, pods: ListWatch, loops: Loops, clock: Clock) -> None:
        self._pods, self._loops, self._clock = pods, loops, clock
        pods.subscribe(self._pod_changed)

    def _pod_changed(self, change: Change) -> None:
        owner = controller_of(change.object)
        if owner is None or not self._pods.synced:
            return
        controller = _CONTROLLERS.get(owner["kind"], owner["kind"])
        key = Key(change.object["metadata"]["namespace"], owner["name"])
        if change.type is EventType.ADDED:
            self._loops.created(controller, key)
        elif _is_lost(change) and self._is_young(change.object):
            self._loops.lost(controller, key)

    def _is_young(self, pod: ReadOnlyObject) -> bool:
        age = self._clock.now() - parse_time(pod["metadata"]["creationTimestamp"])
        return age.total_seconds() < WINDOW_SECONDS


def _is_lost(change: Change) -> bool:
    """Whether a pod that could have served can no more, as of this change."""
    if change.old is None or _is_over(change.old):
        return False
    return change.type is EventType.DELETED or _is_over(change.object)


def _is_over(pod: ReadOnlyObject) -> bool:
    return terminating(pod) or pod.get("status", {}).get("phase") == "Failed"
