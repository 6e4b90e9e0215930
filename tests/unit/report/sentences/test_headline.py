"""The answers of explorations and runs in one sentence."""

from dataclasses import replace

import pytest

from mockkube.explore.exploration import Exploration, explore_plan
from mockkube.explore.plans.loading import parse
from mockkube.explore.players import SequentialPlayer
from mockkube.report.drawing.exploration_orders import draw_orders
from mockkube.report.markup import strip_markup
from mockkube.report.sentences.answer import Answer
from mockkube.report.sentences.headline import describe_answer, list_refuted_claims
from mockkube.report.sentences.run_headline import describe_headline, list_failures
from mockkube.scenario.claims import Claim, ClaimOutcome
from mockkube.scenario.runner.results import RunOutcome, RunResult

UPGRADE = """\
apiVersion: mockkube.dev/v1alpha1
kind: RolloutPlan
metadata: {name: upgrade}
spec:
  version: "1.35"
  change:
    kube-apiserver: {version: "1.36"}
    kubelet: {version: "1.36"}
  nodes: [{}]
  workload:
    - apiVersion: apps/v1
      kind: ReplicaSet
      metadata: {name: web}
      spec:
        replicas: 1
        selector: {matchLabels: {app: web}}
        template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: i}]}}
  disturbances:
    - name: the pod is replaced
      when: every-step
      do: [{delete: {ref: {kind: Pod, labels: {app: web}}, wait: false}}]
  seconds: 2
"""
RUN = RunResult("one", "a.yaml", 0, "", RunOutcome.PASSED, digest="d")


def claim(outcome: ClaimOutcome) -> tuple[Claim, ...]:
    return (Claim(quote="it stays", outcome=outcome, observed="it goes"),)


def test_an_exploration_has_a_sentence_for_each_direction(explored: Exploration) -> None:
    first, second, end = strip_markup(describe_answer(Answer(explored))).split(".")
    assert first == "To enable TaintTolerationComparisonOperators: kube-controller-manager, then kube-apiserver"
    assert second.startswith(" To disable: ")
    assert end == ""


def test_of_an_upgrade_only_supported_orders_are_recommended() -> None:
    plan = parse(UPGRADE)
    answer = Answer(explore_plan(plan, SequentialPlayer(plan)))
    assert strip_markup(describe_answer(answer)) == (
        "To upgrade from 1.35 to 1.36: kube-apiserver, then kubelet. To downgrade: kubelet, then kube-apiserver."
    )
    up, down = draw_orders(answer)
    assert (up.title, down.title) == (
        "To upgrade: 1 of 1 supported order is safe",
        "To downgrade: 1 of 1 supported order is safe",
    )
    assert [(one.row.steps, one.row.result) for one in up.rows] == [
        (["apiserver", "kubelets"], "safe"),
        (["kubelets", "apiserver"], "not supported"),
    ]


def test_documented_orders_that_are_not_safe_are_named(explored: Exploration) -> None:
    assert list(list_refuted_claims(Answer(explored))) == [
        '**One [documented](#documented) order claimed to be safe is not:** "as written".'
    ]


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        pytest.param([RUN], "The run ended as expected.", id="one"),
        pytest.param([RUN, RUN], "Both runs ended as expected.", id="two"),
        pytest.param(
            [RUN, replace(RUN, outcome=RunOutcome.FAILED)], "1 of 2 runs did not end as expected.", id="a failure"
        ),
        pytest.param(
            [RUN, replace(RUN, outcome=RunOutcome.SKIPPED)], "The run ended as expected; 1 run skipped.", id="a skip"
        ),
        pytest.param(
            [replace(RUN, claims=claim("harmful advice"))],
            "The claim “it stays” is harmful advice.",
            id="a claim",
        ),
        pytest.param(
            [replace(RUN, claims=(Claim(question="What if?", outcome="not stated", observed="It stays."),))],
            "What if? It stays.",
            id="a question",
        ),
        pytest.param(
            [replace(RUN, claims=claim("false"), outcome=RunOutcome.FAILED)],
            "1 of 1 run did not end as expected. Of 1 claim that documents make, none holds and 1 is open.",
            id="a failure that decides nothing",
        ),
        pytest.param(
            [replace(RUN, claims=claim(one), file=one) for one in ("holds", "false", "not tried")],
            "All 3 runs ended as expected. Of 3 claims that documents make, 1 holds, 1 does not and 1 is open.",
            id="claims",
        ),
    ],
)
def test_runs_have_a_sentence_and_claims_another(runs: list[RunResult], text: str) -> None:
    assert describe_headline(runs) == text


def test_the_first_failures_are_named() -> None:
    failed = replace(RUN, outcome=RunOutcome.TIMED_OUT, message="it took\n  too long")
    assert list(list_failures([RUN, failed])) == ["**one** timed out: it took   too long"]
    assert list(list_failures([failed] * 5))[-1] == "And 2 runs more."
