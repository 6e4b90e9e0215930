"""Processes that go on from the paths of the round before."""

import os
import signal
from pathlib import Path

import pytest

from mockkube.cluster.configuration.errors import StartError
from mockkube.explore.exploration import explore_plan
from mockkube.explore.plans.loading import parse
from mockkube.explore.plans.orders import DisturbanceMove, list_paths
from mockkube.explore.plans.plan import Direction, RolloutPlan
from mockkube.explore.players import ParallelPlayer, SequentialPlayer
from mockkube.report.summary import to_json

PLAN = """
apiVersion: mockkube.dev/v1alpha1
kind: RolloutPlan
metadata: {name: players}
spec:
  version: "1.36"
  change:
    kube-apiserver: {gates: {TaintTolerationComparisonOperators: true}}
    kube-scheduler: {gates: {TaintTolerationComparisonOperators: true}}
  nodes:
    - taints: [{key: sla, value: "950", effect: NoSchedule}]
  workload:
    - apiVersion: v1
      kind: Pod
      metadata: {name: batch}
      spec:
        containers: [{name: main, image: registry.example/batch:1}]
        tolerations: [{key: sla, operator: Gt, value: "900", effect: NoSchedule}]
"""
DISTURBED = """
  disturbances:
    - name: a program runs
      do: [{script: {content: "test 1 = 1 && echo done"}}]
"""


@pytest.fixture(scope="module")
def plan() -> RolloutPlan:
    return parse(PLAN)


def list_children() -> set[int]:
    """Return the processes that this one has started."""
    return {int(pid) for pid in Path("/proc/thread-self/children").read_text().split()}


def test_processes_find_what_one_process_finds(plan: RolloutPlan) -> None:
    with ParallelPlayer(plan, 2) as players:
        found = explore_plan(plan, players, checks=2)
    assert found.checked is not None
    assert (found.checked.path_count, found.checked.differences) == (2, ())
    after_safe = explore_plan(plan, SequentialPlayer(plan), undisturbed=True)
    assert to_json(found)["pairs"] == to_json(after_safe)["pairs"]
    # Without a disturbance, what is broken on the way down was broken on the way up, with the API server first.
    assert [str(one.verdict) for one in after_safe.list_verdicts(Direction.UP)] == ["safe", "unsafe"]
    assert {one.worst.is_safe for one in after_safe.list_verdicts(Direction.DOWN)} == {True}
    # Each move after each state once, and a few more to verify states.
    assert found.distinct_moves <= found.played <= found.distinct_moves * 1.5


def test_a_path_goes_on_from_what_was_played_before(plan: RolloutPlan) -> None:
    moves = next(iter(list_paths(plan))).moves
    with ParallelPlayer(plan, 1) as players:
        (first,) = players([moves[:2]])
        (again,) = players([moves[:3]])
        (whole,) = players.play_from_start([moves[:3]])
    assert (first.continued_at, again.continued_at, whole.continued_at) == (0, 2, 0)
    assert again.results == whole.results
    assert again.results[:2] == first.results


@pytest.mark.skipif(not Path("/proc/thread-self/children").exists(), reason="the processes are listed in /proc")
def test_processes_that_are_killed_cost_only_time(plan: RolloutPlan) -> None:
    moves = next(iter(list_paths(plan))).moves
    before = list_children()
    with ParallelPlayer(plan, 1) as players:
        (first,) = players([moves[:2]])
        (root,) = list_children() - before
        for child in Path(f"/proc/{root}/task/{root}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        (again,) = players([moves[:3]])
        assert again.continued_at == 0
        assert again.results[:2] == first.results
        os.kill(root, signal.SIGKILL)
        with pytest.raises(StartError, match="processes that ran paths have died"):
            list(players.play_from_start([moves[:2]]))


def test_an_error_is_raised_where_the_paths_are_asked_for(plan: RolloutPlan) -> None:
    unknown = (DisturbanceMove(Direction.UP, "nobody planned it"),)
    with ParallelPlayer(plan, 1) as players, pytest.raises(RuntimeError) as caught:
        list(players([unknown]))
    assert "_play_move" in "".join(caught.value.__notes__)


def test_actions_that_run_programs_work_in_each_process() -> None:
    plan = parse(PLAN + DISTURBED)
    moves = next(iter(list_paths(plan))).moves
    with ParallelPlayer(plan, 2) as players:
        list(players([moves[:1]]))
        # Both go on from one held cluster at the same time, and again from what they hold.
        both = list(players([moves[:1] + moves[1:2], moves[:1] + moves[2:3]]))
        (last,) = players([moves[:3]])
    results = [one.results[-1] for one in (*both, last)]
    assert [(set(one.refused), "a program runs, step 1" in one.accepted) for one in results] == [(set(), True)] * 3
