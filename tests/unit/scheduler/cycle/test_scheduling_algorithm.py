"""Decisions: from the nodes that fit to the one that is chosen, and what is said when none does."""

from dataclasses import replace
from random import Random as Generator
from typing import Any

import pytest

from mockkube.runtime.random import Random, random_for
from mockkube.runtime.virtual_time import VirtualClock
from mockkube.scheduler.cycle.feasible_nodes import NextStartNode, num_feasible_nodes_to_find
from mockkube.scheduler.cycle.scheduling_algorithm import ScheduleResult, SchedulingAlgorithm, SchedulingError
from mockkube.scheduler.framework.fit_error import FitError
from mockkube.scheduler.framework.interface import CycleState, FilterPlugin
from mockkube.scheduler.framework.metrics import SchedulerMetrics
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SUCCESS, Status
from mockkube.scheduler.profile.framework import Framework

NAME = "default-scheduler"


def decide(scheduler: Any, pod: Any) -> Any:
    decider = scheduler.algorithms[NAME]
    return decider.schedule_pod(decider.new_cycle_state(), pod)


@pytest.mark.parametrize(
    ("percentage", "nodes", "expected"),
    [
        pytest.param(0, 99, 99, id="all of a small cluster"),
        pytest.param(0, 100, 100, id="never less than a hundred"),
        pytest.param(0, 1000, 420, id="less by the size"),
        pytest.param(0, 5000, 500, id="a tenth of five thousand"),
        pytest.param(0, 10000, 500, id="five in a hundred at least"),
        pytest.param(30, 1000, 300, id="as configured"),
        pytest.param(100, 1000, 1000, id="all, as configured"),
    ],
)
def test_how_many_nodes_are_enough(percentage, nodes, expected):
    assert num_feasible_nodes_to_find(percentage, nodes) == expected


def test_searches_go_on_where_the_last_one_ended(schedulers, nodes, pods):
    scheduler = schedulers()
    for number in range(250):
        scheduler.cache.set_node(nodes(f"n{number:03}"))
    seen = [decide(scheduler, pods(f"p{number}")) for number in range(3)]
    assert [decision.evaluated_nodes for decision in seen] == [120, 120, 120]
    places = [int(decision.node_name[1:]) for decision in seen]
    assert places[0] < 120 <= places[1] < 240
    assert places[2] >= 240 or places[2] < 110


def test_one_node_that_fits_is_taken_without_ranking(schedulers, nodes, pods):
    scheduler = schedulers()
    scheduler.cache.set_node(nodes("n1"))
    scheduler.cache.set_node(nodes("n2", "100m"))
    assert decide(scheduler, pods("p")) == ScheduleResult("n1", 2, 1)


def test_a_nominated_node_is_tried_first(schedulers, nodes, pods):
    scheduler = schedulers()
    scheduler.cache.set_node(nodes("small", "2"))
    scheduler.cache.set_node(nodes("large", "8"))
    pod = pods("p")
    pod.nominated_node = "small"
    assert decide(scheduler, pod) == ScheduleResult("small", 1, 1)


def test_room_is_left_to_pods_that_are_nominated(schedulers, nodes, pods):
    scheduler = schedulers()
    scheduler.cache.set_node(nodes("n1", "2"))
    scheduler.nominator._pod_lister = lambda one: one
    scheduler.nominator.add_nominated_pod(pods("first", "2", priority=5), "n1")
    assert isinstance(decide(scheduler, pods("same", priority=5)), FitError)
    assert isinstance(decide(scheduler, pods("more", priority=6)), ScheduleResult)


def test_named_nodes_alone_are_looked_at(schedulers, nodes, pods):
    scheduler = schedulers()
    for name in ("n1", "n2", "n3"):
        scheduler.cache.set_node(nodes(name))
    field = {"key": "metadata.name", "operator": "In", "values": ["gone"]}
    term = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}
    refusal = decide(scheduler, pods("p", affinity=affinity))
    assert "3 node(s) didn't satisfy plugin(s) [NodeAffinity]." in refusal.message
    assert refusal.diagnosis.unschedulable_plugins == {"NodeAffinity"}


class Broken(FilterPlugin):
    """Fails on one node."""

    name = "Broken"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Refuse no other node."""
        return Status.error("no idea") if node.name == "n2" else SUCCESS


def test_a_plugin_that_fails_is_explained_as_what_the_node_said(schedulers, nodes, pods):
    scheduler = schedulers()
    for name in ("n1", "n2"):
        scheduler.cache.set_node(nodes(name))
    points = scheduler.algorithms[NAME].framework
    profile = replace(points.profile, filters=(*points.profile.filters, Broken()))
    broken = Framework(profile, points.cache, points.nominator, VirtualClock(), SchedulerMetrics())
    decider = SchedulingAlgorithm(
        broken, Random.from_seed(0, ""), percentage_of_nodes_to_score=0, next_start=NextStartNode()
    )
    decision, refused, scores = decider.explain(decider.new_cycle_state(), pods("p"))
    told = 'running "Broken" filter plugin: no idea'
    assert (decision, scores) == (SchedulingError(told), {})
    assert {name: status.message for name, status in refused.items()} == {"n2": told}


TAINT = {"key": "a", "effect": "NoSchedule"}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}


def change(scheduler: Any, nodes: Any, random: Generator) -> None:
    """Let a node come, change or go."""
    which = random.randrange(6)
    if random.random() < 0.2:
        scheduler.cache.remove_node(f"n{which}")
        return
    taints = [TAINT] if random.random() < 0.3 else []
    labels = {"zone": str(which % 2)}
    scheduler.cache.set_node(nodes(f"n{which}", random.choice(("2", "4", "8")), labels=labels, taints=taints))


@pytest.mark.parametrize("seed", range(12))
def test_what_is_remembered_never_changes_a_decision(schedulers, nodes, pods, seed):
    """Compare a scheduler that remembers with one that has just begun, while nodes and pods come and go."""
    scheduler, random = schedulers(), random_for(seed, "changes")
    decider = scheduler.algorithms[NAME]
    for number in range(80):
        if number < 4 or random.random() < 0.2:
            change(scheduler, nodes, random)
            continue
        spread = {"topologySpreadConstraints": [SPREAD]} if random.random() < 0.2 else {}
        pod = pods(f"p{number}", random.choice(("500m", "1")), labels={"app": "web"}, **spread)
        fresh = SchedulingAlgorithm(
            decider.framework, Random.from_seed(0, ""), percentage_of_nodes_to_score=0, next_start=NextStartNode()
        )
        _, refused, scores = fresh.explain(fresh.new_cycle_state(), pod)
        decision, plain = (
            decider.schedule_pod(decider.new_cycle_state(), pod),
            fresh.schedule_pod(fresh.new_cycle_state(), pod),
        )
        if isinstance(decision, ScheduleResult):
            assert decision.node_name not in refused
            totals = {name: sum(own.values()) for name, own in scores.items()}
            assert not totals or totals[decision.node_name] == max(totals.values())
            scheduler.cache.assume_pod(pod, decision.node_name)
            continue
        assert isinstance(decision, FitError)
        assert isinstance(plain, FitError)
        assert (decision.message, decision.diagnosis) == (plain.message, plain.diagnosis)
        said = {name: status.reasons for name, status in decision.node_to_status.by_node.items()}
        assert said == {name: status.reasons for name, status in refused.items()}
