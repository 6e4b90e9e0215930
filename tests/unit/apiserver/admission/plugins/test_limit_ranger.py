import pytest

from mockkube.api.errors import Forbidden
from mockkube.apiserver.admission.plugins.limit_ranger import LimitRanger

PLUGIN = LimitRanger()


def limit_range(*limits, name="l"):
    metadata = {"name": name, "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": list(limits)}}


def pod(*resources, **spec):
    containers = [{"name": f"c{index}", "image": "i", "resources": one} for index, one in enumerate(resources)]
    metadata = {"name": "p", "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


def claim(size):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    metadata = {"name": "c", "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


async def test_containers_get_the_defaults_they_lack(world):
    await world.put(
        limit_range({"type": "Container", "default": {"cpu": "2", "memory": "1Gi"}, "defaultRequest": {"cpu": "1"}})
    )
    request = world.creation(pod({"requests": {"cpu": "500m"}}, {}))
    PLUGIN.admit(request)
    first, second = (one["resources"] for one in request.new["spec"]["containers"])
    limits = {"cpu": "2", "memory": "1Gi"}
    assert first == {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": limits}
    assert second == {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": limits}
    assert request.new["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: memory request for container c0; cpu, memory limit for container c0; "
        "cpu, memory request for container c1; cpu, memory limit for container c1"
    )


async def test_a_limit_range_of_another_namespace_counts_for_nothing(world):
    other = limit_range({"type": "Container", "default": {"cpu": "2"}})
    other["metadata"]["namespace"] = "ns2"
    await world.put(other)
    request = world.creation(pod({}))
    PLUGIN.admit(request)
    assert request.new["spec"]["containers"][0]["resources"] == {}


def container(**limit):
    return {"type": "Container", **limit}


@pytest.mark.parametrize(
    ("limit", "obj", "why"),
    [
        pytest.param(
            container(max={"cpu": "1"}),
            pod({"limits": {"cpu": "2"}}),
            "maximum cpu usage per Container is 1, but limit is 2",
            id="a limit above the maximum",
        ),
        pytest.param(
            container(max={"cpu": "1"}),
            pod({"requests": {"memory": "1Gi"}}),
            "maximum cpu usage per Container is 1.  No limit is specified",
            id="no limit",
        ),
        pytest.param(
            container(min={"memory": "1Gi"}),
            pod({"requests": {"memory": "512Mi"}}),
            "minimum memory usage per Container is 1Gi, but request is 512Mi",
            id="a request below the minimum",
        ),
        pytest.param(
            container(min={"cpu": "1"}),
            pod({}),
            "minimum cpu usage per Container is 1.  No request is specified",
            id="no request",
        ),
        pytest.param(
            container(maxLimitRequestRatio={"cpu": "2"}),
            pod({"requests": {"cpu": "1"}, "limits": {"cpu": "3"}}),
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
            id="a limit too far above its request",
        ),
        pytest.param(
            container(max={"cpu": "1"}),
            pod({"limits": {"cpu": "2"}}, {"limits": {"cpu": "3"}}),
            "[maximum cpu usage per Container is 1, but limit is 2, "
            "maximum cpu usage per Container is 1, but limit is 3]",
            id="two containers",
        ),
        pytest.param(
            {"type": "Pod", "max": {"cpu": "3"}},
            pod({"limits": {"cpu": "2"}}, {"limits": {"cpu": "1500m"}}),
            "maximum cpu usage per Pod is 3, but limit is 3500m",
            id="containers that are too much together",
        ),
        pytest.param(
            {"type": "Pod", "max": {"cpu": "3"}},
            pod(
                {"limits": {"cpu": "1"}},
                initContainers=[
                    {"name": "s", "image": "i", "restartPolicy": "Always", "resources": {"limits": {"cpu": "1"}}},
                    {"name": "i", "image": "i", "resources": {"limits": {"cpu": "2500m"}}},
                ],
            ),
            "maximum cpu usage per Pod is 3, but limit is 3500m",
            id="an init container beside a sidecar",
        ),
        pytest.param(
            {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}},
            claim("2Gi"),
            "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi",
            id="a claim",
        ),
    ],
)
async def test_what_is_outside_a_limit_range_is_refused(world, limit, obj, why):
    await world.put(limit_range(limit))
    with pytest.raises(Forbidden) as caught:
        PLUGIN.validate(world.creation(obj))
    assert caught.value.message.partition(" is forbidden: ")[2] == why


async def test_an_update_of_a_pod_is_not_judged(world):
    await world.put(limit_range(container(max={"cpu": "1"})))
    too_much = pod({"limits": {"cpu": "2"}})
    PLUGIN.validate(world.update(too_much, too_much))
