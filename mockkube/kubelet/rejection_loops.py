"""Detect rejection loops: owners whose pods the kubelets reject again and again, by reason and rate.

The controller replaces the rejected pod, and the scheduler, which knows nothing of the rejection, binds the new one to
a node that rejects it again. Several rejections of one owner for one reason within a minute are reported as a hot loop.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mockkube.api.types import ReadOnlyObject
from mockkube.runtime.clock import Clock
from mockkube.runtime.loop_board import HotLoop
from mockkube.runtime.steps import Signal

METRIC: Final = "mockkube_kubelet_loop_rate"
WINDOW_SECONDS: Final = 60.0
# Rejections within the window from which on they are a loop.
LOOP_MIN: Final = 5
# Rejections remembered per owner and reason; higher rates are reported as this one.
_MOMENTS_MAX: Final = 1000
# Pairs of owner and reason that are remembered; the least recently rejected is dropped first.
_OWNERS_MAX: Final = 1000


_CONTROLLER: Final = "admission"


class Refusals(Collector):
    """Rejected pods by owner and reason; a metrics collector of those that loop now."""

    def __init__(self, clock: Clock, bell: Signal | None = None) -> None:
        """Notify the signal when a loop begins; a loop ends without a notification."""
        self._clock, self._bell = clock, bell or Signal()
        self._moments: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()

    def refused(self, pod: ReadOnlyObject, reason: str) -> None:
        """Record a rejected pod."""
        pair = (_owner_of(pod), reason)
        times = self._moments.setdefault(pair, deque(maxlen=_MOMENTS_MAX))
        times.append(self._clock.monotonic())
        self._moments.move_to_end(pair)
        if len(self._moments) > _OWNERS_MAX:
            self._moments.popitem(last=False)
        # Equality, not a minimum: the signal is notified once, when the loop begins.
        if self._recent(times) == LOOP_MIN:
            self._bell.notify()

    def current(self) -> list[HotLoop]:
        """Return current loops with their rate per minute, ordered by owner and reason."""
        for pair, moments in list(self._moments.items()):
            if not self._recent(moments):
                del self._moments[pair]
        rates = ((pair, len(moments)) for pair, moments in sorted(self._moments.items()))
        return [HotLoop(_CONTROLLER, owner, reason, rate) for (owner, reason), rate in rates if rate >= LOOP_MIN]

    def _recent(self, moments: deque[float]) -> int:
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
            METRIC,
            "Rejections per minute of pods of one owner that kubelets reject again and again.",
            labels=["controller", "object", "cause"],
        )
        for loop in self.current():
            family.add_metric([loop.controller, loop.object, loop.cause], loop.per_minute)
        yield family


def _owner_of(pod: ReadOnlyObject) -> str:
    """Return the controller that replaces the pod; the pod itself if it has none."""
    metadata = pod["metadata"]
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return f"{owner['kind']} {metadata['namespace']}/{owner['name']}"
    return f"Pod {metadata['namespace']}/{metadata['name']}"
