"""What is remembered of nodes finds the same ones as looking at each."""

import pytest

from mockkube.runtime.chance import Chance
from mockkube.scheduler.decision import Decider, Placement
from mockkube.scheduler.search import Rotation

NAME = "default-scheduler"
TAINT = {"key": "a", "effect": "NoSchedule"}
NODES = 150


@pytest.mark.parametrize("tainted_every", [3, NODES])
def test_nodes_that_are_known_are_found_as_if_looked_at_one_by_one(schedulers, nodes, pods, tainted_every):
    scheduler, start = schedulers(), 0
    for index in range(NODES):
        scheduler.picture.set_node(nodes(f"n{index}", taints=[] if index % tainted_every else [TAINT]))
    decider = scheduler.deciders[NAME]
    for number in range(12):
        pod = pods(f"p{number}", "3")
        fresh = Decider(decider.points, Chance.seeded(0, ""), percentage=0, rotation=Rotation(start))
        remembered, looked_at = decider.decide(decider.state(), pod), fresh.decide(fresh.state(), pod)
        assert isinstance(remembered, Placement)
        assert isinstance(looked_at, Placement)
        assert remembered.nodes_seen == looked_at.nodes_seen
        assert remembered.nodes_feasible == looked_at.nodes_feasible
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
