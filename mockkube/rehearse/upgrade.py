"""Upgrade: the versions and gates that components have before and after it, and the objects of the cluster."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.registry import encoding
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.snapshots.snapshot_contents import SnapshotContents
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.features.errors import FlagError
from mockkube.features.gates import enabled_gates, gate_registry
from mockkube.features.versions import OLDEST, Version
from mockkube.importing.source_version import find_kubelet_version
from mockkube.proposals.loading import default_trains

# Labels that managed clusters and installers give the nodes of a pool.
POOL_LABELS: Final = (
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "karpenter.sh/nodepool",
    "kops.k8s.io/instancegroup",
    "node.kubernetes.io/pool",
)
_CONTROL_PLANE_LABEL: Final = "node-role.kubernetes.io/control-plane"
CONTROL_PLANE_POOL: Final = "control-plane"
_ONLY_POOL: Final = "nodes"


class Upgrade:
    """An upgrade of an imported cluster."""

    def __init__(
        self,
        contents: SnapshotContents,
        to: Version,
        gates: Mapping[str, bool] | None = None,
        *,
        pool_label: str = "",
    ) -> None:
        """`gates` are set in addition after the upgrade, `pool_label` names the pool of each node."""
        self.contents, self.to, self.gates = contents, to, dict(gates or {})
        self._pool_label = pool_label

    @cached_property
    def objects(self) -> list[Object]:
        """All objects, as they are stored."""
        return [encoding.loads(encoding.decode_stored(value, 1)[1]) for value in self.contents.entries.values()]

    def list_kind(self, *kinds: str) -> Iterator[Object]:
        """Yield the objects of some kinds."""
        return (obj for obj in self.objects if obj["kind"] in kinds)

    # Components

    def version_of(self, component: str) -> Version:
        """Return the present version of a component."""
        components = self.contents.components
        found = components.get(component) or components.get(component.partition(".")[0]) or {}
        return Version.parse(found["version"]) if "version" in found else self.to

    @property
    def version(self) -> Version:
        """The present version of the oldest API server."""
        return min(self.version_of(name) for name in self.api_servers)

    @property
    def api_servers(self) -> list[str]:
        """Names of the API servers."""
        return [name for name in self.contents.components if name.partition(".")[0] == API_SERVER] or [API_SERVER]

    def gates_of(self, component: str) -> dict[str, bool]:
        """Return the gates that are set for a component now."""
        components = self.contents.components
        found = components.get(component) or components.get(component.partition(".")[0]) or {}
        return dict(found.get("featureGates") or {})

    def gates_after(self, component: str) -> dict[str, bool]:
        """Return the gates that are set for a component after the upgrade; it would not know others of `--gates`."""
        known = gate_registry(self.to, default_trains(), component).histories
        return {**self.gates_of(component), **{gate: on for gate, on in self.gates.items() if gate in known}}

    def startable_gates(self, component: str) -> dict[str, bool]:
        """Return the gates after the upgrade without those that the component would refuse."""
        gates = self.gates_after(component)
        return {gate: on for gate, on in gates.items() if not self.find_flag_error(component, {gate: on})}

    def added_gates(self, component: str) -> dict[str, bool]:
        """Return the gates of the command that a component gets and accepts."""
        return {gate: on for gate, on in self.startable_gates(component).items() if gate in self.gates}

    def find_flag_error(self, component: str, gates: Mapping[str, bool]) -> str:
        """Return why a component would not start at the new version with these gates; empty if it would."""
        try:
            ComponentSettings(component, self.to, dict(gates), default_trains()).validate()
        except FlagError as error:
            return str(error)
        return ""

    def capabilities_before(self, component: str = API_SERVER) -> Capabilities:
        """Return the present capabilities of a component."""
        trains, version = default_trains(), self.version if component == API_SERVER else self.version_of(component)
        known = gate_registry(version, trains, component).histories
        gates = {gate: on for gate, on in self.gates_of(component).items() if gate in known}
        return Capabilities(version, enabled_gates(version, gates, trains, component=component), trains)

    def capabilities_after(self, component: str = API_SERVER) -> Capabilities:
        """Return the capabilities of a component after the upgrade."""
        trains = default_trains()
        gates = self.startable_gates(component)
        return Capabilities(self.to, enabled_gates(self.to, gates, trains, component=component), trains)

    # Nodes

    @cached_property
    def pools(self) -> dict[str, list[str]]:
        """Names of nodes by pool, the control plane first."""
        pools: dict[str, list[str]] = {}
        for node in self.list_kind("Node"):
            pools.setdefault(self._find_pool(node), []).append(node["metadata"]["name"])
        return {name: sorted(pools[name]) for name in sorted(pools, key=lambda one: (one != CONTROL_PLANE_POOL, one))}

    def _find_pool(self, node: ReadOnlyObject) -> str:
        labels = node["metadata"].get("labels") or {}
        for key in (self._pool_label,) if self._pool_label else POOL_LABELS:
            if key in labels:
                return str(labels[key])
        return CONTROL_PLANE_POOL if _CONTROL_PLANE_LABEL in labels else _ONLY_POOL

    def find_outdated(self, nodes: Sequence[str]) -> list[str]:
        """Return the nodes whose kubelet is older than the new version."""
        return [name for name in nodes if self._kubelets.get(name, self.version) < self.to]

    def find_oldest_kubelet(self, nodes: Sequence[str]) -> Version:
        """Return the version of the oldest kubelet of some nodes."""
        return max(min(self._kubelets.get(name, self.version) for name in nodes), OLDEST)

    @cached_property
    def _kubelets(self) -> dict[str, Version]:
        """Version of the kubelet by node."""
        versions = ((node["metadata"]["name"], find_kubelet_version(node)) for node in self.list_kind("Node"))
        return {name: version for name, version in versions if version is not None}


CONTROL_PLANE: Final = (CONTROLLER_MANAGER, SCHEDULER)
COMPONENTS: Final = (API_SERVER, *CONTROL_PLANE, KUBELET)
