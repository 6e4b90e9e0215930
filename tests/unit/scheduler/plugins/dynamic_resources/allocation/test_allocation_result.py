"""What is written into a claim when devices were found."""

from collections.abc import Callable
from typing import Any

import pytest

from mockkube.scheduler.framework.interface import CycleState
from mockkube.scheduler.plugins.dynamic_resources.plugin import DynamicResources
from mockkube.scheduler.plugins.dynamic_resources.state import STATE

GPU = "gpu.example.com"


def allocated(world: Any) -> Any:
    """Return the allocation of claim `c` on the node `n1`."""
    plugin, pod, state = world.build(DynamicResources), world.uses("c"), CycleState()
    assert plugin.pre_filter(state, pod, world.cache).status.is_success
    assert plugin.filter(state, pod, world.cache.get("n1")).is_success
    note = state.get(STATE)
    assert note is not None
    return note.node_allocations["n1"].allocations[0]


def test_a_device_of_a_node_ties_the_claim_to_it(pool: Any, slice_of: Any, claim_for: Any) -> None:
    pool.other("ResourceSlice", slice_of("n1", "d"))
    pool.other("ResourceClaim", claim_for("c"))
    here = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    assert allocated(pool) == {
        "devices": {"results": [{"request": "r", "driver": GPU, "pool": "n1", "device": "d"}]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [here]}]},
    }


def test_a_device_for_all_nodes_ties_the_claim_to_none(pool: Any, slice_of: Any, claim_for: Any) -> None:
    pool.other("ResourceSlice", slice_of("shared", "d", allNodes=True))
    pool.other("ResourceClaim", claim_for("c"))
    assert "nodeSelector" not in allocated(pool)


def test_devices_of_some_nodes_tie_the_claim_to_what_all_of_them_ask_for(
    world: Any, slice_of: Any, claim_for: Any, request_for: Any
) -> None:
    world.node("n1", {"zone": "a", "rack": "r"})
    world.other("DeviceClass", {"metadata": {"name": "gpu", "uid": "gpu"}, "spec": {}})
    zone = {"key": "zone", "operator": "In", "values": ["a"]}
    rack = {"key": "rack", "operator": "Exists"}
    for name, terms in (("s1", [zone]), ("s2", [zone, rack])):
        selector = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
        world.other("ResourceSlice", slice_of(name, name, name=name, nodeSelector=selector))
    world.other("ResourceClaim", claim_for("c", request_for(count=2)))
    world.uses = lambda name: world.pod(resourceClaims=[{"name": name, "resourceClaimName": name}])
    assert allocated(world)["nodeSelector"] == {"nodeSelectorTerms": [{"matchExpressions": [zone, rack]}]}


def test_what_the_request_said_goes_with_the_device(pool: Any, slice_of: Any, claim_for: Any, request_for: Any) -> None:
    conditions = {"bindingConditions": ["Attached"], "bindingFailureConditions": ["Failed"]}
    pool.other("ResourceSlice", slice_of("n1", {"name": "d", **conditions}))
    tolerations = [{"key": "broken", "operator": "Exists"}]
    pool.other("ResourceClaim", claim_for("c", request_for(adminAccess=True, tolerations=tolerations)))
    [result] = allocated(pool)["devices"]["results"]
    assert result == {
        "request": "r",
        "driver": GPU,
        "pool": "n1",
        "device": "d",
        "adminAccess": True,
        "tolerations": tolerations,
        **conditions,
    }


def test_a_part_of_a_shared_device_has_a_name_and_a_size(
    pool: Any, slice_of: Any, claim_for: Any, request_for: Any
) -> None:
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "2Gi"}}
    capacity = {"memory": {"value": "40Gi", "requestPolicy": policy}}
    pool.other("ResourceSlice", slice_of("n1", {"name": "d", "allowMultipleAllocations": True, "capacity": capacity}))
    pool.other("ResourceClaim", claim_for("c", request_for(capacity={"requests": {"memory": "4Gi"}})))
    [result] = allocated(pool)["devices"]["results"]
    assert result["consumedCapacity"] == {"memory": "5Gi"}
    assert len(result["shareID"]) == 36
    assert allocated(pool)["devices"]["results"] == [result]


@pytest.mark.parametrize(
    ("version", "names"),
    [pytest.param("1.36", {"requests": ["one", "two"]}, id="1.36"), pytest.param("1.37", {}, id="1.37")],
)
def test_configurations_of_the_class_and_the_claim_go_along(
    worlds: Callable[..., Any], slice_of: Any, claim_for: Any, request_for: Any, version: str, names: Any
) -> None:
    def opaque(name: str) -> Any:
        return {"opaque": {"driver": GPU, "parameters": {"name": name}}}

    world = worlds(version)
    world.node("n1")
    world.other("DeviceClass", {"metadata": {"name": "gpu", "uid": "gpu"}, "spec": {"config": [opaque("class")]}})
    world.other("ResourceSlice", slice_of("n1", "a", "b"))
    config = [opaque("all"), {"requests": ["two"], **opaque("one")}, {"requests": ["none"], **opaque("other")}]
    world.other("ResourceClaim", claim_for("c", request_for("one"), request_for("two"), config=config))
    world.uses = lambda name: world.pod(resourceClaims=[{"name": name, "resourceClaimName": name}])
    assert allocated(world)["devices"]["config"] == [
        {"source": "FromClass", **names, **opaque("class")},
        {"source": "FromClaim", **opaque("all")},
        {"source": "FromClaim", "requests": ["two"], **opaque("one")},
    ]
