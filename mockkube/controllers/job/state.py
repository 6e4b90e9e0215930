"""State of the job controller between syncs, lost on restart: backoff, finalizer removals, finished jobs.

upstream 1.36: pkg/controller/job/tracking_utils.go, backoff_utils.go
"""

from collections.abc import Collection, Iterable, Iterator

from mockkube.client.protocol import Key
from mockkube.controllers.job.backoff import BackoffRecord


class JobState:
    """Backoff records, and writes that the informers do not show yet: removed finalizers, finished jobs."""

    def __init__(self) -> None:
        self._backoff: dict[Key, BackoffRecord] = {}
        self._finalizer_removals: dict[Key, dict[str, None]] = {}
        # Uids by key.
        self._finished: dict[Key, str] = {}

    def get_backoff(self, key: Key) -> BackoffRecord:
        """Return the backoff record of a job."""
        return self._backoff.get(key, BackoffRecord())

    def list_backoff(self) -> Iterator[tuple[Key, BackoffRecord]]:
        """Yield the backoff record of each job with failures."""
        yield from ((key, record) for key, record in sorted(self._backoff.items()) if record.failures)

    def store_backoff(self, key: Key, backoff: BackoffRecord) -> None:
        """Store the backoff record of a job."""
        self._backoff[key] = backoff

    def remove_backoff(self, key: Key) -> None:
        """Remove the backoff record of a job that has finished or is gone."""
        self._backoff.pop(key, None)

    def expect_finalizer_removals(self, key: Key, uids: Iterable[str]) -> None:
        """Expect to observe that pods lost their finalizer."""
        self._finalizer_removals.setdefault(key, {}).update(dict.fromkeys(uids))

    def finalizer_removal_observed(self, key: Key, uid: str) -> None:
        """Record that a pod lost its finalizer, or that the removal failed."""
        self._finalizer_removals.get(key, {}).pop(uid, None)

    def pending_finalizer_removals(self, key: Key) -> Collection[str]:
        """Return the uids of pods whose finalizer removal was not observed yet."""
        return tuple(self._finalizer_removals.get(key, ()))

    def expect_finished(self, key: Key, uid: str) -> None:
        """Expect to observe that a job has finished."""
        self._finished[key] = uid

    def finished_observed(self, key: Key) -> None:
        """Record that a job was observed as finished or deleted."""
        self._finished.pop(key, None)

    def has_finished(self, key: Key, uid: str) -> bool:
        """Return whether a job was finished and is not observed as such yet."""
        return self._finished.get(key) == uid

    def forget(self, key: Key) -> None:
        """Forget a job that is gone."""
        self._backoff.pop(key, None)
        self._finalizer_removals.pop(key, None)
        self._finished.pop(key, None)
