"""Replica sets against a server in memory, in virtual time."""

import pytest

NAME = "replicaset-controller"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def make(sim, name="rs", **spec):
    selector = {"matchLabels": {"a": "b"}}
    await sim.create("ReplicaSet", name, spec={"replicas": 3, "selector": selector, "template": TEMPLATE, **spec})


async def status(sim, name="rs"):
    return (await sim.get("ReplicaSet", name))["status"]


async def ready(sim, *names):
    now = sim.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    for name in names or await sim.names("Pod"):
        condition = {"type": "Ready", "status": "True", "lastTransitionTime": now}
        await sim.status("Pod", name, {"phase": "Running", "conditions": [condition]})


async def test_a_set_makes_as_many_pods_as_asked_for(sim):
    await sim.start(NAME)
    await make(sim)
    assert len(await sim.all("Pod")) == 3
    assert (await status(sim))["replicas"] == 3
    [reference] = (await sim.all("Pod"))[0]["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["controller"], reference["blockOwnerDeletion"]) == ("ReplicaSet", True, True)


async def test_a_pod_that_goes_is_replaced(sim):
    await sim.start(NAME)
    await make(sim)
    gone = (await sim.names("Pod"))[0]
    await sim.delete("Pod", gone)
    names = await sim.names("Pod")
    assert len(names) == 3
    assert gone not in names


async def test_a_failed_pod_is_replaced_and_stays(sim):
    await sim.start(NAME)
    await make(sim, replicas=1)
    await sim.status("Pod", (await sim.names("Pod"))[0], {"phase": "Failed"})
    assert len(await sim.all("Pod")) == 2
    assert (await status(sim))["replicas"] == 1


async def test_the_least_missed_pods_go_first(sim):
    await sim.start(NAME)
    await make(sim)
    kept = (await sim.names("Pod"))[1]
    await ready(sim, kept)
    await sim.merge("ReplicaSet", "rs", {"spec": {"replicas": 1}})
    assert await sim.names("Pod") == [kept]


async def test_an_orphan_that_matches_is_adopted_and_one_pod_less_is_made(sim):
    await sim.start(NAME)
    await sim.pod("orphan", metadata={"labels": {"a": "b"}})
    await make(sim, replicas=2)
    assert len(await sim.all("Pod")) == 2
    assert (await sim.get("Pod", "orphan"))["metadata"]["ownerReferences"][0]["name"] == "rs"


async def test_a_pod_whose_labels_no_longer_match_is_released_and_replaced(sim):
    await sim.start(NAME)
    await make(sim, replicas=1)
    [name] = await sim.names("Pod")
    await sim.merge("Pod", name, {"metadata": {"labels": {"a": "other"}}})
    assert len(await sim.all("Pod")) == 2
    assert "ownerReferences" not in (await sim.get("Pod", name))["metadata"]


async def test_availability_waits_for_the_seconds_asked_for(sim):
    await sim.start(NAME)
    await make(sim, replicas=1, minReadySeconds=10)
    await ready(sim)
    assert (await status(sim)).get("availableReplicas", 0) == 0
    await sim.advance(9)
    assert (await status(sim)).get("availableReplicas", 0) == 0
    await sim.advance(2)
    assert (await status(sim))["availableReplicas"] == 1


async def test_pods_that_cannot_be_made_are_tried_again_ever_more_slowly(sim):
    await sim.start(NAME)
    await sim.create("ResourceQuota", "none", spec={"hard": {"pods": "0"}})
    await sim.status("ResourceQuota", "none", {"hard": {"pods": "0"}, "used": {"pods": "0"}})
    await make(sim)
    await sim.advance(1)
    early = sum(count for _, _, count in await sim.events("rs", "FailedCreate"))
    await sim.advance(60)
    late = sum(count for _, _, count in await sim.events("rs", "FailedCreate"))
    assert 5 <= early <= 12
    assert late - early <= 10
    [failure] = (await status(sim))["conditions"]
    assert (failure["type"], failure["reason"]) == ("ReplicaFailure", "FailedCreate")


@pytest.mark.parametrize("cost", [pytest.param("-5", id="cheap"), pytest.param("100", id="dear")])
async def test_the_cost_of_a_deletion_decides(sim, cost):
    await sim.start(NAME)
    await make(sim, replicas=2)
    one, other = await sim.names("Pod")
    await sim.merge("Pod", one, {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": cost}}})
    await sim.merge("ReplicaSet", "rs", {"spec": {"replicas": 1}})
    assert await sim.names("Pod") == [other if cost == "-5" else one]


async def test_pods_that_leave_count_while_they_are_selected(sim):
    await sim.start(NAME)
    template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "nodeName": "n"}}
    await make(sim, replicas=2, template=template)
    await sim.merge("ReplicaSet", "rs", {"spec": {"replicas": 0}})
    assert (await status(sim))["terminatingReplicas"] == 2
    await sim.merge("Pod", (await sim.names("Pod"))[0], {"metadata": {"labels": {"a": "other"}}})
    assert (await status(sim))["terminatingReplicas"] == 1
