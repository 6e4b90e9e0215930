import pytest

from mockkube.apiserver.admission.plugins.pod_topology_labels import PodTopologyLabels

ZONE = "topology.kubernetes.io/zone"
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {ZONE: "a", "disk": "ssd"}}}


def pod(node, **labels):
    spec = {"containers": [{"name": "c", "image": "i"}]} | ({"nodeName": node} if node else {})
    metadata = {"name": "p", "namespace": "ns", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("node", "labels"),
    [
        pytest.param("n", {"app": "x", ZONE: "a"}, id="with its node"),
        pytest.param("unknown", {"app": "x"}, id="not with a node nobody knows"),
        pytest.param("", {"app": "x"}, id="not without a node"),
    ],
)
async def test_a_pod_learns_its_zone(world, node, labels):
    await world.put(NODE)
    created = world.creation(pod(node, app="x"))
    bound = world.update(pod(node, app="x"), pod("", app="x"), "binding")
    for request in (created, bound):
        PodTopologyLabels().admit(request)
        assert request.new["metadata"]["labels"] == labels


async def test_an_update_teaches_nothing(world):
    await world.put(NODE)
    request = world.update(pod("n", app="x"), pod("n", app="x"))
    PodTopologyLabels().admit(request)
    assert request.new["metadata"]["labels"] == {"app": "x"}
