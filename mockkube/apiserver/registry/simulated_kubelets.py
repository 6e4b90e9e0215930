"""Simulated kubelets, as an API server sees them when a client connects to a container."""

from collections.abc import Callable
from dataclasses import field

from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.usage.cpu_counters import CpuCounters
from mockkube.shell.containers.container_states import ContainerStates


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
