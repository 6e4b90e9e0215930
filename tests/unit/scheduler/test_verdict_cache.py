"""What is remembered of nodes finds the same ones as looking at each."""

import pytest

from mockkube.runtime.chance import Chance
from mockkube.scheduler.feasible_nodes import NextStartNode
from mockkube.scheduler.fit_error import FitError
from mockkube.scheduler.scheduling_algorithm import Placement, SchedulingAlgorithm

NAME = "default-scheduler"
TAINT = {"key": "a", "effect": "NoSchedule"}
NODES = 150
FREE = 3


@pytest.mark.parametrize("tainted_every", [3, NODES])
def test_nodes_that_are_known_are_found_as_if_looked_at_one_by_one(schedulers, nodes, pods, tainted_every):
    scheduler, start = schedulers(), 0
    for index in range(NODES):
        scheduler.picture.set_node(nodes(f"n{index}", taints=[] if index % tainted_every else [TAINT]))
    decider = scheduler.deciders[NAME]
    for number in range(12):
        pod = pods(f"p{number}", "3")
        fresh = SchedulingAlgorithm(
            decider.points, Chance.from_seed(0, ""), percentage=0, rotation=NextStartNode(start)
        )
        remembered, looked_at = decider.decide(decider.state(), pod), fresh.decide(fresh.state(), pod)
        assert isinstance(remembered, Placement)
        assert isinstance(looked_at, Placement)
        assert remembered.nodes_seen == looked_at.nodes_seen
        assert remembered.feasible_nodes == looked_at.feasible_nodes
        start = (start + remembered.nodes_seen) % NODES
        scheduler.picture.assume(pod, remembered.node_name)


def test_a_search_that_knows_all_nodes_counts_what_each_filter_said(schedulers, nodes, pods):
    scheduler = schedulers()
    for index in range(4):
        scheduler.picture.set_node(nodes(f"n{index}", taints=[TAINT] if index == 1 else []))
    decider, evaluations = scheduler.deciders[NAME], scheduler.metrics.evaluations
    counts = []
    for number in range(2):
        before = dict(evaluations.values)
        decider.decide(decider.state(), pods(f"p{number}"))
        counts.append({key: value - before.get(key, 0) for key, value in evaluations.values.items()})
    assert counts[0] == counts[1]


def test_nodes_that_others_are_nominated_to_are_judged_as_if_looked_at_one_by_one(schedulers, nodes, pods):
    scheduler = schedulers()
    scheduler.nominations._pod_lister = lambda one: one
    for index in range(NODES):
        scheduler.picture.set_node(nodes(f"n{index}"))
        if index >= FREE:
            scheduler.picture.assume(pods(f"old{index}", "2", priority=9), f"n{index}")
    decider, seen = scheduler.deciders[NAME], []
    for number in range(24):
        guard = pods(f"guard{number % 6}", "3", priority=number % 2)
        scheduler.nominations.put(guard, f"n{number * 5 % FREE}" if number % 7 else "")
        fresh = SchedulingAlgorithm(decider.points, Chance.from_seed(0, ""), percentage=0, rotation=NextStartNode())
        pod = guard if number % 3 else pods(f"p{number}", "3", priority=number % 2)
        remembered, looked_at = (outline(one.decide(one.state(), pod)) for one in (decider, fresh))
        assert remembered == looked_at
        seen.append(remembered)
    assert len({repr(one) for one in seen}) > 2


def outline(decision):
    if isinstance(decision, Placement):
        return decision.nodes_seen, decision.feasible_nodes
    assert isinstance(decision, FitError)
    return decision.verdicts.by_node, decision.message


def test_a_pod_does_not_leave_room_for_itself_nor_for_less_important_ones(schedulers, nodes, pods):
    scheduler = schedulers()
    scheduler.nominations._pod_lister = lambda one: one
    scheduler.picture.set_node(nodes("n1"))
    decider = scheduler.deciders[NAME]
    first, second, better = (pods(name, "3", priority=priority) for name, priority in (("a", 1), ("b", 1), ("c", 2)))
    scheduler.nominations.put(first, "n1")
    decisions = [decider.decide(decider.state(), pod) for pod in (second, first, second, better)]
    assert [isinstance(decision, Placement) for decision in decisions] == [False, True, False, True]
