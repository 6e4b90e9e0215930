"""Zones of nodes: disruption state, and rate-limited queue of nodes to taint.

If all zones seem lost, the fault is more likely in the control plane's network: then nothing is evicted.
upstream 1.36: pkg/controller/nodelifecycle
"""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.controllers.framework.options import NodeOptions
from mockkube.lazy_dataclasses import dataclass

_ZONE_LABELS: Final = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_REGION_LABELS: Final = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
# With up to this many lost nodes a zone is never partially disrupted.
_LOST_NODES_MIN: Final = 2


class ZoneState(StrEnum):
    """Disruption state of a zone."""

    INITIAL = "Initial"
    NORMAL = "Normal"
    PARTIAL = "PartialDisruption"
    FULL = "FullDisruption"


def zone_key(node: ReadOnlyObject) -> str:
    """Return the key of a node's zone; empty for none."""
    labels = node["metadata"].get("labels", {})
    zone, region = _first(labels, _ZONE_LABELS), _first(labels, _REGION_LABELS)
    # The separator of upstream's GetZoneKey, which shows in the zone label of metrics.
    return f"{region}:\x00:{zone}" if region or zone else ""


def _first(labels: ReadOnlyObject, names: Iterable[str]) -> str:
    return next((labels[name] for name in names if name in labels), "")


def compute_zone_state(ready: Sequence[bool], unhealthy_threshold: float) -> ZoneState:
    """Return the state of a zone from the readiness of its nodes."""
    not_ready = len(ready) - sum(ready)
    if not_ready and not_ready == len(ready):
        return ZoneState.FULL
    if not_ready > _LOST_NODES_MIN and not_ready / len(ready) >= unhealthy_threshold:
        return ZoneState.PARTIAL
    return ZoneState.NORMAL


def eviction_rate(state: ZoneState, size: int, options: NodeOptions) -> float:
    """Return how many nodes of a zone may be tainted per second; zero for none."""
    if state is not ZoneState.PARTIAL:
        return options.eviction_rate
    return options.secondary_eviction_rate if size > options.large_cluster_size else 0.0


@dataclass(slots=True)
class TimedNode:
    """Node to be tainted, not before a time."""

    name: str
    not_before: float


class RateLimitedTimedQueue:
    """Lost nodes of a zone, tainted one at a time at the zone's rate; each once until it is removed."""

    def __init__(self, per_second: float, now: Callable[[], float]) -> None:
        self._now = now
        self._per_second = per_second
        self._token_at = now()
        self._waiting: list[TimedNode] = []
        self._known: set[str] = set()

    def add(self, name: str) -> bool:
        """Queue a node; False if it was queued before and not removed."""
        if name in self._known:
            return False
        self._known.add(name)
        self._waiting.append(TimedNode(name, self._now()))
        return True

    def remove(self, name: str) -> bool:
        """Forget a node; False if it is not known."""
        if name not in self._known:
            return False
        self._known.remove(name)
        self._waiting = [waiting for waiting in self._waiting if waiting.name != name]
        return True

    def swap_limiter(self, per_second: float) -> None:
        """Change the rate; if the old one was exhausted, the new one starts exhausted too."""
        if per_second == self._per_second:
            return
        stopped = not self._per_second or self._now() < self._token_at
        self._per_second = per_second
        self._token_at = self._now() + (1 / per_second if stopped and per_second else 0.0)

    def due_at(self) -> float | None:
        """Return when the next node may be tainted; None if no node waits or the rate is zero."""
        if not self._waiting or not self._per_second:
            return None
        return max(self._token_at, self._head().not_before)

    def take(self) -> str | None:
        """Return the next node to taint if it is due; it stays queued until `finish` or `postpone`."""
        now = self._now()
        if not self._waiting or not self._per_second or now < self._token_at:
            return None
        # As upstream, the token is spent even if the head of the queue turns out not to be due.
        self._token_at = now + 1 / self._per_second
        head = self._head()
        return head.name if head.not_before <= now else None

    def finish(self, name: str) -> None:
        """Remove a node from the queue, tainted or not; it stays known."""
        self._waiting = [waiting for waiting in self._waiting if waiting.name != name]

    def postpone(self, name: str, seconds: float) -> None:
        """Try a node again later."""
        for waiting in self._waiting:
            if waiting.name == name:
                waiting.not_before = self._now() + seconds

    def _head(self) -> TimedNode:
        return min(self._waiting, key=lambda waiting: waiting.not_before)
