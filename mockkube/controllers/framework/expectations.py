"""What a controller has asked for and not yet seen: until it has, its cache is behind its own writes.

upstream 1.36: pkg/controller/controller_utils.go
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Final

from mockkube.runtime.clock import Clock

EXPIRY_SECONDS: Final = 300.0
"""After this long nobody waits any more: something was missed."""


@dataclass(slots=True)
class _Expected:
    since: float
    creations: int = 0
    deletions: int = 0
    uids: set[str] = field(default_factory=set)

    def fulfilled(self) -> bool:
        return self.creations <= 0 and self.deletions <= 0


class Expectations:
    """Creations and deletions still to be seen, by the key of whoever asked for them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._expected: dict[Hashable, _Expected] = {}

    def expect_creations(self, key: Hashable, count: int) -> None:
        """Wait for that many creations; what was expected before is forgotten."""
        self._expected[key] = _Expected(self._clock.monotonic(), creations=count)

    def expect_deletions(self, key: Hashable, uids: Iterable[str]) -> None:
        """Wait for these objects to go, or to be marked for deletion; what was expected before is forgotten."""
        named = set(uids)
        self._expected[key] = _Expected(self._clock.monotonic(), deletions=len(named), uids=named)

    def expect(self, key: Hashable, *, creations: int, deletions: int) -> None:
        """Wait for counts of both, whatever the objects; what was expected before is forgotten."""
        self._expected[key] = _Expected(self._clock.monotonic(), creations, deletions)

    def creation_seen(self, key: Hashable, count: int = 1) -> None:
        """Take note of creations that were seen, or that failed and will not be."""
        if (expected := self._expected.get(key)) is not None:
            expected.creations -= count

    def deletion_seen(self, key: Hashable, uid: str = "") -> None:
        """Take note of a deletion that was seen or failed; of one with a uid only once, and only if expected."""
        expected = self._expected.get(key)
        if expected is None:
            return
        if not uid:
            expected.deletions -= 1
        elif uid in expected.uids:
            expected.uids.remove(uid)
            expected.deletions -= 1

    def satisfied(self, key: Hashable) -> bool:
        """Whether the cache has caught up with what was asked for, or nobody waits any longer."""
        expected = self._expected.get(key)
        if expected is None or expected.fulfilled():
            return True
        return self._clock.monotonic() - expected.since > EXPIRY_SECONDS

    def forget(self, key: Hashable) -> None:
        """Drop what was expected: its owner is gone."""
        self._expected.pop(key, None)
