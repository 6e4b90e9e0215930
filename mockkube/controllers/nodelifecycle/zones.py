"""Zones of nodes: how healthy they are, and at which pace their lost nodes may be tainted.

When everything seems lost, it is more likely the control plane that is: then nothing is evicted.
upstream 1.36: pkg/controller/nodelifecycle
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.controllers.options import NodeOptions

_ZONE_LABELS: Final = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_REGION_LABELS: Final = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_FEW: Final = 2
"""Up to so many lost nodes a zone is never partially disrupted."""


class ZoneState(StrEnum):
    """How much of a zone is lost."""

    INITIAL = "Initial"
    NORMAL = "Normal"
    PARTIAL = "PartialDisruption"
    FULL = "FullDisruption"


def zone_of(node: ReadOnlyObject) -> str:
    """Return the key of the zone a node is in; empty for none."""
    labels = node["metadata"].get("labels", {})
    zone, region = _first(labels, _ZONE_LABELS), _first(labels, _REGION_LABELS)
    return f"{region}:\x00:{zone}" if region or zone else ""


def _first(labels: ReadOnlyObject, names: Iterable[str]) -> str:
    return next((labels[name] for name in names if name in labels), "")


def state_of(ready: Sequence[bool], unhealthy_threshold: float) -> ZoneState:
    """Return the state of a zone, given for each of its nodes whether it is ready."""
    lost = len(ready) - sum(ready)
    if lost and lost == len(ready):
        return ZoneState.FULL
    if lost > _FEW and lost / len(ready) >= unhealthy_threshold:
        return ZoneState.PARTIAL
    return ZoneState.NORMAL


def rate_of(state: ZoneState, size: int, options: NodeOptions) -> float:
    """Return how many nodes per second of a zone may be tainted; zero: none."""
    if state is not ZoneState.PARTIAL:
        return options.eviction_rate
    return options.secondary_eviction_rate if size > options.large_cluster_size else 0.0


@dataclass(slots=True)
class Waiting:
    """A node that waits to be tainted."""

    name: str
    not_before: float


class ZoneQueue:
    """The lost nodes of a zone, tainted one at a time at the zone's rate. A node is taken up once, until removed."""

    def __init__(self, per_second: float, now: Callable[[], float]) -> None:
        self._now = now
        self._per_second = per_second
        self._free_at = now()
        self._waiting: list[Waiting] = []
        self._known: set[str] = set()

    def add(self, name: str) -> bool:
        """Let a node wait; False if it was taken up before and not removed."""
        if name in self._known:
            return False
        self._known.add(name)
        self._waiting.append(Waiting(name, self._now()))
        return True

    def remove(self, name: str) -> bool:
        """Forget a node; False if it is not known."""
        if name not in self._known:
            return False
        self._known.remove(name)
        self._waiting = [waiting for waiting in self._waiting if waiting.name != name]
        return True

    def swap_rate(self, per_second: float) -> None:
        """Change the rate; whoever had to wait under the old one waits under the new one from now on."""
        if per_second == self._per_second:
            return
        stopped = not self._per_second or self._now() < self._free_at
        self._per_second = per_second
        self._free_at = self._now() + (1 / per_second if stopped and per_second else 0.0)

    def due_at(self) -> float | None:
        """Return when the next node may be tainted; None when none waits or none may."""
        if not self._waiting or not self._per_second:
            return None
        return max(self._free_at, self._head().not_before)

    def take(self) -> str | None:
        """Return the next node to taint if it is time, and keep it waiting until `finish` or `postpone`."""
        now = self._now()
        if not self._waiting or not self._per_second or now < self._free_at:
            return None
        self._free_at = now + 1 / self._per_second
        head = self._head()
        return head.name if head.not_before <= now else None

    def finish(self, name: str) -> None:
        """Say that a node is tainted, or need not be; it stays known."""
        self._waiting = [waiting for waiting in self._waiting if waiting.name != name]

    def postpone(self, name: str, seconds: float) -> None:
        """Try a node again later."""
        for waiting in self._waiting:
            if waiting.name == name:
                waiting.not_before = self._now() + seconds

    def _head(self) -> Waiting:
        return min(self._waiting, key=lambda waiting: waiting.not_before)
