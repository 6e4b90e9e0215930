"""A component's version and gates: its own before the fleet's before the cluster's."""

import pytest

from mockkube.cluster.components import capabilities_of
from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.readings import ComponentConfiguration
from mockkube.features.versions import Version

CONFIGURATION = ClusterConfiguration(
    version=Version(1, 36),
    feature_gates={"A": True, "B": False},
    components={
        "kubelet": ComponentConfiguration(Version(1, 34), {"B": True}),
        "kubelet.n1": ComponentConfiguration(None, {"A": False}),
        "kubelet.n2": ComponentConfiguration(Version(1, 35), {}),
    },
)


@pytest.mark.parametrize(
    ("component", "version", "gates"),
    [
        pytest.param("kube-apiserver", Version(1, 36), {"A"}, id="nothing of its own"),
        pytest.param("kubelet", Version(1, 34), {"A", "B"}, id="its own over the cluster's"),
        pytest.param("kubelet.n1", Version(1, 34), {"B"}, id="one node's gates over the fleet's"),
        pytest.param("kubelet.n2", Version(1, 35), {"A", "B"}, id="one node's version over the fleet's"),
        pytest.param("kubelet.n3", Version(1, 34), {"A", "B"}, id="a node that is not named"),
    ],
)
def test_capabilities(component: str, version: Version, gates: set[str]) -> None:
    capabilities = capabilities_of(CONFIGURATION, component)
    assert capabilities.version == version
    assert capabilities.gates == gates
