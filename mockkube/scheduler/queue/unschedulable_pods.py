"""Unschedulable pods, grouped by what they wait for, so that an event only visits the pods it may help.

upstream 1.36: pkg/scheduler/backend/queue/scheduling_queue.go (unschedulablePods)
"""

from collections.abc import Iterator, Sequence
from itertools import count

from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.queue.queued_pod_info import QueuedPodInfo


@dataclass(frozen=True, slots=True)
class WaitReason:
    """Reason for which pods wait."""

    profile: str
    gating_plugin: str
    """PreEnqueue plugin that keeps them out of the active queue; empty if there is none."""
    rejector_plugins: frozenset[str]
    """Plugins that rejected them."""
    is_certain: bool
    """Whether the gate is certain to reject them now, whatever events occur."""


class UnschedulablePods:
    """Unschedulable pods by uid and by reason; a pod whose reason changes has to be put again."""

    def __init__(self) -> None:
        # Number of arrival and reason of each pod.
        self._reasons: dict[str, tuple[int, WaitReason]] = {}
        self._groups: dict[WaitReason, dict[str, QueuedPodInfo]] = {}
        self._arrivals = count()

    def __len__(self) -> int:
        return len(self._reasons)

    def __contains__(self, uid: str) -> bool:
        return uid in self._reasons

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return (queued for group in self._groups.values() for queued in group.values())

    def get(self, uid: str) -> QueuedPodInfo | None:
        """Return a pod by uid."""
        place = self._reasons.get(uid)
        return None if place is None else self._groups[place[1]][uid]

    def put(self, queued: QueuedPodInfo, *, is_certain: bool = False) -> None:
        """Add a pod, or update its reason; it keeps its number of arrival. `is_certain`: its gate need not run."""
        uid = queued.pod.uid
        place = self._reasons.get(uid)
        reason = WaitReason(
            queued.pod.scheduler_name, queued.gating_plugin, frozenset(queued.rejector_plugins), is_certain
        )
        if place is not None and place[1] != reason:
            self._remove_from_group(uid, place[1])
        self._reasons[uid] = next(self._arrivals) if place is None else place[0], reason
        self._groups.setdefault(reason, {})[uid] = queued

    def delete(self, uid: str) -> None:
        """Remove a pod if it is here."""
        place = self._reasons.pop(uid, None)
        if place is not None:
            self._remove_from_group(uid, place[1])

    def by_reason(self) -> list[tuple[WaitReason, dict[str, QueuedPodInfo]]]:
        """Return the pods by reason; the groups are live."""
        # A copy of the outer dict: moving pods deletes empty groups while callers iterate.
        return list(self._groups.items())

    def sort_by_arrival(self, pods: Sequence[QueuedPodInfo]) -> Sequence[QueuedPodInfo]:
        """Return pods in order of arrival."""
        return sorted(pods, key=lambda queued: self._reasons[queued.pod.uid][0])

    def _remove_from_group(self, uid: str, reason: WaitReason) -> None:
        group = self._groups[reason]
        del group[uid]
        if not group:
            del self._groups[reason]
