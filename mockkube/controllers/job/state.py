"""State of the job controller between syncs, lost on restart: backoff, finalizer removals, finished jobs.

upstream 1.36: pkg/controller/job/tracking_utils.go, backoff_utils.go
"""

from collections.abc import Collection, Iterable

from mockkube.client.protocol import Key
from mockkube.controllers.job.backoff import Streak


class JobMemory:
    """Backoff records, and writes that the informers do not show yet: removed finalizers, finished jobs."""

    def __init__(self) -> None:
        self._streaks: dict[Key, Streak] = {}
        self._released: dict[Key, dict[str, None]] = {}
        self._ended: dict[str, None] = {}

    def streak(self, key: Key) -> Streak:
        """Return the backoff record of a job."""
        return self._streaks.get(key, Streak())

    def remember_streak(self, key: Key, streak: Streak) -> None:
        """Store the backoff record of a job."""
        self._streaks[key] = streak

    def forget_streak(self, key: Key) -> None:
        """Remove the backoff record of a job that has finished or is gone."""
        self._streaks.pop(key, None)

    def expect_released(self, key: Key, uids: Iterable[str]) -> None:
        """Expect to observe that pods lost their finalizer."""
        self._released.setdefault(key, {}).update(dict.fromkeys(uids))

    def seen_released(self, key: Key, uid: str) -> None:
        """Record that a pod lost its finalizer, or that the removal failed."""
        self._released.get(key, {}).pop(uid, None)

    def released(self, key: Key) -> Collection[str]:
        """Return the uids of pods whose finalizer removal was not observed yet."""
        return tuple(self._released.get(key, ()))

    def expect_ended(self, uid: str) -> None:
        """Expect to observe that a job has finished."""
        self._ended[uid] = None

    def seen_ended(self, uid: str) -> None:
        """Record that a job was observed as finished or deleted."""
        self._ended.pop(uid, None)

    def has_ended(self, uid: str) -> bool:
        """Return whether a job was finished and is not observed as such yet."""
        return uid in self._ended

    def forget(self, key: Key) -> None:
        """Forget a job that is gone."""
        self._streaks.pop(key, None)
        self._released.pop(key, None)
