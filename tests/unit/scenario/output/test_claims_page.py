"""The page of claims."""

from dataclasses import replace
from pathlib import Path

import pytest

from mockkube.scenario.claims import Claim
from mockkube.scenario.output.claims_page import render_claims_page
from mockkube.scenario.runner.results import RunOutcome, RunResult


def run(name: str, outcome: RunOutcome = RunOutcome.PASSED, *claims: Claim) -> RunResult:
    return RunResult(name, f"conformance/kep-1/{name}.yaml", 0, "", outcome, claims=claims or (Claim(outcome="holds"),))


def test_rows_are_in_the_order_in_which_people_count() -> None:
    page = render_claims_page([run("G10"), run("G2"), run("G1")], Path("docs/x.md"))
    assert page.index("[G1]") < page.index("[G2]") < page.index("[G10]")


def test_a_row_links_to_its_scenario_from_where_the_page_lies_and_quotes_the_text() -> None:
    claim = Claim(quote="a | <b>", source="KEP-1", section="Goals", claim="It works.", outcome="holds")
    row = r"| [a](../conformance/kep-1/a.yaml) | It works. “a \| &lt;b>” | KEP-1, Goals | holds |  |"
    assert row in render_claims_page([run("a", RunOutcome.PASSED, claim)], Path("docs/x.md"))


@pytest.mark.parametrize(
    ("outcome", "runs", "shown"),
    [
        pytest.param("holds", RunOutcome.PASSED, "| holds |", id="holds"),
        pytest.param("false", RunOutcome.PASSED, "| **false** |", id="false"),
        pytest.param("holds", RunOutcome.FAILED, "| not decided: failed |", id="a run failed"),
        pytest.param(
            "not tried", RunOutcome.FAILED, "| **not tried** |", id="a run failed that does not try the claim"
        ),
        pytest.param(None, RunOutcome.PASSED, "| not decided |", id="no outcome"),
    ],
)
def test_a_row_shows_the_outcome_only_if_the_runs_confirm_it(outcome, runs: RunOutcome, shown: str) -> None:
    claim = Claim(claim="x", outcome=outcome, observed="so")
    assert f"{shown} so |" in render_claims_page([run("a", runs, claim)], Path("docs/x.md"))


def test_a_directory_is_introduced_by_its_readme(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("About these.\n")
    page = render_claims_page([replace(run("a"), file=str(tmp_path / "a.yaml"))], tmp_path / "page.md")
    assert f"## {tmp_path.name}\n\nAbout these.\n\n| scenario |" in page


def test_the_page_counts_claims_by_directory_and_outcome() -> None:
    page = render_claims_page(
        [run("a", RunOutcome.PASSED, Claim(outcome="holds"), Claim(outcome="false"))], Path("docs/x.md")
    )
    assert "2 claims: 1 holds, 1 does not (1 false)." in page
    assert "| kep-1 | 1 | 1 | 0 | 0 | 0 | 0 |\n| all | 1 | 1 | 0 | 0 | 0 | 0 |" in page
