"""Which nodes have devices for a pod's claims, and what becomes of those chosen."""

from collections.abc import Callable
from typing import Any

import pytest

from mockkube.scheduler.framework.interface import CycleState, NodeToStatus
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.dynamic_resources.plugin import DynamicResources

GPU = "gpu.example.com"
NOT_ENOUGH = "cannot allocate all claims"
ON_N1 = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}


def given(device: str, node: str = "n1", **fields: Any) -> Any:
    result = {"request": "r", "driver": GPU, "pool": node, "device": device}
    return {"allocation": {"devices": {"results": [result]}, "nodeSelector": ON_N1}, **fields}


def test_a_node_needs_a_device(pool: Any, slice_of: Any, claim_for: Any) -> None:
    pool.other("ResourceSlice", slice_of("n1", "d"))
    pool.other("ResourceClaim", claim_for("c"))
    found = pool.filter(pool.build(DynamicResources), pool.uses("c"))
    assert found["n1"].is_success
    assert (found["n2"].code, found["n2"].message) == (Code.UNRESOLVABLE, NOT_ENOUGH)
    assert found["n2"].facts == {"claim": "a/c", "request": "r", "wanted": 1, "devices": 0}


def test_a_pod_without_claims_is_left_alone(pool: Any) -> None:
    plugin, pod, state = pool.build(DynamicResources), pool.pod(), CycleState()
    assert plugin.pre_filter(state, pod, pool.cache).status.code is Code.SKIP
    assert plugin.post_filter(state, pod, NodeToStatus({})).status.message == "no new claims to deallocate"


def test_a_pod_refused_before_the_plugin_had_a_look_has_no_note(pool: Any) -> None:
    status = pool.build(DynamicResources).post_filter(CycleState(), pool.pod(), NodeToStatus({})).status
    assert (status.code, status.message) == (Code.ERROR, "not found")


@pytest.mark.parametrize(
    ("version", "reasons"),
    [pytest.param("1.36", ("still not schedulable",), id="1.36"), pytest.param("1.37", (), id="1.37 says nothing")],
)
def test_nothing_can_be_given_back(
    pools: Callable[..., Any], claim_for: Any, version: str, reasons: tuple[str, ...]
) -> None:
    pool = pools(version)
    pool.other("ResourceClaim", claim_for("c"))
    plugin, pod, state = pool.build(DynamicResources), pool.uses("c"), CycleState()
    plugin.pre_filter(state, pod, pool.cache)
    assert plugin.post_filter(state, pod, NodeToStatus({})).status.reasons == reasons


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        pytest.param(None, 'could not find ResourceClaim "a/c"', id="not there"),
        pytest.param({"deletionTimestamp": "2030-01-01T00:00:00Z"}, 'resourceclaim "c" is being deleted', id="going"),
        pytest.param({}, "", id="there"),
    ],
)
def test_a_pod_waits_outside_the_queue_for_its_claim(pool: Any, claim_for: Any, claim: Any, message: str) -> None:
    if claim is not None:
        made = claim_for("c")
        made["metadata"].update(claim)
        pool.other("ResourceClaim", made)
    assert pool.build(DynamicResources).pre_enqueue(pool.uses("c")).message == message


@pytest.mark.parametrize(
    ("statuses", "message"),
    [
        pytest.param([], 'pod "a/p1": ResourceClaim not created yet', id="not made yet"),
        pytest.param(
            [{"name": "x", "resourceClaimName": "c"}],
            "ResourceClaim a/c was not created for Pod a/p1 (Pod is not owner)",
            id="made for somebody else",
        ),
        pytest.param([{"name": "x"}], "", id="not needed"),
    ],
)
def test_a_claim_made_from_a_template(pool: Any, claim_for: Any, statuses: Any, message: str) -> None:
    pool.other("ResourceClaim", claim_for("c"))
    named = [{"name": "x", "resourceClaimTemplateName": "t"}]
    pod = pool.pod(resourceClaims=named, status={"resourceClaimStatuses": statuses})
    assert pool.build(DynamicResources).pre_enqueue(pod).message == message


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        pytest.param(
            {"exactly": {"deviceClassName": "tpu"}},
            Code.UNRESOLVABLE,
            "request r: device class tpu does not exist",
            id="class",
        ),
        pytest.param(
            {"firstAvailable": [{"name": "s", "deviceClassName": "tpu"}]},
            Code.UNRESOLVABLE,
            "request r/s: device class tpu does not exist",
            id="class of an alternative",
        ),
        pytest.param(
            {}, Code.UNRESOLVABLE, "resource claim a/c, request r: unknown request type", id="a request of no kind"
        ),
        pytest.param({"exactly": {}}, Code.ERROR, "request r: unsupported request type", id="no class"),
    ],
)
def test_a_request_that_nobody_can_serve(pool: Any, claim_for: Any, asked: Any, code: Code, message: str) -> None:
    pool.other("ResourceClaim", claim_for("c", {"name": "r", **asked}))
    status = pool.filter(pool.build(DynamicResources), pool.uses("c"))[""]
    assert (status.code, status.message) == (code, message)


def test_a_claim_with_devices_is_where_they_are(pool: Any, slice_of: Any, claim_for: Any) -> None:
    pool.other("ResourceSlice", slice_of("n1", "d"))
    pool.other("ResourceClaim", claim_for("c", status=given("d")))
    refused = pool.refused(pool.build(DynamicResources), pool.uses("c"))
    assert refused == {"n2": "resourceclaim not available on the node"}


