"""Writing claims at the server, and undoing it."""

from typing import Any

import pytest

from mockkube.api.errors import NotFound
from mockkube.scheduler.framework.interface import CycleState, NodeToStatus
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.dynamic_resources.plugin import DynamicResources

GPU = "gpu.example.com"
CLUSTER = {"namespace": ""}
WANTED = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
LATE = {"bindingConditions": ["Attached"], "bindingFailureConditions": ["Failed"]}


@pytest.fixture
async def bench(served: Any) -> Any:
    """A node, a device class, and the plugin that looks at them."""
    served.plugin = await served.build(DynamicResources)
    await served.create("Node", "n1", metadata=CLUSTER)
    await served.create("DeviceClass", "gpu", metadata=CLUSTER, spec={"extendedResourceName": "example.com/gpu"})
    return served


async def publish(served: Any, **device: Any) -> None:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": GPU, "nodeName": "n1", "pool": pool, "devices": [{"name": "d", **device}]}
    await served.create("ResourceSlice", "s", metadata=CLUSTER, spec=spec)


async def pod_with_claim(served: Any, name: str = "p") -> PodInfo:
    spec = {
        "containers": [{"name": "c", "image": "app"}],
        "resourceClaims": [{"name": "x", "resourceClaimName": "c"}],
    }
    return PodInfo(await served.create("Pod", name, spec=spec))


