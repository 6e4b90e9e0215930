"""Detect rejection loops: owners whose pods the kubelets reject again and again, by reason and rate.

The controller replaces the rejected pod, and the scheduler, which knows nothing of the rejection, binds the new one to
a node that rejects it again. Several rejections of one owner for one reason within a minute are reported as a hot loop.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.runtime.clock import Clock
from mockkube.runtime.hot_loops import HotLoop
from mockkube.runtime.steps import Signal

LOOP_RATE_METRIC: Final = "mockkube_kubelet_loop_rate"
WINDOW_SECONDS: Final = 60.0
# Rejections within the window from which on they are a loop.
LOOP_MIN: Final = 5
# Rejections remembered per owner and reason; higher rates are reported as this one.
_TIMES_MAX: Final = 1000
# Pairs of owner and reason that are remembered; the least recently rejected is dropped first.
_OWNERS_MAX: Final = 1000


_CONTROLLER: Final = "admission"


class RejectionLoops(Collector):
    """Rejected pods by owner and reason; a metrics collector of those that loop now."""

    def __init__(self, clock: Clock, signal: Signal | None = None) -> None:
        """Notify the signal when a loop begins; a loop ends without a notification."""
        self._clock, self._signal = clock, signal or Signal()
        self._rejection_times: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()

    def record_rejection(self, pod: ReadOnlyObject, reason: str) -> None:
        """Record a rejected pod."""
        pair = (_describe_owner(pod), reason)
        times = self._rejection_times.setdefault(pair, deque(maxlen=_TIMES_MAX))
        times.append(self._clock.monotonic())
        self._rejection_times.move_to_end(pair)
        if len(self._rejection_times) > _OWNERS_MAX:
            self._rejection_times.popitem(last=False)
        # Equality, not a minimum: the signal is notified once, when the loop begins.
        if self._count_recent(times) == LOOP_MIN:
            self._signal.notify()

    def find_loops(self) -> list[HotLoop]:
        """Return current loops with their rate per minute, ordered by owner and reason."""
        for pair, moments in list(self._rejection_times.items()):
            if not self._count_recent(moments):
                del self._rejection_times[pair]
        rates = ((pair, len(moments)) for pair, moments in sorted(self._rejection_times.items()))
        return [HotLoop(_CONTROLLER, owner, reason, rate) for (owner, reason), rate in rates if rate >= LOOP_MIN]

    def _count_recent(self, moments: deque[float]) -> int:
        """Return how many rejections lie within the window; drop older ones."""
        since = self._clock.monotonic() - WINDOW_SECONDS
        while moments and moments[0] < since:
            moments.popleft()
        return len(moments)

    def describe(self) -> Iterator[Metric]:
        """Return no metrics, so that the registry does not call `collect` when this is registered."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Return the rate of each loop, per minute."""
        family = GaugeMetricFamily(
            LOOP_RATE_METRIC,
            "Rejections per minute of pods of one owner that kubelets reject again and again.",
            labels=["controller", "object", "cause"],
        )
        for loop in self.find_loops():
            family.add_metric([loop.controller, loop.object, loop.cause], loop.per_minute)
        yield family


def _describe_owner(pod: ReadOnlyObject) -> str:
    """Return the controller that replaces the pod; the pod itself if it has none."""
    metadata = pod["metadata"]
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return f"{owner['kind']} {metadata['namespace']}/{owner['name']}"
    return f"Pod {metadata['namespace']}/{metadata['name']}"
