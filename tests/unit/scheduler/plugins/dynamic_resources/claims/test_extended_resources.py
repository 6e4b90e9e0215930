"""Extended resources served by devices."""

from typing import Any

import pytest

from mockkube.scheduler.framework.interface import CycleState, NodeToStatus
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.dynamic_resources.claims.extended_resources import build_requests
from mockkube.scheduler.plugins.dynamic_resources.plugin import DynamicResources
from mockkube.scheduler.plugins.dynamic_resources.state import STATE

GPU = "example.com/gpu"


def container(name: str, amount: int = 0, **fields: Any) -> Any:
    requests = {"cpu": "1", **({GPU: str(amount)} if amount else {})}
    return {"name": name, "image": "app", "resources": {"requests": requests}, **fields}


def asked(*, init: Any = (), lasting: Any = ()) -> tuple[list[tuple[str, int]], list[tuple[str, str]]]:
    """Return name and count of each request, and which container has devices of which."""
    metadata = {"name": "p", "namespace": "a", "uid": "u"}
    pod = PodInfo({"metadata": metadata, "spec": {"initContainers": list(init), "containers": list(lasting)}})
    found = build_requests(pod, {GPU: "gpu"})
    requests = [(one["name"], one["exactly"]["count"]) for one in found.requests]
    return requests, [(one["containerName"], one["requestName"]) for one in found.mappings]


def test_each_lasting_container_has_devices_of_its_own() -> None:
    requests, mappings = asked(lasting=[container("a", 2), container("b"), container("c", 1)])
    assert requests == [("container-0-request-1", 2), ("container-2-request-1", 1)]
    assert mappings == [("a", "container-0-request-1"), ("c", "container-2-request-1")]


def test_init_containers_borrow_from_those_that_come_later() -> None:
    requests, mappings = asked(init=[container("i", 1)], lasting=[container("a", 2)])
    assert requests == [("container-1-request-1", 2)]
    assert mappings == [("a", "container-1-request-1"), ("i", "container-1-request-1")]


def test_what_init_containers_lack_is_asked_for_once() -> None:
    requests, mappings = asked(init=[container("i", 3), container("j", 4)], lasting=[container("a", 2)])
    assert requests == [("container-1-request-1", 2), ("container-2-request-1", 2)]
    assert mappings == [
        ("a", "container-2-request-1"),
        ("i", "container-2-request-1"),
        ("i", "container-1-request-1"),
        ("j", "container-2-request-1"),
        ("j", "container-1-request-1"),
    ]


def test_a_sidecar_lasts() -> None:
    requests, _ = asked(init=[container("s", 1, restartPolicy="Always")], lasting=[container("a", 1)])
    assert requests == [("container-0-request-1", 1), ("container-1-request-1", 1)]


@pytest.fixture
def gpus(pool: Any, slice_of: Any) -> Any:
    """A class that stands for the resource, and a node with two devices."""
    spec = {"extendedResourceName": GPU}
    pool.other("DeviceClass", {"metadata": {"name": "big", "uid": "big", "creationTimestamp": "2030"}, "spec": spec})
    pool.other("ResourceSlice", slice_of("n1", "a", "b"))
    return pool


@pytest.mark.parametrize(
    ("amount", "refused"),
    [
        pytest.param(2, {"n2": "cannot allocate all claims"}, id="enough devices on one node"),
        pytest.param(3, {"n1": "cannot allocate all claims", "n2": "cannot allocate all claims"}, id="too few"),
    ],
)
def test_devices_serve_a_resource(gpus: Any, amount: int, refused: Any) -> None:
    assert gpus.refused(gpus.build(DynamicResources), gpus.pod(containers=[container("c", amount)])) == refused


def test_a_node_that_has_the_resource_itself_needs_no_devices(gpus: Any) -> None:
    room = {"cpu": "8", "memory": "16Gi", "pods": "110", GPU: "4"}
    gpus.node("n3", status={"allocatable": room})
    plugin, pod, state = gpus.build(DynamicResources), gpus.pod(containers=[container("c", 1)]), CycleState()
    plugin.pre_filter(state, pod, gpus.cache)
    assert plugin.filter(state, pod, gpus.cache.get("n3")).is_success
    note = state.get(STATE)
    assert note is not None
    assert "n3" not in note.node_allocations
    assert plugin.reserve(state, pod, "n3").is_success


def test_a_class_stands_for_a_resource_by_its_name(gpus: Any) -> None:
    implied = {"name": "c", "image": "a", "resources": {"requests": {"deviceclass.resource.kubernetes.io/gpu": "1"}}}
    refused = gpus.refused(gpus.build(DynamicResources), gpus.pod(containers=[implied]))
    assert refused == {"n2": "cannot allocate all claims"}


def test_a_resource_that_nobody_has_is_named(gpus: Any) -> None:
    requests = {"requests": {GPU: "1", "example.com/tpu": "1"}}
    pod = gpus.pod(containers=[{"name": "c", "image": "a", "resources": requests}])
    found = gpus.filter(gpus.build(DynamicResources), pod)
    assert (found["n1"].message, found["n1"].facts) == ("cannot fit resource", {"resource": "example.com/tpu"})


def test_without_the_gate_resources_are_not_looked_for(pools: Any) -> None:
    pool = pools("1.36", {"DRAExtendedResource": False})
    pod = pool.pod(containers=[container("c", 1)])
    assert pool.filter(pool.build(DynamicResources), pod)[""].code is Code.SKIP


def test_of_several_classes_the_newest_counts(gpus: Any, slice_of: Any) -> None:
    spec = {"extendedResourceName": GPU, "selectors": [{"cel": {"expression": "false"}}]}
    gpus.other("DeviceClass", {"metadata": {"name": "new", "uid": "new", "creationTimestamp": "2031"}, "spec": spec})
    refused = gpus.refused(gpus.build(DynamicResources), gpus.pod(containers=[container("c", 1)]))
    assert refused == {"n1": "cannot allocate all claims", "n2": "cannot allocate all claims"}


def test_a_claim_left_over_from_an_earlier_attempt_is_deleted_first(gpus: Any, claim_for: Any) -> None:
    pod = gpus.pod(containers=[container("c", 1)])
    claim = claim_for("left")
    claim["metadata"] |= {
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [{"name": pod.name, "uid": pod.uid, "controller": True}],
    }
    gpus.other("ResourceClaim", claim)
    plugin, state = gpus.build(DynamicResources), CycleState()
    plugin.pre_filter(state, pod, gpus.cache)
    assert plugin.filter(state, pod, gpus.cache.get("n1")).message == "cannot schedule extended resource claim"
    assert plugin.post_filter(state, pod, NodeToStatus({})).status.message == "deletion of ResourceClaim completed"
