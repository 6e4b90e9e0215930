"""Disruption budgets: what they count, and what they take back."""

import pytest

from mockkube.client.protocol import Key

READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
SELECTOR = {"matchLabels": {"app": "a"}}


@pytest.fixture
async def counting(sim):
    await sim.start("disruption-controller")
    await sim.node("n1")
    return sim


async def ready_pods(sim, count, owner=None):
    references = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True, **owner}] if owner else []
    for number in range(count):
        metadata = {"labels": {"app": "a"}, "ownerReferences": references}
        await sim.pod(f"p{number}", on="n1", metadata=metadata)
        await sim.status("Pod", f"p{number}", READY)


async def budget(sim, **spec):
    await sim.create("PodDisruptionBudget", "b", spec={"selector": SELECTOR, **spec})


async def counts(sim):
    status = (await sim.get("PodDisruptionBudget", "b"))["status"]
    (condition,) = status["conditions"]
    numbers = tuple(status[name] for name in ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed"))
    return (*numbers, condition["status"], condition["reason"])


async def test_a_number_of_available_pods_is_taken_from_those_that_are_there(counting):
    await ready_pods(counting, 3)
    await budget(counting, minAvailable=2)
    assert await counts(counting) == (3, 2, 3, 1, "True", "SufficientPods")


async def test_pods_that_are_not_ready_do_not_count_as_healthy(counting):
    await ready_pods(counting, 3)
    await counting.pod("late", on="n1", metadata={"labels": {"app": "a"}})
    await budget(counting, minAvailable=3)
    assert await counts(counting) == (4, 3, 3, 0, "False", "InsufficientPods")


async def test_a_share_is_taken_from_what_the_controllers_want_and_rounded_up(counting):
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    owner = await counting.create("ReplicaSet", "r", spec={"replicas": 5, "selector": SELECTOR, "template": template})
    await ready_pods(counting, 4, {"name": "r", "uid": owner["metadata"]["uid"]})
    await budget(counting, maxUnavailable="30%")
    assert await counts(counting) == (5, 3, 4, 1, "True", "SufficientPods")


async def test_pods_without_a_controller_are_told_of_when_a_share_is_asked_for(counting):
    await ready_pods(counting, 1)
    await budget(counting, minAvailable="50%")
    assert await counts(counting) == (0, 0, 1, 0, "False", "InsufficientPods")
    (event,) = {event[:2] for event in await counting.events("b", "UnmanagedPods")}
    assert (
        "selector: &LabelSelector{MatchLabels:map[string]string{app: a,},"
        "MatchExpressions:[]LabelSelectorRequirement{},}" in event[1]
    )


async def test_a_pod_whose_controller_is_unknown_blocks_all_disruption(counting):
    await ready_pods(counting, 1, {"name": "gone", "uid": "1"})
    await budget(counting, maxUnavailable=1)
    status = (await counting.get("PodDisruptionBudget", "b"))["status"]
    assert status["conditions"][0]["reason"] == "SyncFailed"
    assert status["conditions"][0]["message"] == 'found no controllers for pod "p0"'


async def test_no_pods_are_an_event(counting):
    await budget(counting, minAvailable=1)
    assert ("NoPods", "No matching pods found") in {event[:2] for event in await counting.events("b")}


async def test_an_eviction_that_never_became_a_deletion_is_forgotten_after_two_minutes(counting):
    await ready_pods(counting, 2)
    await budget(counting, minAvailable=1)
    since = counting.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    await counting.status("PodDisruptionBudget", "b", {"disruptedPods": {"p0": since}, "disruptionsAllowed": 0})
    assert await counts(counting) == (2, 1, 1, 0, "False", "InsufficientPods")
    await counting.advance(121)
    assert await counts(counting) == (2, 1, 2, 1, "True", "SufficientPods")


async def test_a_pod_that_was_to_go_and_did_not_is_told_so(counting):
    await ready_pods(counting, 1)
    now = counting.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "lastTransitionTime": now,
    }
    await counting.client.patch("Pod", Key("default", "p0"), {"status": {"conditions": [target]}}, subresource="status")
    await counting.settle()
    await counting.advance(121)
    conditions = {one["type"]: one["status"] for one in (await counting.get("Pod", "p0"))["status"]["conditions"]}
    assert conditions["DisruptionTarget"] == "False"