async def test_a_claim_is_allocated_reserved_and_kept(bench: Any) -> None:
    await publish(bench)
    await bench.create("ResourceClaim", "c", spec=WANTED)
    pod = await pod_with_claim(bench)
    state = await bench.decide(bench.plugin, pod, "n1")
    assert (await bench.plugin.pre_bind(state, pod, "n1")).is_success
    claim = await bench.get("ResourceClaim", "c")
    assert claim["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert claim["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": pod.uid}]
    assert claim["status"]["allocation"]["devices"]["results"][0]["device"] == "d"


async def test_a_second_pod_shares_the_claim(bench: Any) -> None:
    await publish(bench)
    await bench.create("ResourceClaim", "c", spec=WANTED)
    for name in ("p", "q"):
        pod = await pod_with_claim(bench, name)
        state = await bench.decide(bench.plugin, pod, "n1")
        assert (await bench.plugin.pre_bind(state, pod, "n1")).is_success
    claim = await bench.get("ResourceClaim", "c")
    assert [user["name"] for user in claim["status"]["reservedFor"]] == ["p", "q"]


async def test_a_claim_that_changed_meanwhile_is_written_all_the_same(bench: Any) -> None:
    await publish(bench)
    await bench.create("ResourceClaim", "c", spec=WANTED)
    pod = await pod_with_claim(bench)
    state = await bench.decide(bench.plugin, pod, "n1")
    await bench.patch("ResourceClaim", "c", {"metadata": {"labels": {"a": "b"}}})
    assert (await bench.plugin.pre_bind(state, pod, "n1")).is_success


async def test_a_claim_that_is_gone_meanwhile_sends_the_pod_back(bench: Any) -> None:
    await publish(bench)
    await bench.create("ResourceClaim", "c", spec=WANTED)
    pod = await pod_with_claim(bench)
    state = await bench.decide(bench.plugin, pod, "n1")
    await bench.admin.delete("ResourceClaim", bench._key("ResourceClaim", "c"))
    status = await bench.plugin.pre_bind(state, pod, "n1")
    assert status.code is Code.ERROR
    assert 'resourceclaims.resource.k8s.io "c" not found' in status.message


async def test_a_pod_that_does_not_get_there_leaves_the_claim(bench: Any) -> None:
    await publish(bench)
    await bench.create("ResourceClaim", "c", spec=WANTED)
    pod = await pod_with_claim(bench)
    state = await bench.decide(bench.plugin, pod, "n1")
    assert (await bench.plugin.pre_bind(state, pod, "n1")).is_success
    bench.plugin.unreserve(state, pod, "n1")
    await bench.plugin.clean_up(state, pod, "n1")
    claim = await bench.get("ResourceClaim", "c")
    assert "reservedFor" not in claim["status"]
    assert "allocation" in claim["status"]


async def test_devices_nobody_can_use_are_given_back(bench: Any) -> None:
    elsewhere = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gone", "operator": "Exists"}]}]}
    results = [{"request": "r", "driver": GPU, "pool": "n1", "device": "d"}]
    status = {"allocation": {"devices": {"results": results}, "nodeSelector": elsewhere}}
    await bench.create("ResourceClaim", "c", status, spec=WANTED)
    pod, state = await pod_with_claim(bench), CycleState()
    assert bench.plugin.pre_filter(state, pod, bench.cache).status.is_success
    assert not bench.plugin.filter(state, pod, bench.cache.get("n1")).is_success
    bench.plugin.post_filter(state, pod, NodeToStatus({}))
    await bench.plugin.apply_result(state, pod)
    assert not (await bench.get("ResourceClaim", "c"))["status"]


async def test_a_pod_with_extended_resources_gets_a_claim(bench: Any) -> None:
    await publish(bench)
    resources = {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
    spec = {"containers": [{"name": "c", "image": "app", "resources": resources}]}
    pod = PodInfo(await bench.create("Pod", "p", spec=spec))
    state = await bench.decide(bench.plugin, pod, "n1")
    assert (await bench.plugin.pre_bind(state, pod, "n1")).is_success
    seen = await bench.get("Pod", "p")
    told = seen["status"]["extendedResourceClaimStatus"]
    [mapping] = told["requestMappings"]
    assert mapping == {
        "containerName": "c",
        "resourceName": "example.com/gpu",
        "requestName": "container-0-request-0",
    }
    claim = await bench.get("ResourceClaim", told["resourceClaimName"])
    assert claim["metadata"]["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
    assert claim["status"]["allocation"]["devices"]["results"][0]["device"] == "d"
    await bench.plugin.clean_up(state, pod, "n1")
    with pytest.raises(NotFound):
        await bench.admin.get("ResourceClaim", bench._key("ResourceClaim", told["resourceClaimName"]))


async def prepared(bench: Any, status: str, kind: str = "Attached") -> None:
    """Say of the device what its driver would."""
    condition = {"type": kind, "status": status, "reason": "Done", "message": "m"}
    condition["lastTransitionTime"] = "2030-01-01T00:00:00Z"
    device = {"driver": GPU, "pool": "n1", "device": "d", "conditions": [condition]}
    await bench.patch("ResourceClaim", "c", {"status": {"devices": [device]}}, subresource="status")


async def waiting(bench: Any) -> tuple[PodInfo, CycleState]:
    """Bring a pod so far that its device must be prepared."""
    await publish(bench, **LATE)
    await bench.create("ResourceClaim", "c", spec=WANTED)
    pod = await pod_with_claim(bench)
    state = await bench.decide(bench.plugin, pod, "n1")
    assert (await bench.plugin.pre_bind(state, pod, "n1")).code is Code.WAIT
    await bench.get("ResourceClaim", "c")
    return pod, state


async def test_a_device_is_prepared_before_the_pod_is_bound(bench: Any) -> None:
    pod, state = await waiting(bench)
    assert (await bench.plugin.pre_bind(state, pod, "n1")).code is Code.WAIT
    await prepared(bench, "True")
    assert (await bench.plugin.pre_bind(state, pod, "n1")).is_success


async def test_a_device_that_cannot_be_prepared_sends_the_pod_back(bench: Any) -> None:
    pod, state = await waiting(bench)
    await prepared(bench, "True", "Failed")
    status = await bench.plugin.pre_bind(state, pod, "n1")
    assert (status.code, status.message) == (Code.ERROR, 'device binding failed: claim=c, reason=Done, message="m"')


async def test_a_device_that_takes_too_long_sends_the_pod_back(bench: Any) -> None:
    pod, state = await waiting(bench)
    bench.clock.move_to(601.0)
    status = await bench.plugin.pre_bind(state, pod, "n1")
    assert (status.code, status.message) == (Code.ERROR, "device binding timeout: claim=c")
