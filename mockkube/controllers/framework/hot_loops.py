"""Failure made visible: which (controller, object) pairs keep failing, or keep making what is lost again.

A pair is a loop when it has failed several times without a success in between, or when what it created was lost young
and replaced several times within a minute. Counts older than a minute do not count; a success ends a failure.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mockkube.runtime.clock import Clock
from mockkube.runtime.loop_board import Loop
from mockkube.runtime.steps import Bell

WINDOW_SECONDS: Final = 60.0
LOOP_MIN: Final = 5
"""Failures in a row, or replacements within the window, from which on it is called a loop."""
STALE_SECONDS: Final = 1100.0
"""How long after its last failure it is one: as long as anything waits to be tried again, and a little longer."""
_MOMENTS_MAX: Final = 1000
"""Moments remembered of one pair and cause: rates above this many a minute all look the same."""
_PAIRS_MAX: Final = 10_000
"""Pairs remembered; the one that was quiet for longest is dropped first."""
METRIC: Final = "mockkube_controller_loop_rate"


class Cause(StrEnum):
    """Why a pair is a loop."""

    FAILING = "failing"
    CHURNING = "churning"


@dataclass(slots=True)
class _Pair:
    failed: deque[float] = field(default_factory=lambda: deque(maxlen=_MOMENTS_MAX))
    replaced: deque[float] = field(default_factory=lambda: deque(maxlen=_MOMENTS_MAX))
    missing: int = 0
    """How much was lost and is not replaced yet."""
    failures_in_a_row: int = 0
    failed_at: float = 0.0
    message: str = ""


class Loops(Collector):
    """Counts per controller and object; as a collector of metrics it shows the pairs that are loops now."""

    def __init__(self, clock: Clock, bell: Bell | None = None) -> None:
        """Ring the bell when a loop begins, and when one that failed ends; one that churns ends by itself."""
        self._clock, self._bell = clock, bell or Bell()
        self._pairs: OrderedDict[tuple[str, str], _Pair] = OrderedDict()

    def failed(self, controller: str, key: object, message: str, *, at_once: bool = False) -> None:
        """Take note of a reconciliation that failed; `at_once` says that it will again as long as nothing changes."""
        pair = self._pair(controller, str(key))
        looped = pair.failures_in_a_row >= LOOP_MIN
        pair.failures_in_a_row = max(pair.failures_in_a_row + 1, LOOP_MIN if at_once else 0)
        pair.failed_at = self._clock.monotonic()
        pair.failed.append(pair.failed_at)
        pair.message = message
        if pair.failures_in_a_row >= LOOP_MIN and not looped:
            self._bell.ring()

    def succeeded(self, controller: str, key: object) -> None:
        """Take note of a reconciliation that went well."""
        pair = self._pairs.get((controller, str(key)))
        if pair is None:
            return
        looped = pair.failures_in_a_row >= LOOP_MIN
        pair.failures_in_a_row = 0
        pair.failed.clear()
        if looped:
            self._bell.ring()

    def created(self, controller: str, key: object) -> None:
        """Take note of something created for an object: a replacement if something was lost before."""
        pair = self._pairs.get((controller, str(key)))
        if pair is None or not pair.missing:
            return
        now = self._clock.monotonic()
        pair.missing -= 1
        pair.replaced.append(now)
        if _recent(pair.replaced, now - WINDOW_SECONDS) == LOOP_MIN:
            self._bell.ring()

    def lost(self, controller: str, key: object) -> None:
        """Take note that something created for an object is gone, though it was wanted."""
        self._pair(controller, str(key)).missing += 1

    def current(self) -> list[Loop]:
        """Return the loops of now, in the order of controllers and objects."""
        return sorted(self._loops(), key=lambda loop: (loop.controller, loop.object, loop.cause))

    def describe(self) -> Iterator[Metric]:
        """Return nothing: what there is depends on the moment."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Return the rate of each loop, per minute."""
        family = GaugeMetricFamily(
            METRIC,
            "Times a minute that a controller fails on an object, or replaces what it made for it, without end.",
            labels=["controller", "object", "cause"],
        )
        for loop in self.current():
            family.add_metric([loop.controller, loop.object, loop.cause], loop.per_minute)
        yield family

    def _pair(self, controller: str, key: str) -> _Pair:
        name = (controller, key)
        pair = self._pairs.get(name)
        if pair is None:
            pair = self._pairs[name] = _Pair()
            if len(self._pairs) > _PAIRS_MAX:
                self._pairs.popitem(last=False)
        else:
            self._pairs.move_to_end(name)
        return pair

    def _loops(self) -> Iterator[Loop]:
        since, stale = self._clock.monotonic() - WINDOW_SECONDS, self._clock.monotonic() - STALE_SECONDS
        for (controller, key), pair in self._pairs.items():
            if pair.failures_in_a_row >= LOOP_MIN and pair.failed_at > stale:
                yield Loop(controller, key, Cause.FAILING, _recent(pair.failed, since), pair.message)
            replaced = _recent(pair.replaced, since)
            if replaced >= LOOP_MIN:
                yield Loop(controller, key, Cause.CHURNING, replaced)


def _recent(moments: deque[float], since: float) -> int:
    while moments and moments[0] < since:
        moments.popleft()
    return len(moments)
