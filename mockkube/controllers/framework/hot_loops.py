"""Hot loop detector: (controller, object) pairs that keep failing or keep recreating lost objects.

A pair is a hot loop after several failures without a success in between, or when objects that it created were lost
young and replaced several times within a minute. Counts older than a minute expire; a success ends a failing loop.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import field
from enum import StrEnum
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.hot_loops import HotLoop
from mockkube.runtime.steps import Signal

WINDOW_SECONDS: Final = 60.0
# Failures in a row, or replacements within the window, from which on a pair is a hot loop.
HOT_LOOP_MIN: Final = 5
# A failing loop ends this long after its last failure: a little more than the longest backoff (1000 s).
STALE_SECONDS: Final = 1100.0
# Failures remembered per pair and cause. The difference between higher rates does not matter.
_MOMENTS_MAX: Final = 1000
# Pairs remembered; the one without changes for longest is dropped first.
_PAIRS_MAX: Final = 10_000
METRIC: Final = "mockkube_controller_loop_rate"


class HotLoopCause(StrEnum):
    """Cause of a hot loop."""

    FAILING = "failing"
    CHURNING = "churning"


@dataclass(slots=True)
class _PairHistory:
    """Recent failures and replacements of one controller and object."""

    touched_at: float
    failed: deque[float] = field(default_factory=lambda: deque(maxlen=_MOMENTS_MAX))
    replaced: deque[float] = field(default_factory=lambda: deque(maxlen=_MOMENTS_MAX))
    # Number of created objects that were lost and are not replaced yet.
    missing: int = 0
    failures_in_a_row: int = 0
    failed_at: float = 0.0
    message: str = ""


class HotLoopDetector(Collector):
    """Failures and replacements per controller and object; also a metrics collector of the hot loops."""

    def __init__(self, clock: Clock, signal: Signal | None = None) -> None:
        """Notify the signal when a loop begins or a failing one ends; a churning one ends by time alone."""
        self._clock, self._signal = clock, signal or Signal()
        self._pairs: OrderedDict[tuple[str, str], _PairHistory] = OrderedDict()
        self._sweep_at = clock.monotonic() + WINDOW_SECONDS

    def record_failure(self, controller: str, key: object, message: str, *, permanent: bool = False) -> None:
        """Count a failed reconciliation; `permanent` if it will fail until something changes."""
        pair = self._pair(controller, str(key))
        looped = pair.failures_in_a_row >= HOT_LOOP_MIN
        pair.failures_in_a_row = max(pair.failures_in_a_row + 1, HOT_LOOP_MIN if permanent else 0)
        pair.failed_at = self._clock.monotonic()
        pair.failed.append(pair.failed_at)
        pair.message = message
        if pair.failures_in_a_row >= HOT_LOOP_MIN and not looped:
            self._signal.notify()

    def record_success(self, controller: str, key: object) -> None:
        """Clear the failures of a pair after a successful reconciliation."""
        pair = self._pairs.get((controller, str(key)))
        if pair is None:
            return
        looped = pair.failures_in_a_row >= HOT_LOOP_MIN
        if pair.missing or pair.replaced:
            pair.failures_in_a_row = 0
            pair.failed.clear()
        else:
            del self._pairs[(controller, str(key))]
        if looped:
            self._signal.notify()

    def record_creation(self, controller: str, key: object) -> None:
        """Count an object created for a pair as a replacement if one was lost before."""
        pair = self._pairs.get((controller, str(key)))
        if pair is None or not pair.missing:
            return
        now = self._clock.monotonic()
        pair.missing -= 1
        pair.replaced.append(now)
        # Only the replacement that reaches the bound notifies; further ones change nothing that is shown.
        if _count_since(pair.replaced, now - WINDOW_SECONDS) == HOT_LOOP_MIN:
            self._signal.notify()

    def record_loss(self, controller: str, key: object) -> None:
        """Count an object created for a pair that was lost although it was wanted."""
        self._pair(controller, str(key)).missing += 1

    def current(self) -> list[HotLoop]:
        """Return the current hot loops, ordered by controller and object."""
        return sorted(self._find_hot_loops(), key=lambda loop: (loop.controller, loop.object, loop.cause))

    def describe(self) -> Iterator[Metric]:
        """Return no metrics: prometheus_client would otherwise call `collect` at registration."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Return the rate per minute of each hot loop."""
        family = GaugeMetricFamily(
            METRIC,
            "Times per minute that a controller fails on an object, or replaces lost objects that it created for it.",
            labels=["controller", "object", "cause"],
        )
        for loop in self.current():
            family.add_metric([loop.controller, loop.object, loop.cause], loop.per_minute)
        yield family

    def _pair(self, controller: str, key: str) -> _PairHistory:
        name, now = (controller, key), self._clock.monotonic()
        pair = self._pairs.get(name)
        if pair is None:
            pair = self._pairs[name] = _PairHistory(now)
            self._forget_stale(now)
        else:
            self._pairs.move_to_end(name)
            pair.touched_at = now
        return pair

    def _forget_stale(self, now: float) -> None:
        """Forget the oldest pair above the bound, and once per window all pairs that can be no part of a hot loop."""
        pairs = self._pairs
        if len(pairs) > _PAIRS_MAX:
            pairs.popitem(last=False)
        if now < self._sweep_at:
            return
        self._sweep_at = now + WINDOW_SECONDS
        # Losses without failures are those of owners that were scaled down or deleted.
        for name in [name for name, pair in pairs.items() if _is_stale(pair, now)]:
            del pairs[name]

    def _find_hot_loops(self) -> Iterator[HotLoop]:
        since, stale = self._clock.monotonic() - WINDOW_SECONDS, self._clock.monotonic() - STALE_SECONDS
        for (controller, key), pair in self._pairs.items():
            if pair.failures_in_a_row >= HOT_LOOP_MIN and pair.failed_at > stale:
                yield HotLoop(controller, key, HotLoopCause.FAILING, _count_since(pair.failed, since), pair.message)
            replaced = _count_since(pair.replaced, since)
            if replaced >= HOT_LOOP_MIN:
                yield HotLoop(controller, key, HotLoopCause.CHURNING, replaced)


def _is_stale(pair: _PairHistory, now: float) -> bool:
    if pair.failures_in_a_row:
        return pair.touched_at < now - STALE_SECONDS
    return pair.touched_at < now - WINDOW_SECONDS and not _count_since(pair.replaced, now - WINDOW_SECONDS)


def _count_since(moments: deque[float], since: float) -> int:
    while moments and moments[0] < since:
        moments.popleft()
    return len(moments)
