"""What the job controller remembers between looks at a job, and a restart forgets.

upstream 1.36: pkg/controller/job/tracking_utils.go, backoff_utils.go
"""

from collections.abc import Collection, Iterable

from mockkube.client.protocol import Key
from mockkube.controllers.job.backoff import Streak


class JobMemory:
    """Streaks of failures, pods let go that are not seen to be, and jobs ended that are not seen to have."""

    def __init__(self) -> None:
        self._streaks: dict[Key, Streak] = {}
        self._released: dict[Key, dict[str, None]] = {}
        self._ended: dict[str, None] = {}

    def streak(self, key: Key) -> Streak:
        """Return the failures of a job since its last success."""
        return self._streaks.get(key, Streak())

    def remember_streak(self, key: Key, streak: Streak) -> None:
        """Remember the failures of a job since its last success."""
        self._streaks[key] = streak

    def forget_streak(self, key: Key) -> None:
        """Forget the failures of a job: it has ended, or is gone."""
        self._streaks.pop(key, None)

    def expect_released(self, key: Key, uids: Iterable[str]) -> None:
        """Expect to see that pods of a job were let go."""
        self._released.setdefault(key, {}).update(dict.fromkeys(uids))

    def seen_released(self, key: Key, uid: str) -> None:
        """Take note that a pod was let go, or will not be."""
        self._released.get(key, {}).pop(uid, None)

    def released(self, key: Key) -> Collection[str]:
        """Return the uids of pods that are still to be seen let go."""
        return tuple(self._released.get(key, ()))

    def expect_ended(self, uid: str) -> None:
        """Expect to see that a job has ended."""
        self._ended[uid] = None

    def seen_ended(self, uid: str) -> None:
        """Take note that a job was seen to have ended, or to go."""
        self._ended.pop(uid, None)

    def has_ended(self, uid: str) -> bool:
        """Whether a job has ended, and does not look so yet."""
        return uid in self._ended

    def forget(self, key: Key) -> None:
        """Forget a job that is gone."""
        self._streaks.pop(key, None)
        self._released.pop(key, None)
