"""Which devices are chosen: tables over one node, `n1`, and what it publishes."""

from collections.abc import Callable
from typing import Any

import pytest

from mockkube.matching.taints import TaintRules
from mockkube.proposals.kep_5471 import COMPARISONS
from mockkube.scheduler.framework.interface import CycleState
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_requests import ClaimCompiler
from mockkube.scheduler.plugins.dynamic_resources.features import DynamicResourcesFeatures
from mockkube.scheduler.plugins.dynamic_resources.plugin import DynamicResources
from mockkube.scheduler.plugins.dynamic_resources.state import STATE

GPU = "gpu.example.com"


def device(name: str, **fields: Any) -> Any:
    return {"name": name, **fields}


def with_model(name: str, model: str) -> Any:
    return device(name, attributes={"model": {"string": model}})


def chosen(world: Any, *claims: str) -> Any:
    """Return request and device of each result on the node `n1`, by claim; or what it says instead."""
    plugin, pod, state = world.build(DynamicResources), world.uses(*claims), CycleState()
    before = plugin.pre_filter(state, pod, world.cache).status
    if not before.is_success:
        return before.message
    status = plugin.filter(state, pod, world.cache.get("n1"))
    if not status.is_success:
        return status.message
    found = state.get(STATE).node_allocations["n1"].allocations
    return [[(one["request"], one["device"]) for one in each["devices"].get("results", ())] for each in found]


@pytest.fixture
def try_out(pool: Any, slice_of: Any, claim_for: Any) -> Callable[..., Any]:
    """Return what asks for devices of one pool of the node."""

    def ask(devices: Any, *requests: Any, slices: Any = (), **fields: Any) -> Any:
        for one in slices or (slice_of("n1", *devices),):
            pool.other("ResourceSlice", one)
        pool.other("ResourceClaim", claim_for("c", *requests, **fields))
        return chosen(pool, "c")

    return ask


def test_the_first_devices_in_order_are_taken(try_out: Any, request_for: Any) -> None:
    assert try_out("abc", request_for(count=2)) == [[("r", "a"), ("r", "b")]]


def test_a_request_for_all_devices_has_all_of_them(try_out: Any, request_for: Any, selectors: Any) -> None:
    devices = [with_model("a", "x"), with_model("b", "y"), with_model("c", "x")]
    wanted = selectors(f'device.attributes["{GPU}"].model == "x"')
    assert try_out(devices, request_for(allocationMode="All", selectors=wanted)) == [[("r", "a"), ("r", "c")]]


def test_all_devices_are_at_least_one(try_out: Any, request_for: Any, selectors: Any) -> None:
    assert try_out("a", request_for(allocationMode="All", selectors=selectors("false"))) == "cannot allocate all claims"


def test_an_earlier_request_makes_way_for_a_later_one(try_out: Any, request_for: Any, selectors: Any) -> None:
    devices = [with_model("a", "x"), with_model("b", "y")]
    picky = request_for("picky", selectors=selectors(f'device.attributes["{GPU}"].model == "x"'))
    assert try_out(devices, request_for("any"), picky) == [[("any", "b"), ("picky", "a")]]


@pytest.mark.parametrize(
    ("models", "constraint", "expected"),
    [
        pytest.param("xyy", "matchAttribute", [[("r", "d1"), ("r", "d2")]], id="two that are alike"),
        pytest.param("xyz", "matchAttribute", "cannot allocate all claims", id="none alike"),
        pytest.param("xxy", "distinctAttribute", [[("r", "d0"), ("r", "d2")]], id="two that differ"),
        pytest.param("xxx", "distinctAttribute", "cannot allocate all claims", id="none differ"),
    ],
)
def test_devices_of_a_claim_may_have_to_be_alike_or_to_differ(
    try_out: Any, request_for: Any, models: str, constraint: str, expected: Any
) -> None:
    devices = [with_model(f"d{index}", model) for index, model in enumerate(models)]
    constraints = [{constraint: f"{GPU}/model"}]
    assert try_out(devices, request_for(count=2), constraints=constraints) == expected


