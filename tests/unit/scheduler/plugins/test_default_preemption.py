"""Preemption chooses whom to evict where, and remembers no longer than it holds."""

import pytest

from mockkube.client.protocol import Key
from mockkube.scheduler.framework.pod_info import PodInfo

NODES = 300


@pytest.fixture
def scheduler(schedulers, nodes):
    scheduler = schedulers()
    scheduler.nominator._pod_lister = lambda one: one
    for index in range(NODES):
        scheduler.cache.set_node(nodes(f"n{index}"))
    return scheduler


@pytest.fixture
def place(scheduler, pods):
    """Return what puts a pod that fills its node there."""

    def place(node, app, priority=0):
        scheduler.cache.assume_pod(pods(f"{app}-{node}", "3", labels={"app": app}, priority=priority), node)

    return place


@pytest.fixture
def decide(scheduler, pods):
    """Return what decides for one more pod of some priority: the node that is made room on; empty for none."""
    decider = scheduler.algorithms["default-scheduler"]

    def decide(priority=5, name="p"):
        remedy = decider.schedule_pod(decider.new_cycle_state(), pods(name, "3", priority=priority)).post_filter_result
        return remedy.node_name

    return decide


def protect(scheduler, app, allowed):
    """Set, or replace, the budget of an application."""
    scheduler.informers.informer_for("PodDisruptionBudget").objects[Key("a", app)] = {
        "metadata": {"name": app, "namespace": "a"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed},
    }


def test_a_node_without_violation_is_found_however_many_others_are_enough(scheduler, place, decide):
    for index in range(NODES):
        place(f"n{index}", "spared" if index != 123 else "other")
    protect(scheduler, "spared", 0)
    assert [decide(name=f"p{number}") for number in range(5)] == ["n123"] * 5


def test_what_budgets_allow_now_counts(scheduler, place, decide):
    for index in range(NODES):
        place(f"n{index}", "x" if index == 7 else "y" if index == 8 else "z", priority=0 if index in (7, 8) else 9)
    chosen = []
    for x, y in ((0, 1), (1, 0), (0, 1)):
        protect(scheduler, "x", x)
        protect(scheduler, "y", y)
        chosen += [decide(), decide()]
    assert chosen == ["n8", "n8", "n7", "n7", "n8", "n8"]


def test_a_budget_that_is_new_counts(scheduler, place, decide):
    for index in range(NODES):
        place(f"n{index}", "x" if index == 7 else "z", priority=0 if index in (7, 8) else 9)
    scheduler.cache.remove_pod("z-n8")
    place("n8", "old", priority=1)
    assert decide() == "n7"
    protect(scheduler, "x", 0)
    assert decide() == "n8"


def test_a_node_that_others_are_nominated_to_is_left_to_those_as_important(scheduler, pods, place, decide):
    for index in range(NODES):
        place(f"n{index}", "z", priority=0 if index in (7, 150) else 9)
    assert {decide(name=f"p{number}") for number in range(30)} == {"n7", "n150"}
    awaited = pods("awaited", "3", priority=5)
    scheduler.nominator.add_nominated_pod(awaited, "n7")
    assert {decide(name=f"p{number}") for number in range(30)} == {"n150"}
    assert {decide(name="awaited") for _ in range(30)} == {"n7", "n150"}
    assert {decide(name=f"p{number}") for number in range(30)} == {"n150"}
    assert {decide(6, name=f"p{number}") for number in range(30)} == {"n7", "n150"}
    scheduler.nominator.delete_nominated_pod(awaited.uid)
    assert {decide(name=f"p{number}") for number in range(30)} == {"n7", "n150"}


def test_victims_are_told_as_they_are_now(scheduler, pods, place):
    for index in range(NODES):
        place(f"n{index}", "z", priority=0 if index == 7 else 9)
    decider = scheduler.algorithms["default-scheduler"]
    pod = pods("p", "3", priority=5)
    decider.schedule_pod(decider.new_cycle_state(), pod)
    (before,) = scheduler.cache.get("n7").pods.values()
    later = PodInfo({**before.obj, "metadata": {**before.obj["metadata"], "resourceVersion": "2"}})
    scheduler.cache.add_pod(later)
    assert decider.schedule_pod(decider.new_cycle_state(), pod).post_filter_result.victims == (later,)
