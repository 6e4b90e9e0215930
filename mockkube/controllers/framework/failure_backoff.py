"""Exponential backoff per id, forgotten after a while without failures.

upstream 1.36: staging/src/k8s.io/client-go/util/flowcontrol/backoff.go
"""

from collections.abc import Hashable, Iterator
from typing import Final, Generic, TypeVar

from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock

IdT = TypeVar("IdT", bound=Hashable)

INITIAL_SECONDS: Final = 1.0
SECONDS_MAX: Final = 15 * 60.0


@dataclass(slots=True)
class _BackoffEntry:
    seconds: float
    updated: float


class FailureBackoff(Generic[IdT]):
    """Exponential backoff of many ids."""

    def __init__(self, clock: Clock, *, initial: float = INITIAL_SECONDS, seconds_max: float = SECONDS_MAX) -> None:
        self._clock, self._initial, self._seconds_max = clock, initial, seconds_max
        self._entries: dict[IdT, _BackoffEntry] = {}

    def seconds_left(self, backoff_id: IdT) -> float | None:
        """Return the backoff of an id; None if it is over."""
        entry = self._entries.get(backoff_id)
        now = self._clock.monotonic()
        if entry is None or self._has_expired(entry, now) or now - entry.updated >= entry.seconds:
            return None
        # Upstream returns the full backoff here and not the rest of it, so callers wait longer than needed.
        return entry.seconds

    def next(self, backoff_id: IdT) -> None:
        """Double the backoff of an id that has failed again."""
        now = self._clock.monotonic()
        self._remove_expired(now)
        entry = self._entries.get(backoff_id)
        seconds = self._initial if entry is None else self.next_seconds(entry.seconds)
        self._entries[backoff_id] = _BackoffEntry(seconds, now)

    def next_seconds(self, seconds: float) -> float:
        """Return the backoff after another failure."""
        return min(seconds * 2, self._seconds_max)

    def list_backoffs(self) -> Iterator[tuple[IdT, float, float]]:
        """Yield id, backoff and seconds since the last failure of each id that is not forgotten."""
        now = self._clock.monotonic()
        for backoff_id, entry in self._entries.items():
            if not self._has_expired(entry, now):
                yield backoff_id, entry.seconds, now - entry.updated

    def _has_expired(self, entry: _BackoffEntry, now: float) -> bool:
        # Twice the maximum, as upstream's garbage collection of backoff entries.
        return now - entry.updated > 2 * self._seconds_max

    def _remove_expired(self, now: float) -> None:
        for backoff_id in [backoff_id for backoff_id, entry in self._entries.items() if self._has_expired(entry, now)]:
            del self._entries[backoff_id]
