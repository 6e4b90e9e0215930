"""NodePorts plugin: filter nodes on which a host port of the pod is in use.

upstream 1.36: pkg/scheduler/framework/plugins/nodeports/node_ports.go
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from mockkube.scheduler.framework.interface import (
    CacheScope,
    CycleState,
    FilterPlugin,
    PluginDependencies,
    PreFilterPlugin,
    PreFilterResult,
)
from mockkube.scheduler.framework.node_info import NodeInfo, NodeInfoLister
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SKIP, SUCCESS, Status

_REASON: Final = "node(s) didn't have free ports for the requested pod ports"
_ANY: Final = "0.0.0.0"  # noqa: S104 (compared with, not listened at)


class HostPort(NamedTuple):
    """Port on which a container listens on its node."""

    protocol: str
    port: int
    address: str

    def conflicts_with(self, other: "HostPort") -> bool:
        """Return whether both ports cannot be used on one node."""
        if self.port != other.port or self.protocol != other.protocol:
            return False
        return self.address == other.address or _ANY in (self.address, other.address)


class NodePorts(PreFilterPlugin, FilterPlugin):
    """Filters nodes on which a host port of the pod is in use."""

    name = "NodePorts"
    filter_scope = CacheScope.LOAD

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        """Accept and ignore arguments."""

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for new nodes and for deleted pods that used the ports."""
        return (
            ClusterEventWithHint(EventResource.ASSIGNED_POD, ActionType.DELETE, _is_schedulable_after_pod_deleted),
            ClusterEventWithHint(EventResource.NODE, ActionType.ADD),
        )

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeInfoLister) -> PreFilterResult:
        """Skip pods without host ports."""
        return PreFilterResult() if host_ports(pod) else PreFilterResult(SKIP)

    def skips_pre_filter(self, spec: ReadOnlyObject) -> bool:
        """Return whether the pod has no host ports."""
        return next(_read_host_ports(spec), None) is None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Reject nodes on which a port is in use."""
        ports_in_use = node.derive(NodePorts, _ports_in_use)
        for wanted in host_ports(pod):
            for port in ports_in_use.get((wanted.protocol, wanted.port), ()):
                if wanted.conflicts_with(port):
                    return Status.unschedulable(_REASON, wanted=wanted._asdict(), taken=port._asdict())
        return SUCCESS


def host_ports(pod: PodInfo) -> tuple[HostPort, ...]:
    """Return the host ports of containers and sidecars."""
    return pod.derive_from_spec(HostPort, lambda spec: tuple(_read_host_ports(spec)))


def _read_host_ports(spec: ReadOnlyObject) -> Iterator[HostPort]:
    # Other init containers have ended when the pod's containers listen.
    sidecars = (one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always")
    for container in (*sidecars, *(spec.get("containers") or ())):
        for port in container.get("ports") or ():
            if port.get("hostPort", 0) > 0:
                yield HostPort(port.get("protocol") or "TCP", port["hostPort"], port.get("hostIP") or _ANY)


def _ports_in_use(node: NodeInfo) -> dict[tuple[str, int], list[HostPort]]:
    ports: dict[tuple[str, int], list[HostPort]] = {}
    for pod in node.pods.values():
        for port in host_ports(pod):
            ports.setdefault((port.protocol, port.port), []).append(port)
    return ports


def _is_schedulable_after_pod_deleted(pod: PodInfo, event: ClusterEvent) -> bool:
    if event.old is None:
        return False
    deleted = PodInfo(event.old)
    # A pod without a node, assumed or nominated, used no port anywhere.
    if not deleted.node_name and not deleted.nominated_node:
        return False
    return any(mine.conflicts_with(other) for mine in host_ports(pod) for other in host_ports(deleted))
