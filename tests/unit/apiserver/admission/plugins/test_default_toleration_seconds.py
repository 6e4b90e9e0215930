import pytest

from mockkube.apiserver.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds

NOT_READY = {
    "key": "node.kubernetes.io/not-ready",
    "operator": "Exists",
    "effect": "NoExecute",
    "tolerationSeconds": 300,
}
UNREACHABLE = {**NOT_READY, "key": "node.kubernetes.io/unreachable"}


def pod(*tolerations):
    spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": list(tolerations)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}, "spec": spec}


@pytest.mark.parametrize(
    ("given", "added"),
    [
        pytest.param([], [NOT_READY, UNREACHABLE], id="none of its own"),
        pytest.param([{"operator": "Exists"}], [], id="one that tolerates everything"),
        pytest.param([{"operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE], id="another effect"),
        pytest.param(
            [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 5}],
            [UNREACHABLE],
            id="one of the two",
        ),
    ],
)
async def test_a_pod_gets_the_tolerations_it_lacks(world, given, added):
    request = world.creation(pod(*given))
    DefaultTolerationSeconds().admit(request)
    assert request.new["spec"].get("tolerations", []) == [*given, *added]


async def test_the_seconds_are_those_the_server_was_told(world):
    request = world.creation(pod())
    DefaultTolerationSeconds(not_ready_seconds=7, unreachable_seconds=8).admit(request)
    assert [one["tolerationSeconds"] for one in request.new["spec"]["tolerations"]] == [7, 8]


async def test_a_subresource_is_left_alone(world):
    request = world.update(pod(), pod(), "status")
    DefaultTolerationSeconds().admit(request)
    assert "tolerations" not in request.new["spec"]
