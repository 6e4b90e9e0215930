"""What is remembered of nodes finds the same ones as looking at each."""

import pytest

from mockkube.runtime.random import Random
from mockkube.scheduler.cycle.feasible_nodes import NextStartNode
from mockkube.scheduler.cycle.node_scores import find_nth
from mockkube.scheduler.cycle.scheduling_algorithm import ScheduleResult, SchedulingAlgorithm
from mockkube.scheduler.cycle.verdict_cache import NodeWindow, select
from mockkube.scheduler.framework.fit_error import FitError

NAME = "default-scheduler"
TAINT = {"key": "a", "effect": "NoSchedule"}
NODES = 150
FREE = 3


@pytest.mark.parametrize("tainted_every", [3, NODES])
def test_nodes_that_are_known_are_found_as_if_looked_at_one_by_one(schedulers, nodes, pods, tainted_every):
    scheduler, start = schedulers(), 0
    for index in range(NODES):
        scheduler.cache.set_node(nodes(f"n{index}", taints=[] if index % tainted_every else [TAINT]))
    decider = scheduler.algorithms[NAME]
    for number in range(12):
        pod = pods(f"p{number}", "3")
        fresh = SchedulingAlgorithm(
            decider.framework, Random.from_seed(0, ""), percentage_of_nodes_to_score=0, next_start=NextStartNode(start)
        )
        remembered, looked_at = (
            decider.schedule_pod(decider.new_cycle_state(), pod),
            fresh.schedule_pod(fresh.new_cycle_state(), pod),
        )
        assert isinstance(remembered, ScheduleResult)
        assert isinstance(looked_at, ScheduleResult)
        assert remembered.evaluated_nodes == looked_at.evaluated_nodes
        assert remembered.feasible_nodes == looked_at.feasible_nodes
        start = (start + remembered.evaluated_nodes) % NODES
        scheduler.cache.assume_pod(pod, remembered.node_name)


def test_a_search_that_knows_all_nodes_counts_what_each_filter_said(schedulers, nodes, pods):
    scheduler = schedulers()
    for index in range(4):
        scheduler.cache.set_node(nodes(f"n{index}", taints=[TAINT] if index == 1 else []))
    decider, evaluations = scheduler.algorithms[NAME], scheduler.metrics.plugin_evaluations
    counts = []
    for number in range(2):
        before = dict(evaluations.values)
        decider.schedule_pod(decider.new_cycle_state(), pods(f"p{number}"))
        counts.append({key: value - before.get(key, 0) for key, value in evaluations.values.items()})
    assert counts[0] == counts[1]


def test_nodes_that_others_are_nominated_to_are_judged_as_if_looked_at_one_by_one(schedulers, nodes, pods):
    scheduler = schedulers()
    scheduler.nominator._pod_lister = lambda one: one
    for index in range(NODES):
        scheduler.cache.set_node(nodes(f"n{index}"))
        if index >= FREE:
            scheduler.cache.assume_pod(pods(f"old{index}", "2", priority=9), f"n{index}")
    decider, seen = scheduler.algorithms[NAME], []
    for number in range(24):
        guard = pods(f"guard{number % 6}", "3", priority=number % 2)
        scheduler.nominator.add_nominated_pod(guard, f"n{number * 5 % FREE}" if number % 7 else "")
        fresh = SchedulingAlgorithm(
            decider.framework, Random.from_seed(0, ""), percentage_of_nodes_to_score=0, next_start=NextStartNode()
        )
        pod = guard if number % 3 else pods(f"p{number}", "3", priority=number % 2)
        remembered, looked_at = (outline(one.schedule_pod(one.new_cycle_state(), pod)) for one in (decider, fresh))
        assert remembered == looked_at
        seen.append(remembered)
    assert len({repr(one) for one in seen}) > 2


def outline(decision):
    if isinstance(decision, ScheduleResult):
        return decision.evaluated_nodes, decision.feasible_nodes
    assert isinstance(decision, FitError)
    return decision.node_to_status.by_node, decision.message


def test_a_pod_does_not_leave_room_for_itself_nor_for_less_important_ones(schedulers, nodes, pods):
    scheduler = schedulers()
    scheduler.nominator._pod_lister = lambda one: one
    scheduler.cache.set_node(nodes("n1"))
    decider = scheduler.algorithms[NAME]
    first, second, better = (pods(name, "3", priority=priority) for name, priority in (("a", 1), ("b", 1), ("c", 2)))
    scheduler.nominator.add_nominated_pod(first, "n1")
    decisions = [decider.schedule_pod(decider.new_cycle_state(), pod) for pod in (second, first, second, better)]
    assert [isinstance(decision, ScheduleResult) for decision in decisions] == [False, True, False, True]


@pytest.mark.parametrize(("start", "count"), [(0, 3), (2, 3), (3, 4), (4, 5), (0, 5), (4, 1), (0, 0)])
def test_a_window_of_nodes_goes_once_around(start: int, count: int) -> None:
    window, expected = NodeWindow(start, count, 5), [(start + step) % 5 for step in range(count)]
    assert list(window) == [window[at] for at in range(len(window))] == expected
    assert [one in window for one in range(6)] == [one in expected for one in range(6)]
    assert select("abcde", window) == ["abcde"[one] for one in expected]
    assert window[:2] == expected[:2]
    assert not count or window[-1] == expected[-1]


@pytest.mark.parametrize("values", [[7], [7, 7, 7], [1, 7, 2, 7], [7, *[1, 7] * 150, 7]])
def test_each_of_several_equal_values_is_found(values: list[int]) -> None:
    places = [index for index, value in enumerate(values) if value == 7]
    found = [find_nth(values, 7, number, len(places)) for number in range(len(places))]
    assert found == places
