"""The plans that ship, explored: repeated moves have the same result, and each counterexample shows its harm."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from mockkube.explore.counterexample_checks import make_checks
from mockkube.explore.counterexample_scenario import render_counterexample, render_moves
from mockkube.explore.exploration import Counterexample, Exploration, OrderPair, explore_plan
from mockkube.explore.path_runner import replay_path
from mockkube.explore.plans import invariants
from mockkube.explore.plans.loading import load
from mockkube.explore.plans.orders import Moves, list_paths
from mockkube.explore.plans.plan import Direction, Order, RolloutPlan
from mockkube.explore.players import ParallelPlayer
from mockkube.scenario.runner.loading import parse
from mockkube.scenario.runner.results import RunOutcome, RunResult
from mockkube.scenario.runner.scenario_runner import ScenarioRun, play

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # whole explorations, on a machine that may be busy

PLANS = sorted((Path(__file__).parents[2] / "conformance" / "plans").glob("*.yaml"))
EXPLORED = [path for path in PLANS if path.stem in ("kep-3094", "kep-5471")]
"""An upgrade and a gate. Of the other plans only the orders that documents recommend are played."""
SAMPLED = [path for path in PLANS if path not in EXPLORED]
LONG = ("kep-3094-workloads", "kep-5721-workloads")
"""Their workloads do as those of other plans, so that CI leaves them out."""
VERDICTS = {
    "kep-5500": {
        "as the KEP enables": "safe",
        "as the KEP rolls back": "unsafe",
        "as the KEP rolls back to prevent hot loops": "unsafe",
        "the KEP's whole procedure, workloads updated first": "safe",
    },
    "kep-5721": {
        "as the KEP enables": "unsafe",
        "as the KEP rolls back": "unsafe",
        "as the KEP rolls back, workloads updated first": "safe",
    },
    # The same gates and releases with a StatefulSet, a Job, a DaemonSet and a custom resource.
    "kep-3094-workloads": {
        "as releases are upgraded": "safe",
        "as releases are downgraded": "safe",
    },
    "kep-5471-workloads": {
        "as the KEP enables": "unsafe",
        "as the KEP rolls back": "unsafe",
        "as the KEP rolls back, workloads updated first": "safe",
    },
    "kep-5500-workloads": {
        "as the KEP enables": "safe",
        "as the KEP rolls back": "unsafe",
        "the KEP's whole procedure, workloads updated first": "safe",
    },
    "kep-5721-workloads": {
        "as the KEP enables": "unsafe",
        "as the KEP rolls back": "unsafe",
        "as the KEP rolls back, workloads updated first": "safe",
    },
    # Each KEP's own order to enable, tried with the gate of the other.
    "kep-5471-with-kep-5500": {
        "as KEP-5471 enables": "unsafe",
        "as KEP-5500 enables": "safe",
        "as KEP-5471 rolls back": "unsafe",
        "as KEP-5500 rolls back": "unsafe",
    },
}
"""Verdicts on the orders that documents recommend, each combined with the others."""
CHECKED = 6


@pytest.fixture(scope="module", params=EXPLORED, ids=[path.stem for path in EXPLORED])
def explored(request: pytest.FixtureRequest) -> Iterator[Exploration]:
    plan = load(request.param)
    with ParallelPlayer(plan, os.cpu_count() or 1) as players:
        yield explore_plan(plan, players, checks=CHECKED)


def test_what_is_shared_is_what_playing_a_way_from_start_to_end_gives(explored: Exploration) -> None:
    assert explored.mismatches == 0
    assert explored.checked is not None
    assert explored.checked.path_count == CHECKED
    assert list(map(str, explored.checked.differences)) == []


def test_a_counterexample_passes_when_played_and_fails_with_an_order_that_does_no_such_harm(
    explored: Exploration,
) -> None:
    plan = explored.plan
    assert explored.counterexamples
    for one in explored.counterexamples:
        journey = asyncio.run(replay_path(plan, one.moves))
        harmed = _played(render_counterexample(plan, one, journey))
        assert (one.invariant, harmed.outcome, harmed.message) == (one.invariant, RunOutcome.PASSED, "")
        if (moves := _harmless(explored, one)) is None:
            continue
        broken = next(each for each in journey.records[-1].result.breaks if each.invariant == one.invariant)
        other = _played(render_moves(plan, one.invariant, one.text, moves, make_checks(plan, broken, journey)))
        assert (one.invariant, other.outcome) == (one.invariant, RunOutcome.FAILED)
        assert other.steps[-1].verb in ("expectEvent", "expectRate", "assert", "error", "get")


def test_a_harmless_order_is_there_to_compare_each_harm_with(explored: Exploration) -> None:
    lacking = [one.invariant for one in explored.counterexamples if _harmless(explored, one) is None]
    assert lacking == []


def test_loops_go_as_fast_as_the_pace_of_the_controllers_lets_them(explored: Exploration) -> None:
    looping = [one for one in explored.counterexamples if one.invariant == invariants.NO_HOT_LOOP]
    assert bool(looping) == bool(explored.rates)
    for rate in explored.rates:
        fastest = rate.made[0]
        assert [second for second, _ in fastest.series] == list(range(rate.window_seconds))
        # five pods a second where four requests evict one, as recorded; twenty where a kubelet refuses them
        assert round(rate.per_minute(fastest.workload) / 60) in (5, 20)


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.long] * (path.stem in LONG), id=path.stem) for path in SAMPLED],
)
def test_the_orders_that_documents_recommend_have_the_known_verdicts(path: Path) -> None:
    plan = load(path)
    written = {(one.direction, one.order, one.name if one.prepare else "") for one in plan.orders}
    paths = [
        one
        for one in list_paths(plan)
        if (Direction.UP, one.up, "") in written and (Direction.DOWN, one.down, one.prepares) in written
    ]
    with ParallelPlayer(plan, os.cpu_count() or 1) as players:
        result = explore_plan(plan, players, paths=paths)
    assert result.verdict_mismatches == 0
    found = {order.name: str(verdict.verdict) for order, verdict in result.list_written()}
    assert found == VERDICTS[path.stem]


@pytest.mark.parametrize("name", ["kep-3094", "kep-5471-with-kep-5500"])
def test_a_rollback_without_disturbances_disturbs_the_pods_as_the_plan_says(name: str) -> None:
    plan = load(next(path for path in PLANS if path.stem == name))
    downs = (plan.components, plan.components[::-1])
    assert _undisturbed(plan, downs) == (plan.undisturbed_rollback or frozenset()) & set(downs)


@pytest.mark.long
@pytest.mark.parametrize("path", PLANS, ids=[path.stem for path in PLANS])
def test_all_rollbacks_without_disturbances_disturb_the_pods_as_the_plan_says(path: Path) -> None:
    plan = load(path)
    assert _undisturbed(plan, tuple(permutations(plan.components))) == plan.undisturbed_rollback


def _undisturbed(plan: RolloutPlan, downs: Sequence[Order]) -> frozenset[Order]:
    """Return the orders down in which every running pod stays, after an order up that is safe."""
    quiet = replace(plan, disturbances=())
    up = (*(name for name in reversed(plan.components) if name != "kube-apiserver"), "kube-apiserver")
    if any(one.before.version != one.after.version for one in plan.changes):
        up = up[::-1]  # releases are upgraded from the API server on
    paths = [one for one in list_paths(quiet) if one.up == up and one.down in downs and not one.prepares]
    with ParallelPlayer(quiet, os.cpu_count() or 1) as players:
        result = explore_plan(quiet, players, paths=paths, undisturbed=True)
    assert [one.verdict for one in result.list_verdicts(Direction.UP)] == ["safe"]
    return result.find_undisturbed()


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("path", SAMPLED, ids=[path.stem for path in SAMPLED])
def test_all_orders_of_the_other_plans(path: Path) -> None:
    plan = load(path)
    with ParallelPlayer(plan, os.cpu_count() or 1) as players:
        result = explore_plan(plan, players)
    # Where nodes are equally good, the one that a scheduler draws depends on how often it has drawn before.
    assert result.verdict_mismatches == 0
    found = {order.name: str(verdict.verdict) for order, verdict in result.list_written()}
    # A document's order may fail only in combination with others, so it is never safer than with those of documents.
    assert {name for name, verdict in found.items() if verdict == "safe"} <= {
        name for name, verdict in VERDICTS[path.stem].items() if verdict == "safe"
    }


def _harmless(explored: Exploration, example: Counterexample) -> Moves | None:
    """Return an order in which this invariant holds up to the end of the phase in which it broke."""
    plan, turning = explored.plan, example.path.turn_index
    down = len(example.moves) > turning

    def broken(pair: OrderPair) -> list[str]:
        return [one.invariant for one in (*pair.up_result.breaks, *(pair.down_result.breaks if down else ()))]

    best = min(explored.pairs, key=lambda pair: (example.invariant in broken(pair), len(broken(pair))))
    if example.invariant in broken(best):
        return None
    walk = next(one for one in list_paths(plan) if (one.up, one.down, one.prepares) == _key(best))
    return walk.moves[:-1] if down else walk.moves[: walk.turn_index]


def _key(pair: OrderPair) -> tuple[object, ...]:
    return pair.up, pair.down, pair.prepares


def _played(text: str) -> RunResult:
    [scenario] = parse(text)
    return asyncio.run(play(ScenarioRun(scenario, scenario.seeds[0])))


def test_the_plans_are_those_of_the_proposals() -> None:
    assert sorted({_kep(path) for path in PLANS}) == [3094, 5471, 5500, 5721]


def _kep(path: Path) -> int:
    plan: RolloutPlan = load(path)
    return plan.kep
