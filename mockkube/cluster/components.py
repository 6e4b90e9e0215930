"""What each component of a cluster can do: its own version and gates over those of the cluster."""

from typing import Final

from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.readings import ComponentConfiguration
from mockkube.features.capabilities import Capabilities

API_SERVER: Final = "kube-apiserver"

_NOTHING: Final = ComponentConfiguration()


def capabilities_of(configuration: ClusterConfiguration, component: str) -> Capabilities:
    """Return a component's version and gates: `kubelet.n1` before `kubelet` before the whole cluster."""
    name, _, replica = component.partition(".")
    own = configuration.components.get(name, _NOTHING)
    if replica:
        own = configuration.components.get(component, _NOTHING).over(own)
    gates = {**configuration.feature_gates, **own.feature_gates}
    return Capabilities(
        version=own.version or configuration.version,
        gates=frozenset(gate for gate, enabled in gates.items() if enabled),
    )