def test_a_constraint_is_about_the_requests_it_names(try_out: Any, request_for: Any) -> None:
    devices = [with_model("a", "x"), with_model("b", "y")]
    constraints = [{"matchAttribute": f"{GPU}/model", "requests": ["one"]}]
    assert try_out(devices, request_for("one"), request_for("two"), constraints=constraints) == [
        [("one", "a"), ("two", "b")]
    ]


def test_all_devices_that_can_never_be_alike_are_an_error(try_out: Any, request_for: Any) -> None:
    devices = [with_model("a", "x"), with_model("b", "y")]
    constraints = [{"matchAttribute": f"{GPU}/model"}]
    text = "cannot add device gpu.example.com/n1/b because a claim constraint would not be satisfied"
    found = try_out(devices, request_for(allocationMode="All"), constraints=constraints)
    assert found == f"claim a/c, request r: {text}"


def test_the_first_alternative_that_can_be_served_is_taken(try_out: Any, selectors: Any) -> None:
    def alternative(name: str, count: int) -> Any:
        return {"name": name, "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}

    wanted = {"name": "r", "firstAvailable": [alternative("many", 3), alternative("few", 2)]}
    assert try_out("ab", wanted) == [[("r/few", "a"), ("r/few", "b")]]


def test_alternatives_are_weighed_against_each_other(try_out: Any, request_for: Any) -> None:
    wanted = {
        "name": "r",
        "firstAvailable": [
            {"name": "many", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2},
            {"name": "few", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
        ],
    }
    assert try_out("ab", wanted, request_for("other")) == [[("r/few", "a"), ("other", "b")]]


def test_a_claim_has_no_more_devices_than_fit_in_it(try_out: Any, request_for: Any) -> None:
    message = "claim a/c: number of requested devices 33 exceeds the claim limit of 32"
    assert try_out("a", request_for(count=33)) == message


@pytest.mark.parametrize(
    ("taint", "tolerations", "expected"),
    [
        pytest.param({"effect": "NoSchedule"}, [], "cannot allocate all claims", id="not tolerated"),
        pytest.param({"effect": "NoExecute"}, [{"operator": "Exists"}], [[("r", "a")]], id="tolerated"),
        pytest.param({"effect": "None"}, [], [[("r", "a")]], id="without effect"),
        pytest.param(
            {"effect": "NoSchedule"},
            [{"key": "broken", "operator": "Equal", "value": "other"}],
            "cannot allocate all claims",
            id="another value tolerated",
        ),
        pytest.param(
            {"effect": "NoSchedule"},
            [{"key": "broken", "operator": "Gt", "value": "1"}],
            "cannot allocate all claims",
            id="Gt is not known for devices",
        ),
    ],
)
def test_a_tainted_device_is_for_those_who_tolerate_that(
    try_out: Any, request_for: Any, taint: Any, tolerations: Any, expected: Any
) -> None:
    tainted = device("a", taints=[{"key": "broken", "value": "5", **taint}])
    assert try_out([tainted], request_for(tolerations=tolerations)) == expected


def test_an_administrator_has_devices_that_are_in_use(
    pool: Any, slice_of: Any, claim_for: Any, request_for: Any
) -> None:
    pool.other("ResourceSlice", slice_of("n1", "a"))
    used = {"request": "r", "driver": GPU, "pool": "n1", "device": "a"}
    pool.other("ResourceClaim", claim_for("used", status={"allocation": {"devices": {"results": [used]}}}))
    pool.other("ResourceClaim", claim_for("c", request_for(adminAccess=True)))
    assert chosen(pool, "c") == [[("r", "a")]]


def test_what_an_administrator_has_is_free_for_others(pool: Any, slice_of: Any, claim_for: Any) -> None:
    pool.other("ResourceSlice", slice_of("n1", "a"))
    watched = {"request": "r", "driver": GPU, "pool": "n1", "device": "a", "adminAccess": True}
    pool.other("ResourceClaim", claim_for("watch", status={"allocation": {"devices": {"results": [watched]}}}))
    pool.other("ResourceClaim", claim_for("c"))
    assert chosen(pool, "c") == [[("r", "a")]]


def test_two_claims_of_a_pod_have_different_devices(pool: Any, slice_of: Any, claim_for: Any) -> None:
    pool.other("ResourceSlice", slice_of("n1", "a", "b"))
    for name in ("c", "d"):
        pool.other("ResourceClaim", claim_for(name))
    assert chosen(pool, "c", "d") == [[("r", "a")], [("r", "b")]]


# Partitions


def partition(name: str, memory: str) -> Any:
    return device(name, consumesCounters=[{"counterSet": "card", "counters": {"memory": {"value": memory}}}])


def counters(slice_of: Any, memory: str) -> Any:
    sets = [{"name": "card", "counters": {"memory": {"value": memory}}}]
    return slice_of("n1", name="counters", pool={"resourceSliceCount": 2}, sharedCounters=sets, nodeName="n1")


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(2, [[("r", "half1"), ("r", "half2")]], id="both halves"),
        pytest.param(3, "cannot allocate all claims", id="never the whole besides"),
    ],
)
def test_partitions_share_the_counters_of_their_device(
    try_out: Any, slice_of: Any, request_for: Any, count: int, expected: Any
) -> None:
    devices = [partition("half1", "20Gi"), partition("half2", "20Gi"), partition("whole", "40Gi")]
    slices = [counters(slice_of, "40Gi"), slice_of("n1", *devices, pool={"resourceSliceCount": 2})]
    assert try_out((), request_for(count=count), slices=slices) == expected