def test_a_device_of_another_claim_is_not_free(pool: Any, slice_of: Any, claim_for: Any) -> None:
    pool.other("ResourceSlice", slice_of("n1", "d"))
    pool.other("ResourceClaim", claim_for("theirs", status=given("d")))
    pool.other("ResourceClaim", claim_for("c"))
    assert pool.refused(pool.build(DynamicResources), pool.uses("c")) == {"n1": NOT_ENOUGH, "n2": NOT_ENOUGH}


def test_a_device_promised_to_one_pod_is_not_free_for_the_next(pool: Any, slice_of: Any, claim_for: Any) -> None:
    pool.other("ResourceSlice", slice_of("n1", "d"))
    for name in ("c", "d"):
        pool.other("ResourceClaim", claim_for(name))
    plugin, pod, state = pool.build(DynamicResources), pool.uses("c"), CycleState()
    plugin.pre_filter(state, pod, pool.cache)
    assert plugin.filter(state, pod, pool.cache.get("n1")).is_success
    assert plugin.reserve(state, pod, "n1").is_success
    in_process = pool.filter(plugin, pool.uses("c"))[""].message
    assert in_process == "resource claim a/c is in the process of being allocated"
    assert pool.refused(plugin, pool.uses("d"))["n1"] == NOT_ENOUGH
    plugin.unreserve(state, pod, "n1")
    assert "n1" not in pool.refused(plugin, pool.uses("d"))


def test_a_claim_that_cannot_be_used_on_any_node_gives_its_devices_back(
    pool: Any, slice_of: Any, claim_for: Any
) -> None:
    pool.other("ResourceSlice", slice_of("n2", "d"))
    elsewhere = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gone", "operator": "Exists"}]}]}
    status = given("d")
    status["allocation"]["nodeSelector"] = elsewhere
    pool.other("ResourceClaim", claim_for("c", status=status))
    plugin, pod, state = pool.build(DynamicResources), pool.uses("c"), CycleState()
    plugin.pre_filter(state, pod, pool.cache)
    assert not any(plugin.filter(state, pod, node).is_success for node in pool.cache.all)
    assert plugin.post_filter(state, pod, NodeToStatus({})).status.message == "deallocation of ResourceClaim completed"


def test_a_claim_that_others_use_keeps_its_devices(pool: Any, claim_for: Any) -> None:
    users = [{"resource": "pods", "name": "other", "uid": "other"}]
    status = given("d", reservedFor=users)
    pool.other("ResourceClaim", claim_for("c", status=status))
    plugin, pod, state = pool.build(DynamicResources), pool.uses("c"), CycleState()
    plugin.pre_filter(state, pod, pool.cache)
    plugin.filter(state, pod, pool.cache.get("n2"))
    assert plugin.post_filter(state, pod, NodeToStatus({})).status.message == "still not schedulable"


@pytest.mark.parametrize(
    ("version", "message"),
    [
        pytest.param("1.36", "class gpu: selector #0: CEL runtime error: no such key: x", id="1.36"),
        pytest.param(
            "1.37",
            "class gpu: selector #0 on device gpu.example.com/n1/d: CEL runtime error: no such key: x",
            id="1.37",
        ),
    ],
)
def test_a_selector_that_fails_ends_the_attempt(
    worlds: Callable[..., Any], slice_of: Any, claim_for: Any, selectors: Any, version: str, message: str
) -> None:
    world = worlds(version)
    world.node("n1")
    spec = {"selectors": selectors('device.attributes["a"].x == 1')}
    world.other("DeviceClass", {"metadata": {"name": "gpu", "uid": "gpu"}, "spec": spec})
    world.other("ResourceSlice", slice_of("n1", "d"))
    world.other("ResourceClaim", claim_for("c"))
    pod = world.pod(resourceClaims=[{"name": "c", "resourceClaimName": "c"}])
    status = world.filter(world.build(DynamicResources), pod)["n1"]
    assert (status.code, status.message) == (Code.ERROR, message)


def test_nodes_that_serve_the_alternative_named_first_are_preferred(
    pool: Any, slice_of: Any, claim_for: Any, selectors: Any
) -> None:
    for node, size in (("n1", "small"), ("n2", "large")):
        device = {"name": "d", "attributes": {"size": {"string": size}}}
        pool.other("ResourceSlice", slice_of(node, device))
    wanted = [
        {
            "name": size,
            "deviceClassName": "gpu",
            "allocationMode": "ExactCount",
            "count": 1,
            "selectors": selectors(f'device.attributes["{GPU}"].size == "{size}"'),
        }
        for size in ("large", "small")
    ]
    pool.other("ResourceClaim", claim_for("c", {"name": "r", "firstAvailable": wanted}))
    plugin, pod, state = pool.build(DynamicResources), pool.uses("c"), CycleState()
    plugin.pre_filter(state, pod, pool.cache)
    nodes = [node for node in pool.cache.all if plugin.filter(state, pod, node).is_success]
    scores = [plugin.score(state, pod, node) for node in nodes]
    plugin.normalize(state, pod, nodes, scores)
    assert dict(zip((node.name for node in nodes), scores, strict=True)) == {"n1": 87, "n2": 100}
