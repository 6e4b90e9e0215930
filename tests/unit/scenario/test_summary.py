"""The table of claims."""

from pathlib import Path

import pytest

from mockkube.scenario.results import Outcome, RunResult
from mockkube.scenario.summary import render, rows


def result(name: str, outcome: Outcome = Outcome.PASSED, **told: object) -> RunResult:
    known = {"source": "KEP-1", "claim": "It works.", "holds": True, **told}
    return RunResult(name, f"conformance/kep-1/{name}.yaml", 0, "", outcome, **known)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        pytest.param(result("a"), "holds", id="what holds"),
        pytest.param(result("a", holds=False), "**does not hold**", id="what does not"),
        pytest.param(result("a", Outcome.FAILED), "**failed**", id="what could not be shown"),
        pytest.param(result("a", Outcome.SKIPPED), "**skipped**", id="what was not played"),
    ],
)
def test_a_verdict_is_that_of_the_run(one: RunResult, verdict: str) -> None:
    assert [row.verdict for row in rows([one])] == [verdict]


def test_all_runs_of_a_scenario_are_one_row_and_the_worst_counts() -> None:
    assert [row.verdict for row in rows([result("a"), result("a", Outcome.FAILED)])] == ["**failed**"]


def test_rows_are_in_the_order_in_which_people_count() -> None:
    assert [row.scenario for row in rows([result("G10"), result("G2"), result("G1")])] == ["G1", "G2", "G10"]


def test_what_claims_nothing_is_left_out() -> None:
    assert rows([result("a", claim="")]) == []


def test_the_page_links_to_scenarios_from_where_it_lies_and_counts_claims() -> None:
    page = render([result("a", claim="a | <b>"), result("c", holds=False, observed="not so")], Path("docs/x.md"))
    assert "2 claims: 1 hold, 1 do not." in page
    assert r"| [a](../conformance/kep-1/a.yaml) | a \| &lt;b> | KEP-1 | holds |  |" in page
    assert "| [c](../conformance/kep-1/c.yaml) | It works. | KEP-1 | **does not hold** | not so |" in page
