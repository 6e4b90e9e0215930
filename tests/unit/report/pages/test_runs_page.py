"""The page of scenario runs."""

from dataclasses import replace
from typing import Any

from mockkube.report.pages.runs_page import render
from mockkube.report.sentences.step_descriptions import describe_step
from mockkube.scenario.claims import Claim
from mockkube.scenario.runner.results import RunOutcome, RunResult, StepResult, TracedStep, TracedWrite


def step(verb: str, arguments: Any, outcome: RunOutcome = RunOutcome.PASSED, message: str = "") -> StepResult:
    return StepResult(verb, "", "", 27, outcome, message, 0.0, 30.0, (), arguments)


ASKED = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "runs"}, "status": {"phase": "Running"}}
POD = {
    "kind": "Pod",
    "metadata": {"name": "runs"},
    "spec": {"tolerations": [{"key": "sla", "operator": "Gt", "value": "900"}]},
    "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "message": "no node"}]},
}
NODE = {"kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [{"key": "sla", "value": "850", "effect": "X"}]}}
STORY = (
    TracedStep(
        1,
        0.0,
        "operator",
        (TracedWrite("create", "core/pods", "default/runs", POD), TracedWrite("create", "core/nodes", "n", NODE)),
    ),
)
WRONG = (Claim(quote="it stays", source="KEP-1", outcome="false", observed="it goes"),)
RIGHT = (Claim(claim="it runs", outcome="holds"),)
PASSED = RunResult("fine <one>", "a.yaml", 0, "", RunOutcome.PASSED, claims=WRONG, digest="d")
FAILED = RunResult(
    "mine", "b.yaml", 0, "", RunOutcome.FAILED, claims=RIGHT, planned_steps=9, traced_steps=STORY, digest="d",
    steps=(step("apply", ASKED), step("assert", ASKED, RunOutcome.FAILED, "not so:\n  status.phase: found 'Pending'")),
)  # fmt: skip


def test_what_failed_stands_first_with_its_steps_open() -> None:
    page = render([PASSED, FAILED])
    assert page.index("did not end as expected") < page.index("What went wrong") < page.index('id="runs"')
    assert page.index(">mine <") < page.index("fine &lt;one&gt; <")
    assert "<details open><summary>2 of 9 steps run" in page


def test_a_failed_run_decides_nothing_about_its_claim() -> None:
    page = render([FAILED])
    assert "<b>not decided</b>: stopped at line 27, step 2 of 9" in page
    assert '<span class="badge good">holds</span>' not in page


def test_a_passed_run_shows_the_words_of_the_text_the_outcome_and_what_happens() -> None:
    page = render([PASSED])
    assert "<q>it stays</q>" in page
    assert '<span class="badge bad">false</span>' in page
    assert "<b>What happens:</b> it goes" in page


def test_marks_in_a_quote_are_shown_as_they_stand_in_the_text() -> None:
    claim = Claim(quote="**Pods**: `a`", outcome="holds")
    assert render([replace(PASSED, claims=(claim,))]).count("<q>**Pods**: `a`</q>") == 2


def test_the_headline_counts_claims_that_do_not_hold() -> None:
    assert "<h1>The claim “it stays” is false.</h1>" in render([PASSED])


def test_a_failure_shows_the_step_as_written_and_what_was_found() -> None:
    page = render([FAILED])
    assert "not so:\n  status.phase: found &#39;Pending&#39;" in page
    assert "assert:\n  apiVersion: v1\n  kind: Pod" in page
    assert "mockkube test b.yaml --scenario mine --seed 0" in page


def test_a_pod_without_a_node_is_shown_beside_the_taints_of_the_nodes() -> None:
    page = render([FAILED])
    assert "<code>sla=850:X</code>" in page
    assert "<code>sla Gt 900</code>" in page
    assert "no node" in page


def test_a_run_in_real_time_is_not_said_to_be_simulated() -> None:
    assert "A simulated cluster" not in render([replace(FAILED, digest="", traced_steps=())])


def test_a_step_is_told_in_a_line() -> None:
    gate = {"name": "kubelet", "featureGates": {"X": False}}
    assert describe_step(step("component", gate)) == "kubelet: X off"
    assert describe_step(step("assert", ASKED)) == "Pod/runs: status.phase=Running (becomes so)"
    assert describe_step(step("error", ASKED)) == "Pod/runs: status.phase=Running (must not be so)"
    assert describe_step(step("advance", "10m")) == "10m"


def test_how_fast_many_pods_were_made_is_told_with_what_holds_it_up() -> None:
    many = tuple(
        TracedStep(n, n / 50, "c", (TracedWrite("create", "core/pods", f"default/web-{n:05}", {}),)) for n in range(150)
    )
    page = render([replace(PASSED, traced_steps=many)])
    assert "150 pods were made from 0 s to 2 s of virtual time, at most 50 within a second" in page
    assert "20 requests a second, as in a real cluster" in page
