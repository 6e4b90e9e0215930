"""In-flight events: what happened while pods were being scheduled, so their rejection may be outdated when they return.

upstream 1.36: pkg/scheduler/backend/queue/active_queue.go
"""

from collections import deque
from collections.abc import Iterable

from mockkube.scheduler.framework.events import ClusterEvent


class InFlightEvents:
    """Pods that were popped and are not done, and the events since the oldest of them was popped."""

    def __init__(self) -> None:
        # Number of events before each pod was popped, oldest pod first.
        self._popped: dict[str, int] = {}
        # Each with the uid of the pod it is for; empty: for all pods.
        self._events: deque[tuple[ClusterEvent, str]] = deque()
        self._dropped = 0

    def __contains__(self, uid: str) -> bool:
        return uid in self._popped

    def __len__(self) -> int:
        return len(self._popped)

    def add_pod(self, uid: str) -> None:
        """Record that a pod was popped."""
        self._popped[uid] = self._dropped + len(self._events)

    def add_event(self, event: ClusterEvent, uid: str = "") -> None:
        """Record an event, unless no pod is in flight."""
        if self._popped:
            self._events.append((event, uid))

    def events_since_pop(self, uid: str) -> Iterable[ClusterEvent]:
        """Return the events since a pod was popped."""
        start = self._popped[uid] - self._dropped
        return [event for event, target_uid in list(self._events)[start:] if not target_uid or target_uid == uid]

    def done(self, uid: str) -> None:
        """Remove a pod, and the events that no other pod needs."""
        if self._popped.pop(uid, None) is None:
            return
        oldest = next(iter(self._popped.values()), self._dropped + len(self._events))
        while self._dropped < oldest:
            self._events.popleft()
            self._dropped += 1