def test_what_allocated_partitions_took_is_gone(pool: Any, slice_of: Any, claim_for: Any, request_for: Any) -> None:
    devices = [partition("half", "20Gi"), partition("whole", "40Gi")]
    pool.other("ResourceSlice", counters(slice_of, "40Gi"))
    pool.other("ResourceSlice", slice_of("n1", *devices, pool={"resourceSliceCount": 2}))
    used = {"request": "r", "driver": GPU, "pool": "n1", "device": "half"}
    pool.other("ResourceClaim", claim_for("used", status={"allocation": {"devices": {"results": [used]}}}))
    pool.other("ResourceClaim", claim_for("c"))
    assert chosen(pool, "c") == "cannot allocate all claims"


# Compatibility groups


def grouped(name: str, *groups: str, counter_set: str = "card") -> Any:
    consumed = {"counterSet": counter_set, "counters": {"memory": {"value": "10Gi"}}, "compatibilityGroups": [*groups]}
    return device(name, consumesCounters=[consumed])


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        pytest.param([grouped("a", "x"), grouped("b", "y")], "cannot allocate all claims", id="nothing in common"),
        pytest.param([grouped("a", "x"), grouped("b", "y"), grouped("c", "x")], "ac", id="the others are passed over"),
        pytest.param([grouped("a", "x", "y"), grouped("b", "y", "z")], "ab", id="one in common"),
        pytest.param([grouped("a"), grouped("b", "y"), grouped("c")], "ac", id="none"),
        pytest.param([grouped("a", "x"), grouped("b")], "cannot allocate all claims", id="one without"),
    ],
)
def test_devices_of_one_counter_set_have_a_compatibility_group_in_common(
    pools: Callable[..., Any], slice_of: Any, claim_for: Any, request_for: Any, devices: Any, expected: Any
) -> None:
    pool = pools("1.37", {"DRADeviceCompatibilityGroups": True})
    pool.other("ResourceSlice", counters(slice_of, "40Gi"))
    pool.other("ResourceSlice", slice_of("n1", *devices, pool={"resourceSliceCount": 2}))
    pool.other("ResourceClaim", claim_for("c", request_for(count=2)))
    found = chosen(pool, "c")
    assert found == expected if " " in expected else [name for _, name in found[0]] == [*expected]


