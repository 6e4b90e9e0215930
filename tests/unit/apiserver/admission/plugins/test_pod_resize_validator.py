import pytest

from mockkube.api.errors import Forbidden
from mockkube.apiserver.admission.plugins.pod_resize_validator import PodResizeValidator

PLUGIN = PodResizeValidator()


def node(system="linux", **allocatable):
    metadata = {"name": "n", "labels": {"kubernetes.io/os": system}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}


def pod(generation, name="n", **requests):
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    metadata = {"name": "p", "namespace": "ns", "generation": generation}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], "nodeName": name},
    }


async def test_a_pod_may_grow_to_what_its_node_has(world):
    await world.put(node(cpu="2", memory="1Gi"))
    PLUGIN.validate(world.update(pod(2, cpu="2", memory="1Gi"), pod(1, cpu="1"), "resize"))


@pytest.mark.parametrize(
    ("of_node", "name", "why", "reasons"),
    [
        pytest.param(
            node(cpu="2"),
            "n",
            "node didn't have enough allocatable resources: cpu, requested: 3000, allocatable: 2000; "
            "memory, requested: 1048576, allocatable: 0",
            ["NodeCapacity"],
            id="a node that is too small",
        ),
        pytest.param(
            node("windows"),
            "n",
            'pod resize is only supported on linux nodes, node "n" is "windows"',
            ["UnsupportedPlatform"],
            id="a node that cannot",
        ),
        pytest.param(node(), "gone", 'node "gone" not found', [], id="a node nobody knows"),
    ],
)
async def test_a_pod_may_not_grow_on(world, of_node, name, why, reasons):
    await world.put(of_node)
    with pytest.raises(Forbidden) as caught:
        PLUGIN.validate(world.update(pod(2, name, cpu="3", memory="1Mi"), pod(1, name), "resize"))
    assert caught.value.message == f'pods "p" is forbidden: {why}'
    assert [cause["reason"] for cause in caught.value.status()["details"].get("causes", [])] == reasons


async def test_a_pod_that_stays_as_it_is_is_not_judged(world):
    PLUGIN.validate(world.update(pod(1, "gone"), pod(1, "gone"), "resize"))
