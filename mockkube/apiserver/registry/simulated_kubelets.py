"""Simulated kubelets, as an API server sees them when a client connects to a container."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import field
from datetime import datetime
from decimal import Decimal
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.containers.container_states import ContainerStates

# Containers whose time is counted; those that were asked for least recently are forgotten, and start over.
COUNTERS_MAX: Final = 100_000
CounterKey = tuple[str, str]
"""Uid of the pod, and name of the container."""


@dataclass(frozen=True, slots=True)
class _Count:
    started_at: datetime
    counted_at: datetime
    seconds: Decimal


class CpuCounters:
    """Cpu time of containers, which never decreases: usage depends on annotations, whose past values nobody keeps.

    Each container is taken to have used what it uses now since it was asked for last, or since its start.
    """

    def __init__(self) -> None:
        self._counts: OrderedDict[CounterKey, _Count] = OrderedDict()

    def count(self, key: CounterKey, started_at: datetime, now: datetime, cores: Decimal) -> Decimal:
        """Return the core-seconds that a container has used since its start, if it uses so many cores now."""
        known = self._counts.get(key)
        if known is None or known.started_at != started_at or known.counted_at > now:
            known = _Count(started_at, started_at, Decimal(0))
        seconds = known.seconds + cores * Decimal(str(max(0.0, (now - known.counted_at).total_seconds())))
        self._counts[key] = _Count(started_at, now, seconds)
        self._counts.move_to_end(key)
        if len(self._counts) > COUNTERS_MAX:
            self._counts.popitem(last=False)
        return seconds


@dataclass(frozen=True, slots=True)
class SimulatedKubelets:
    """Kubelets of a cluster, shared by its API servers."""

    is_running: Callable[[str], bool] = lambda node: True
    """Return whether the component that simulates the kubelet of a node runs."""
    are_left_out: bool = False
    """Whether this process was started without kubelets, so that they may run elsewhere."""
    container_states: ContainerStates = field(default_factory=ContainerStates)
    """What commands of exec have changed in containers."""
    cpu_counters: CpuCounters = field(default_factory=CpuCounters)
    """Cpu time that containers have used."""
