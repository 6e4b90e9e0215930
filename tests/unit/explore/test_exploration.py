"""A whole exploration, small enough to be played from start to end in every way as well."""

import asyncio
from collections.abc import Sequence
from itertools import permutations

import pytest

from mockkube.explore.counterexample_scenario import render_counterexample
from mockkube.explore.exploration import DirectionResult, Exploration, explore_plan
from mockkube.explore.harm import NO_HARM, Harm
from mockkube.explore.path_runner import play_path
from mockkube.explore.plans import invariants
from mockkube.explore.plans.loading import parse
from mockkube.explore.plans.orders import list_paths
from mockkube.explore.plans.plan import Direction
from mockkube.explore.players import SequentialPlayer
from mockkube.explore.replay import collect_evidence
from mockkube.explore.search import InvariantBreak, MoveResult
from mockkube.report import review, summary
from mockkube.report.pages.exploration_page import render
from mockkube.scenario.runner.loading import parse as parse_scenarios

pytestmark = pytest.mark.heavy  # explores

GATE = "TaintTolerationComparisonOperators"
PLAN = f"""\
apiVersion: mockkube.dev/v1alpha1
kind: RolloutPlan
metadata: {{name: small, title: A <small> rollout}}
spec:
  change:
    kube-apiserver: {{gates: {{{GATE}: true}}}}
    kube-scheduler: {{gates: {{{GATE}: true}}}}
    kube-controller-manager:
      gates: {{{GATE}: true}}
  nodes:
    - taints: [{{key: sla, value: "950", effect: NoExecute}}]
  workload:
    - apiVersion: apps/v1
      kind: ReplicaSet
      metadata: {{name: web}}
      spec:
        replicas: 1
        selector: {{matchLabels: {{app: web}}}}
        template:
          metadata: {{labels: {{app: web}}}}
          spec:
            terminationGracePeriodSeconds: 0
            containers: [{{name: main, image: i}}]
            tolerations: [{{key: sla, operator: Gt, value: "900", effect: NoExecute}}]
  setup:
    - component: {{name: kubelet, featureGates: {{{GATE}: true}}}}
  orders:
    - {{name: as written, phase: up, order: [kube-apiserver, kube-scheduler], claim: safe}}
  creationsMax: 4
  seconds: 3
"""


@pytest.fixture(scope="module")
def explored() -> Exploration:
    plan = parse(PLAN)
    return explore_plan(plan, SequentialPlayer(plan))


@pytest.mark.slow
def test_sharing_states_gives_what_playing_every_way_gives(explored: Exploration) -> None:
    pairs = {
        (pair.up, pair.down): tuple(map(_told, (pair.up_result, pair.down_result, pair.retry_result)))
        for pair in explored.pairs
    }
    for way in list(list_paths(explored.plan))[::3]:  # every third: all of them take ten seconds
        played = asyncio.run(play_path(explored.plan, way.moves)).results
        parts = played[: way.turn_index], played[way.turn_index : -1], played[-1:]
        assert pairs[way.up, way.down] == tuple(map(_way, parts)), way.moves


def _told(way: DirectionResult) -> tuple[Harm, tuple[InvariantBreak, ...]]:
    return way.harm, way.breaks


def _way(steps: Sequence[MoveResult]) -> tuple[Harm, tuple[InvariantBreak, ...]]:
    harm = sum((step.harm for step in steps), NO_HARM)
    return harm, tuple(dict.fromkeys(one for step in steps for one in step.breaks))


def test_consumers_first_and_the_api_server_last_is_what_is_safe(explored: Exploration) -> None:
    safe = {one.order for one in explored.list_verdicts(Direction.UP) if one.is_safe}
    assert safe == {order for order in permutations(explored.plan.components) if order[-1] == "kube-apiserver"}


def test_a_scheduler_before_its_controller_manager_lets_pods_be_evicted_over_and_over(explored: Exploration) -> None:
    found = {one.invariant: [str(move) for move in one.moves] for one in explored.counterexamples}
    assert found[invariants.NO_HOT_LOOP] == ["kube-apiserver up", "kube-scheduler up"]
    assert found[invariants.TOLERATED_STAY] == ["kube-apiserver up", "kube-scheduler up"]


def test_an_order_that_is_said_to_be_safe_and_is_not_is_refuted(explored: Exploration) -> None:
    assert [written.name for written, _ in explored.refuted_claims] == ["as written"]


def test_enabled_again_the_workload_is_whole_without_an_edit(explored: Exploration) -> None:
    assert not [pair for pair in explored.pairs if pair.retry_result.breaks]


def test_a_counterexample_is_a_scenario_that_can_be_read(explored: Exploration) -> None:
    [scenario] = parse_scenarios(render_counterexample(explored.plan, explored.counterexamples[0]))
    assert scenario.claims[0].outcome == "false"


def test_a_report_is_one_file_that_fetches_nothing(explored: Exploration) -> None:
    page = render(collect_evidence(explored))
    assert "A &lt;small&gt; rollout" in page
    assert "kube-controller-manager has the gate off" in page
    assert not [tag for tag in ("<script", "<link", "src=", "url(", "@import") if tag in page]


def test_a_review_answers_the_questions_of_the_template(explored: Exploration) -> None:
    text = review.render(collect_evidence(explored))
    assert "###### Can the feature be disabled once it has been enabled" in text
    assert "claimed to be safe, **is not safe**" in text


def test_a_table_names_what_breaks_each_order(explored: Exploration) -> None:
    lines = summary.render_table(explored, "mockkube explore my.yaml").splitlines()
    assert lines[1].startswith("To enable ")
    assert lines[2].startswith("One documented order claimed to be safe is not: ")
    assert any(one.startswith("  reproduce: mockkube explore my.yaml --trace ") for one in lines)
    assert "TO ENABLE: 2 of 6 orders are safe: kube-apiserver last; the other two in any order" in lines
    assert summary.to_json(explored)["refuted"] == ["as written"]
