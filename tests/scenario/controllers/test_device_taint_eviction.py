"""Pods that use tainted devices, in virtual time."""

import pytest

GATES = {"DRADeviceTaints": True}
RESULT = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "g"}


@pytest.fixture
async def evicting(sim):
    await sim.start("device-taint-eviction-controller", gates=GATES)
    await sim.node("n1")
    return sim


async def published(sim, *taints):
    device = {"name": "g", "taints": list(taints)} if taints else {"name": "g"}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.example.com", "nodeName": "n1", "pool": pool, "devices": [device]}
    if await sim.get("ResourceSlice", "s", ""):
        await sim.merge("ResourceSlice", "s", {"spec": spec}, "")
    else:
        await sim.create("ResourceSlice", "s", "", spec=spec)


async def using(sim, *tolerations):
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    await sim.create("ResourceClaim", "c", spec={"devices": {"requests": [request]}})
    await sim.pod("p", on="n1", spec={"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]})
    consumer = {"resource": "pods", "name": "p", "uid": (await sim.get("Pod", "p"))["metadata"]["uid"]}
    result = {**RESULT, "tolerations": list(tolerations)} if tolerations else RESULT
    allocation = {"devices": {"results": [result]}}
    await sim.status("ResourceClaim", "c", {"allocation": allocation, "reservedFor": [consumer]})


async def going(sim):
    return "deletionTimestamp" in (await sim.get("Pod", "p"))["metadata"]


def bad(sim, effect="NoExecute"):
    added = sim.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"key": "bad", "effect": effect, "timeAdded": added}


async def test_a_tainted_device_evicts_its_user(evicting):
    await published(evicting)
    await using(evicting)
    assert not await going(evicting)
    await published(evicting, bad(evicting))
    assert await going(evicting)
    conditions = {one["type"]: one for one in (await evicting.get("Pod", "p"))["status"]["conditions"]}
    assert conditions["DisruptionTarget"]["reason"] == "DeletionByDeviceTaintManager"
    assert "observedGeneration" not in conditions["DisruptionTarget"]
    assert await evicting.events("p") == [("DeviceTaintManagerEviction", "Marking for deletion", 1)]


async def test_a_tolerated_taint_evicts_when_its_time_is_up_and_time_runs_from_the_taint(evicting):
    await published(evicting, bad(evicting))
    await evicting.advance(20)
    await using(evicting, {"key": "bad", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30})
    await evicting.advance(9)
    assert not await going(evicting)
    await evicting.start("device-taint-eviction-controller", gates=GATES)
    await evicting.advance(1)
    assert await going(evicting)


async def test_a_taint_that_goes_in_time_cancels(evicting):
    await published(evicting, bad(evicting))
    await using(evicting, {"key": "bad", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30})
    await published(evicting)
    await evicting.advance(60)
    assert not await going(evicting)
    assert await evicting.events("p") == [("DeviceTaintManagerEviction", "Cancelling deletion", 1)]


async def test_a_taint_that_only_keeps_others_away_evicts_nobody(evicting):
    await published(evicting, bad(evicting, "NoSchedule"))
    await using(evicting)
    assert not await going(evicting)


async def ruled(sim, effect):
    await sim.start("device-taint-eviction-controller", gates={**GATES, "DRADeviceTaintRules": True})
    await sim.node("n1")
    await published(sim)
    await using(sim)
    taint = {"key": "bad", "effect": effect}
    await sim.create("DeviceTaintRule", "r", "", spec={"deviceSelector": {"driver": "d.example.com"}, "taint": taint})


async def told(sim):
    (condition,) = (await sim.get("DeviceTaintRule", "r", ""))["status"]["conditions"]
    return condition["status"], condition["reason"], condition["message"]


async def test_a_rule_evicts_and_tells_how_far_it_got(sim):
    await ruled(sim, "NoExecute")
    assert await going(sim)
    await sim.delete("Pod", "p")
    await sim.advance(21)
    assert await told(sim) == ("False", "Completed", "1 pod evicted since starting the controller.")


async def test_a_rule_without_effect_tells_what_it_would_do(sim):
    await ruled(sim, "None")
    assert not await going(sim)
    assert await told(sim) == (
        "False",
        "NoEffect",
        "1 published device selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the effect "
        "was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.",
    )
