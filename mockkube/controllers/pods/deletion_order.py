"""Order in which pods are deleted when scaling down.

upstream 1.36: pkg/controller/controller_utils.go (ActivePodsWithRanks), pkg/controller/replicaset/replica_set.go
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import cmp_to_key
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.controllers.pods.readiness import ready_since
from mockkube.matching.pods import is_ready

COST_ANNOTATION: Final = "controller.kubernetes.io/pod-deletion-cost"
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def select_pods_to_delete(
    pods: Sequence[ReadOnlyObject],
    related: Iterable[ReadOnlyObject],
    count: int,
    now: datetime,
    *,
    counts_cost: bool = True,
) -> list[ReadOnlyObject]:
    """Return the pods to delete; of equal pods first those on nodes with more ready `related` pods.

    Without `counts_cost` the deletion cost of pods is ignored.
    """
    # Without a choice there is no need to sort, which costs most in large sets.
    if count >= len(pods):
        return list(pods)
    crowd = Counter(pod["spec"].get("nodeName", "") for pod in related if is_ready(pod))
    order = PodDeletionOrder(crowd, now, counts_cost=counts_cost)
    return sorted(pods, key=cmp_to_key(order.compare))[:count]


class PodDeletionOrder:
    """Order in which pods are deleted when a workload is scaled down."""

    def __init__(self, ready_by_node: Counter[str], now: datetime, *, counts_cost: bool = True) -> None:
        self._ready_by_node, self._now, self._counts_cost = ready_by_node, now, counts_cost

    def compare(self, one: ReadOnlyObject, other: ReadOnlyObject) -> int:
        """Return a negative number if `one` is deleted before `other`."""
        # Unassigned before assigned, pending before running, not ready before ready, low deletion cost first, crowded
        # nodes first.
        left, right = self._rank(one), self._rank(other)
        if left != right:
            return -1 if left < right else 1
        # As upstream, the time since Ready is compared only if both pods are ready; then restarts, then age.
        since, since_other = ready_since(one), ready_since(other)
        if since is not None and since_other is not None and since != since_other:
            return self._compare_age(one, other, since, since_other)
        left, right = _max_restarts(one), _max_restarts(other)
        if left != right:
            return -1 if left > right else 1
        born, born_other = _created_at(one), _created_at(other)
        return 0 if born == born_other else self._compare_age(one, other, born, born_other)

    def _rank(self, pod: ReadOnlyObject) -> tuple[int, ...]:
        node = pod["spec"].get("nodeName", "")
        phase = _PHASES.get((pod.get("status") or {}).get("phase", ""), 0)
        cost = _deletion_cost(pod) if self._counts_cost else 0
        return (int(bool(node)), phase, int(is_ready(pod)), cost, -self._ready_by_node[node])

    def _compare_age(self, one: ReadOnlyObject, other: ReadOnlyObject, since: datetime, since_other: datetime) -> int:
        """Prefer the younger by orders of magnitude; among equals the lower uid."""
        difference = self._magnitude(since) - self._magnitude(since_other)
        if difference:
            return difference
        return -1 if one["metadata"]["uid"] < other["metadata"]["uid"] else 1

    def _magnitude(self, moment: datetime) -> int:
        # The base-2 logarithm of the age in nanoseconds, as upstream: pods of similar age are picked at random rather
        # than strictly the youngest.
        age = (self._now - moment) / timedelta(microseconds=1) * 1000
        return int(math.log2(age)) if age >= 1 else -1


def _deletion_cost(pod: ReadOnlyObject) -> int:
    text = (pod["metadata"].get("annotations") or {}).get(COST_ANNOTATION, "")
    return int(text) if text.lstrip("-").isdecimal() else 0


def _max_restarts(pod: ReadOnlyObject) -> tuple[int, int]:
    """Return the highest restart counts of containers and of sidecars."""
    status = pod.get("status") or {}
    sidecars = [one["name"] for one in pod["spec"].get("initContainers") or () if one.get("restartPolicy") == "Always"]
    initial = [one for one in status.get("initContainerStatuses") or () if one["name"] in sidecars]
    return (
        max((one.get("restartCount", 0) for one in status.get("containerStatuses") or ()), default=0),
        max((one.get("restartCount", 0) for one in initial), default=0),
    )


def _created_at(pod: ReadOnlyObject) -> datetime:
    return parse_time(pod["metadata"]["creationTimestamp"])
