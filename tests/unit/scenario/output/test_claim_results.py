"""Outcomes of claims and their numbers."""

from dataclasses import replace

import pytest

from mockkube.scenario.claims import Claim, ClaimOutcome
from mockkube.scenario.output.claim_results import decide_claims, summarize
from mockkube.scenario.runner.results import RunOutcome, RunResult, StepResult


def run(name: str, outcome: RunOutcome = RunOutcome.PASSED, *claims: ClaimOutcome, seed: int = 0) -> RunResult:
    return RunResult(name, f"{name}.yaml", seed, "", outcome, claims=tuple(Claim(outcome=one) for one in claims))


P, F, S = RunOutcome.PASSED, RunOutcome.FAILED, RunOutcome.SKIPPED


@pytest.mark.parametrize(
    ("runs", "line"),
    [
        pytest.param([], "0 runs: none", id="nothing"),
        pytest.param([run("a")], "1 run as expected", id="no claim"),
        pytest.param([run("a", P, "holds")], "1 run as expected: 1 claim holds, 0 do not", id="one that holds"),
        pytest.param(
            [run("a", P, "holds", "false"), run("b", P, "harmful advice")],
            "2 runs as expected: 1 claim holds, 2 do not (1 false, 1 harmful advice)",
            id="several claims of one scenario",
        ),
        pytest.param(
            [run("a", P, "holds"), run("a", P, "holds", seed=1)],
            "2 runs as expected: 1 claim holds, 0 do not",
            id="two runs of one claim",
        ),
        pytest.param(
            [run("a", P, "not stated", "not tried"), run("b", P, "not tried")],
            "2 runs as expected: 0 claims hold, 0 do not; 1 not stated by the text; 2 not tried",
            id="what is neither",
        ),
        pytest.param(
            [run("a", F, "holds"), run("b", P, "holds"), run("c", S, "false")],
            "3 runs: 1 failed, 1 skipped, 1 as expected; 1 claim holds, 0 do not; 2 not decided",
            id="what failed stands first and decides nothing",
        ),
    ],
)
def test_one_line_counts_runs_and_claims(runs: list[RunResult], line: str) -> None:
    assert summarize(runs) == line


def test_a_run_decides_nothing_if_a_step_of_it_was_skipped() -> None:
    step = StepResult("script", "", "", 7, RunOutcome.SKIPPED, "no shell there", 0.0, 0.0)
    assert [one.outcome for one in decide_claims([replace(run("a", P, "holds"), steps=(step,))])] == [None]


def test_a_claim_is_not_decided_if_one_of_several_runs_was_skipped() -> None:
    assert [one.outcome for one in decide_claims([run("a", P, "holds"), run("a", S, "holds", seed=1)])] == [None]


def test_one_failed_run_of_a_scenario_leaves_its_claims_undecided() -> None:
    assert [one.outcome for one in decide_claims([run("a", P, "holds"), run("a", F, "holds", seed=1)])] == [None]