@pytest.mark.parametrize(
    ("used_groups", "expected"),
    [("x", [[("r", "free")]]), ("y", "cannot allocate all claims")],
    ids=["compatible", "incompatible"],
)
def test_allocated_devices_exclude_others_of_their_counter_set(
    pools: Callable[..., Any], slice_of: Any, claim_for: Any, used_groups: str, expected: Any
) -> None:
    pool = pools("1.37", {"DRADeviceCompatibilityGroups": True})
    devices = [grouped("used", used_groups), grouped("free", "x")]
    pool.other("ResourceSlice", counters(slice_of, "40Gi"))
    pool.other("ResourceSlice", slice_of("n1", *devices, pool={"resourceSliceCount": 2}))
    used = {"request": "r", "driver": GPU, "pool": "n1", "device": "used"}
    pool.other("ResourceClaim", claim_for("used", status={"allocation": {"devices": {"results": [used]}}}))
    pool.other("ResourceClaim", claim_for("c"))
    assert chosen(pool, "c") == expected


@pytest.mark.parametrize(("group", "expected"), [("x", "cannot allocate all claims"), ("", [[("r", "a")]])])
def test_a_scheduler_without_the_gate_does_not_use_pools_with_compatibility_groups(
    pools: Callable[..., Any], slice_of: Any, claim_for: Any, group: str, expected: Any
) -> None:
    pool = pools("1.37")
    pool.other("ResourceSlice", counters(slice_of, "40Gi"))
    pool.other("ResourceSlice", slice_of("n1", grouped("a", *group), pool={"resourceSliceCount": 2}))
    pool.other("ResourceClaim", claim_for("c"))
    assert chosen(pool, "c") == expected


# Shared devices


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param("10Gi", [[("r", "card")], [("r", "card")]], id="both fit"),
        pytest.param("30Gi", "cannot allocate all claims", id="together too much"),
    ],
)
def test_claims_share_a_device_as_far_as_it_goes(
    pool: Any, slice_of: Any, claim_for: Any, request_for: Any, wanted: str, expected: Any
) -> None:
    card = device("card", allowMultipleAllocations=True, capacity={"memory": {"value": "40Gi"}})
    pool.other("ResourceSlice", slice_of("n1", card))
    for name in ("c", "d"):
        request = request_for(capacity={"requests": {"memory": wanted}})
        pool.other("ResourceClaim", claim_for(name, request))
    assert chosen(pool, "c", "d") == expected


@pytest.mark.parametrize(
    ("used", "expected"),
    [pytest.param("30Gi", [[("r", "card")]], id="enough left"), pytest.param("31Gi", None, id="not enough left")],
)
def test_what_other_claims_use_of_a_shared_device_is_gone(
    pool: Any, slice_of: Any, claim_for: Any, request_for: Any, used: str, expected: Any
) -> None:
    card = device("card", allowMultipleAllocations=True, capacity={"memory": {"value": "40Gi"}})
    pool.other("ResourceSlice", slice_of("n1", card))
    share = {"driver": GPU, "pool": "n1", "device": "card", "shareID": "s", "consumedCapacity": {"memory": used}}
    results = [{"request": "r", **share}]
    pool.other("ResourceClaim", claim_for("used", status={"allocation": {"devices": {"results": results}}}))
    pool.other("ResourceClaim", claim_for("c", request_for(capacity={"requests": {"memory": "10Gi"}})))
    assert chosen(pool, "c") == (expected or "cannot allocate all claims")


# Pools


def test_a_newer_generation_replaces_the_older(try_out: Any, slice_of: Any) -> None:
    slices = [slice_of("n1", "old", name="s1"), slice_of("n1", "new", name="s2", pool={"generation": 2})]
    assert try_out((), slices=slices) == [[("r", "new")]]


def test_a_pool_that_is_not_all_there_is_passed_over(try_out: Any, slice_of: Any, request_for: Any) -> None:
    slices = [slice_of("n1", "a", pool={"resourceSliceCount": 2})]
    assert try_out((), slices=slices) == "cannot allocate all claims"


def test_all_devices_of_a_pool_that_is_not_all_there_are_unknown(try_out: Any, slice_of: Any, request_for: Any) -> None:
    slices = [slice_of("n1", "a", pool={"resourceSliceCount": 2})]
    text = "asks for all devices, but resource pool gpu.example.com/n1 is currently being updated"
    assert try_out((), request_for(allocationMode="All"), slices=slices) == f"claim a/c, request r: {text}"


