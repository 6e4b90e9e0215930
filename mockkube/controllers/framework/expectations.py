"""Expectations: creations and deletions that a controller requested and its informer does not show yet.

upstream 1.36: pkg/controller/controller_utils.go
"""

from collections.abc import Hashable, Iterable
from dataclasses import field
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock

# After this long expectations no longer count: an event must have been missed.
EXPIRY_SECONDS: Final = 300.0


@dataclass(slots=True)
class _ControlleeExpectations:
    """Expected creations and deletions of one key."""

    since: float
    creations: int = 0
    deletions: int = 0
    uids: set[str] = field(default_factory=set)

    def is_fulfilled(self) -> bool:
        return self.creations <= 0 and self.deletions <= 0


class Expectations:
    """Expected creations and deletions, by the key of the owner."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._expected: dict[Hashable, _ControlleeExpectations] = {}

    def expect_creations(self, key: Hashable, count: int) -> None:
        """Expect so many creations, in place of earlier expectations."""
        self._expected[key] = _ControlleeExpectations(self._clock.monotonic(), creations=count)

    def expect_deletions(self, key: Hashable, uids: Iterable[str]) -> None:
        """Expect these objects to be deleted or terminating, in place of earlier expectations."""
        named = set(uids)
        self._expected[key] = _ControlleeExpectations(self._clock.monotonic(), deletions=len(named), uids=named)

    def set_expectations(self, key: Hashable, *, creations: int, deletions: int) -> None:
        """Expect numbers of both, in place of earlier expectations."""
        self._expected[key] = _ControlleeExpectations(self._clock.monotonic(), creations, deletions)

    def creation_observed(self, key: Hashable, count: int = 1) -> None:
        """Count creations that were observed, or that failed and will not be."""
        if (expected := self._expected.get(key)) is not None:
            expected.creations -= count

    def deletion_observed(self, key: Hashable, uid: str = "") -> None:
        """Count a deletion that was observed or failed; one with a uid counts once, if expected."""
        expected = self._expected.get(key)
        if expected is None:
            return
        if not uid:
            expected.deletions -= 1
        # A pod is reported twice, when it starts to terminate and when it is gone; only the first counts.
        elif uid in expected.uids:
            expected.uids.remove(uid)
            expected.deletions -= 1

    def is_satisfied(self, key: Hashable) -> bool:
        """Return whether all expected changes were observed, or have expired."""
        expected = self._expected.get(key)
        if expected is None or expected.is_fulfilled():
            return True
        return self._clock.monotonic() - expected.since > EXPIRY_SECONDS

    def forget(self, key: Hashable) -> None:
        """Drop the expectations of a key whose owner is deleted."""
        self._expected.pop(key, None)
