"""Making room: who goes, what is said of it, and who may use the room."""

import pytest


@pytest.fixture
async def full(lab):
    """A lab with a node that is full of unimportant pods, and a class of pods that matter."""
    await lab.priority_class("high", 1000)
    await lab.node("n1", cpu="2")
    for name in ("a", "b"):
        await lab.pod(name, cpu="1")
    await lab.settle()
    return lab


async def test_room_is_made_for_a_more_important_pod(full) -> None:
    await full.pod("p", cpu="2", priorityClassName="high")
    await full.settle()
    assert [await full.exists(name) for name in ("a", "b")] == [False, False]
    assert await full.node_of("p") == "n1"
    uid = (await full.get("p"))["metadata"]["uid"]
    assert ("Preempted", f"Preempted by pod {uid} on node n1") in await full.events("a")


async def test_victims_say_who_disrupted_them_and_the_pod_waits_for_them(full) -> None:
    for name in ("a", "b"):
        await full.patch("Pod", name, {"metadata": {"finalizers": ["example.com/keep"]}})
    await full.pod("p", cpu="1", priorityClassName="high")
    await full.settle()
    pod = await full.get("p")
    assert pod["status"]["nominatedNodeName"] == "n1"
    assert (await full.condition("p"))[2] == "0/1 nodes are available: 1 Insufficient cpu."
    disrupted = [await full.condition(name, "DisruptionTarget") for name in ("a", "b")]
    message = "default-scheduler: preempting to accommodate a higher priority pod"
    assert sorted(disrupted) == [("", "", ""), ("True", "PreemptionByScheduler", message)]


async def test_the_room_is_left_to_the_pod_it_was_made_for(full) -> None:
    await full.patch("Pod", "a", {"metadata": {"finalizers": ["example.com/keep"]}})
    await full.patch("Pod", "b", {"metadata": {"finalizers": ["example.com/keep"]}})
    await full.pod("p", cpu="2", priorityClassName="high")
    await full.settle()
    await full.patch("Pod", "a", {"metadata": {"finalizers": None}})
    await full.pod("thief", cpu="1")
    await full.settle()
    assert await full.node_of("thief") == ""
    await full.patch("Pod", "b", {"metadata": {"finalizers": None}})
    await full.advance(10)
    assert (await full.node_of("p"), await full.node_of("thief")) == ("n1", "")
    assert "nominatedNodeName" not in (await full.get("p"))["status"]


async def test_a_pod_that_never_preempts_says_so(full) -> None:
    await full.priority_class("polite", 1000, preemptionPolicy="Never")
    await full.pod("p", cpu="1", priorityClassName="polite")
    await full.settle()
    assert (await full.condition("p"))[2].endswith("preemption: not eligible due to preemptionPolicy=Never.")
    assert [await full.exists(name) for name in ("a", "b")] == [True, True]


async def test_disruption_budgets_are_respected_where_there_is_a_choice(full) -> None:
    await full.patch("Pod", "a", {"metadata": {"labels": {"app": "kept"}}})
    budget = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}},
    }
    await full.admin.create("PodDisruptionBudget", budget)
    await full.settle()
    await full.pod("p", cpu="1", priorityClassName="high")
    await full.settle()
    assert [await full.exists(name) for name in ("a", "b")] == [True, False]
