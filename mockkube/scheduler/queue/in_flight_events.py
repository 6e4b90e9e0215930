"""What happened while pods were being decided on: their refusal may be out of date when they come back.

upstream 1.36: pkg/scheduler/backend/queue/active_queue.go
"""

from collections import deque
from collections.abc import Iterable

from mockkube.scheduler.framework.events import ClusterEvent


class InFlight:
    """The pods taken from the queue and not settled, and the events since the oldest of them was taken."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}
        """The number of events before each pod was taken, in that order."""
        self._events: deque[tuple[ClusterEvent, str]] = deque()
        """With the uid of the pod an event is for; empty: for all."""
        self._dropped = 0

    def __contains__(self, uid: str) -> bool:
        return uid in self._taken

    def __len__(self) -> int:
        return len(self._taken)

    def take(self, uid: str) -> None:
        """Note that a pod has been taken from the queue."""
        self._taken[uid] = self._dropped + len(self._events)

    def note(self, event: ClusterEvent, uid: str = "") -> None:
        """Note what happened, if anybody may want to know."""
        if self._taken:
            self._events.append((event, uid))

    def since(self, uid: str) -> Iterable[ClusterEvent]:
        """Return what happened since a pod was taken."""
        start = self._taken[uid] - self._dropped
        return [event for event, only in list(self._events)[start:] if not only or only == uid]

    def done(self, uid: str) -> None:
        """Settle a pod, and forget what nobody needs any more."""
        if self._taken.pop(uid, None) is None:
            return
        oldest = next(iter(self._taken.values()), self._dropped + len(self._events))
        while self._dropped < oldest:
            self._events.popleft()
            self._dropped += 1
