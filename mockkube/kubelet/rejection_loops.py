"""Rejection loops made visible: whose pods are refused again and again, for what reason, and how often.

A loop is an owner some of whose pods were refused several times within a minute for one reason: it makes them anew, and
the scheduler, which sees nothing wrong, places them where they are refused again.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mockkube.api.types import ReadOnlyObject
from mockkube.runtime.clock import Clock
from mockkube.runtime.loop_board import Loop
from mockkube.runtime.steps import Bell

METRIC: Final = "mockkube_kubelet_loop_rate"
WINDOW_SECONDS: Final = 60.0
LOOP_MIN: Final = 5
"""Refusals within the window from which on it is called a loop."""
_MOMENTS_MAX: Final = 1000
"""Moments remembered of one owner and reason: rates above this many a minute all look the same."""
_OWNERS_MAX: Final = 1000
"""Owners and reasons remembered; the one that was quiet for longest is dropped first."""


_CONTROLLER: Final = "admission"


class Refusals(Collector):
    """Refused pods by owner and reason; as a collector of metrics it shows those that are loops now."""

    def __init__(self, clock: Clock, bell: Bell | None = None) -> None:
        """Ring the bell when a loop begins; it ends by itself."""
        self._clock, self._bell = clock, bell or Bell()
        self._moments: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()

    def refused(self, pod: ReadOnlyObject, reason: str) -> None:
        """Take note of a pod that was not let in."""
        pair = (_owner_of(pod), reason)
        moments = self._moments.setdefault(pair, deque(maxlen=_MOMENTS_MAX))
        moments.append(self._clock.monotonic())
        self._moments.move_to_end(pair)
        if len(self._moments) > _OWNERS_MAX:
            self._moments.popitem(last=False)
        if self._recent(moments) == LOOP_MIN:
            self._bell.ring()

    def current(self) -> list[Loop]:
        """Return those that are loops, with how often a minute, in the order of owners and reasons."""
        for pair, moments in list(self._moments.items()):
            if not self._recent(moments):
                del self._moments[pair]
        rates = ((pair, len(moments)) for pair, moments in sorted(self._moments.items()))
        return [Loop(_CONTROLLER, owner, reason, rate) for (owner, reason), rate in rates if rate >= LOOP_MIN]

    def _recent(self, moments: deque[float]) -> int:
        """Return how many of the moments are within the window; older ones are dropped."""
        since = self._clock.monotonic() - WINDOW_SECONDS
        while moments and moments[0] < since:
            moments.popleft()
        return len(moments)

    def describe(self) -> Iterator[Metric]:
        """Return nothing: what there is depends on the moment."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Return the rate of each loop, per minute."""
        family = GaugeMetricFamily(
            METRIC,
            "Times a minute that kubelets refuse pods of one owner, without end.",
            labels=["controller", "object", "cause"],
        )
        for loop in self.current():
            family.add_metric([loop.controller, loop.object, loop.cause], loop.per_minute)
        yield family


def _owner_of(pod: ReadOnlyObject) -> str:
    """Return who makes the pod anew; the pod itself if nobody does."""
    metadata = pod["metadata"]
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return f"{owner['kind']} {metadata['namespace']}/{owner['name']}"
    return f"Pod {metadata['namespace']}/{metadata['name']}"