@pytest.mark.parametrize(
    ("version", "message"),
    [
        pytest.param("1.36", "invalid resource pools were encountered", id="now"),
        pytest.param("1.34", "pool n1 is invalid: duplicate device name a", id="before 1.35"),
    ],
)
def test_a_pool_with_two_devices_of_one_name_is_invalid(
    pools: Callable[..., Any], slice_of: Any, claim_for: Any, version: str, message: str
) -> None:
    pool = pools(version)
    pool.other("ResourceSlice", slice_of("n1", "a", name="s1", pool={"resourceSliceCount": 2}))
    pool.other("ResourceSlice", slice_of("n1", "a", name="s2", pool={"resourceSliceCount": 2}))
    pool.other("ResourceClaim", claim_for("c"))
    assert chosen(pool, "c") == message


def test_devices_may_say_themselves_where_they_can_be_used(try_out: Any, slice_of: Any) -> None:
    devices = [device("there", nodeName="n2"), device("here", nodeName="n1"), device("anywhere", allNodes=True)]
    slices = [slice_of("shared", *devices, perDeviceNodeSelection=True)]
    assert try_out((), slices=slices) == [[("r", "here")]]


def test_pools_whose_devices_need_preparation_come_last(try_out: Any, slice_of: Any) -> None:
    late = device("late", bindingConditions=["Attached"], bindingFailureConditions=["Failed"])
    slices = [slice_of("a", late, name="s1", allNodes=True), slice_of("b", "soon", name="s2", allNodes=True)]
    assert try_out((), slices=slices) == [[("r", "soon")]]


@pytest.mark.parametrize(
    ("gate", "fields"),
    [
        pytest.param(
            "DRADeviceBindingConditions",
            {"bindingConditions": ["Attached"], "bindingFailureConditions": ["Failed"]},
            id="preparation",
        ),
        pytest.param(
            "DRAPartitionableDevices",
            {"consumesCounters": [{"counterSet": "card", "counters": {"memory": {"value": "1"}}}]},
            id="counters",
        ),
    ],
)
def test_devices_that_the_scheduler_knows_too_little_of_are_passed_over(
    pools: Callable[..., Any], slice_of: Any, claim_for: Any, gate: str, fields: Any
) -> None:
    pool = pools("1.36", {gate: False})
    pool.other("ResourceSlice", slice_of("n1", device("a", **fields)))
    pool.other("ResourceClaim", claim_for("c"))
    assert chosen(pool, "c") == "cannot allocate all claims"


def test_rules_taint_devices(pools: Callable[..., Any], slice_of: Any, claim_for: Any) -> None:
    pool = pools("1.36", {"DRADeviceTaintRules": True})
    pool.other("ResourceSlice", slice_of("n1", "a", "b"))
    selector = {"driver": GPU, "pool": "n1", "device": "a"}
    taint = {"key": "broken", "effect": "NoSchedule"}
    rule = {"metadata": {"name": "rule"}, "spec": {"deviceSelector": selector, "taint": taint}}
    pool.other("DeviceTaintRule", rule)
    pool.other("ResourceClaim", claim_for("c"))
    assert chosen(pool, "c") == [[("r", "b")]]


def test_tolerations_of_devices_may_compare_where_that_is_known(pool: Any, claim_for: Any, request_for: Any) -> None:
    tolerations = [{"key": "broken", "operator": "Gt", "value": "4"}]
    cache = pool.informers.informer_for("DeviceClass")
    pool.build(DynamicResources)
    reader = ClaimCompiler(cache, TaintRules(COMPARISONS), DynamicResourcesFeatures())
    [[request]] = reader.compile(claim_for("c", request_for(tolerations=tolerations))).requests
    taints = [{"key": "broken", "value": value, "effect": "NoSchedule"} for value in ("4", "5")]
    assert [request.tolerations[0].tolerates(taint) for taint in taints] == [False, True]
