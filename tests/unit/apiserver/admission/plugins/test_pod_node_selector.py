import pytest

from mockkube.api.errors import ApiError, Forbidden
from mockkube.apiserver.admission.plugins.pod_node_selector import NODE_SELECTOR_ANNOTATION, PodNodeSelector

PLUGIN = PodNodeSelector()


def namespace(selector):
    metadata = {"name": "ns", "annotations": {NODE_SELECTOR_ANNOTATION: selector}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def pod(**selector):
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeSelector": selector}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}, "spec": spec}


async def test_a_pod_runs_where_its_namespace_says(world):
    await world.put(namespace("zone=a,disk=ssd"))
    request = world.creation(pod(gpu="yes"))
    PLUGIN.admit(request)
    assert request.new["spec"]["nodeSelector"] == {"zone": "a", "disk": "ssd", "gpu": "yes"}


async def test_a_pod_that_wants_to_be_elsewhere_is_refused(world):
    await world.put(namespace("zone=a"))
    with pytest.raises(Forbidden, match="conflicts with its namespace node label selector"):
        PLUGIN.admit(world.creation(pod(zone="b")))


async def test_a_selector_that_cannot_be_read_is_the_servers_failure(world):
    await world.put(namespace("zone"))
    with pytest.raises(ApiError, match="invalid selector: zone") as caught:
        PLUGIN.admit(world.creation(pod()))
    assert caught.value.code == 500
