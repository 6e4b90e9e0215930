"""Every claim in `conformance/`, played twice, and the page that lists them.

`make test` plays every third file; CI plays all.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from mockkube.scenario.output import claims_page
from mockkube.scenario.runner.loading import find_files, load
from mockkube.scenario.runner.results import RunOutcome, RunResult
from mockkube.scenario.runner.run_pool import list_runs, play_all
from mockkube.scenario.runner.scenario_runner import RunOptions, ScenarioRun

pytestmark = pytest.mark.timeout(900)  # the fixtures play everything, on a machine that may be busy

TOP = Path(__file__).parents[2]
DIRECTORY = TOP / "conformance"
PAGE = TOP / "docs" / "conformance.md"
RUNS = list_runs(scenario for path in find_files([DIRECTORY]) for scenario in load(path))
FILES = [(file, list(runs)) for file, runs in groupby(RUNS, key=lambda run: run.scenario.file)]
# Upstream's own tests are no claims of a document.
CLAIMING = [one for one in FILES if one[0].parent.name not in ("examples", "upstream")]
Played = list[tuple[ScenarioRun, RunResult]]
QUICK_FILES = {file for file, _ in FILES[::3]}


def _played(runs: Sequence[ScenarioRun]) -> list[RunResult]:
    ended = dict(play_all(runs, RunOptions(), os.cpu_count() or 1))
    return [ended[index] for index in sorted(ended)]


@pytest.fixture(scope="module")
def first(request: pytest.FixtureRequest) -> Played:
    """Runs of the files whose tests are selected, with their results; all runs for the page."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    asserting, page = (
        one.__name__ for one in (test_what_is_asserted_is_what_happens, test_the_page_of_claims_is_current)
    )
    selected = {item.callspec.params["file"] for item in items if item.originalname == asserting}
    needs_all = any(item.originalname == page for item in items)
    runs = [run for run in RUNS if needs_all or run.scenario.file in selected]
    return list(zip(runs, _played(runs), strict=True))


@pytest.mark.parametrize(
    ("file", "runs"),
    [pytest.param(*one, id=one[0].stem, marks=() if one[0] in QUICK_FILES else pytest.mark.slow) for one in FILES],
)
def test_what_is_asserted_is_what_happens(file: Path, runs: list[ScenarioRun], first: Played) -> None:
    results = [one for _, one in first if one.file == str(file)]
    assert len(results) == len(runs)
    assert [(one.title, one.message) for one in results if one.outcome is not RunOutcome.PASSED] == []


@pytest.mark.parametrize(
    "stride", [pytest.param(8, id="every eighth"), pytest.param(1, id="all", marks=pytest.mark.slow)]
)
def test_a_second_time_all_happens_in_the_same_way(stride: int, first: Played) -> None:
    again = _played([run for run, _ in first[::stride]])
    pairs = zip(first[::stride], again, strict=True)
    assert {one.title for (_, one), other in pairs if one.digest != other.digest} == set()


@pytest.mark.parametrize(("file", "runs"), [pytest.param(*one, id=one[0].stem) for one in CLAIMING])
def test_every_scenario_says_which_claims_it_tries_and_their_outcomes(file: Path, runs: list[ScenarioRun]) -> None:
    [claims] = {run.scenario.claims for run in runs}
    assert claims
    assert [one for one in claims if not one.source or one.outcome is None] == []
    assert [one for one in claims if not one.section and not one.source.startswith("https://")] == []


@pytest.mark.parametrize(("file", "runs"), [pytest.param(*one, id=one[0].stem) for one in FILES])
def test_every_claim_quotes_the_text_unless_the_text_does_not_say_it(file: Path, runs: list[ScenarioRun]) -> None:
    assert [one for one in runs[0].scenario.claims if not one.quote and one.outcome != "not stated"] == []


def test_a_quote_that_has_different_outcomes_says_in_plain_words_which_case_each_is_about() -> None:
    claims = {claim for run in RUNS for claim in run.scenario.claims if claim.outcome != "not stated"}
    outcomes: dict[tuple[str, str], set[str | None]] = {}
    for claim in claims:
        outcomes.setdefault((claim.source, claim.quote), set()).add(claim.outcome)
    vague = [claim for claim in claims if len(outcomes[claim.source, claim.quote]) > 1 and not claim.claim]
    assert [(claim.quote, claim.outcome) for claim in vague] == []


@pytest.mark.parametrize(("file", "runs"), [pytest.param(*one, id=one[0].stem) for one in CLAIMING])
def test_a_file_is_named_for_its_scenario(file: Path, runs: list[ScenarioRun]) -> None:
    assert {run.scenario.name for run in runs} == {file.stem.lower()}


@pytest.mark.slow
def test_the_page_of_claims_is_current(first: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    results = _from_the_top([one for _, one in first])
    assert PAGE.read_text() == claims_page.render_claims_page(results, PAGE.relative_to(TOP)), "renew it: make claims"


def test_the_readme_counts_claims_as_the_page_does() -> None:
    page = PAGE.read_text()
    [count] = [line for line in page.splitlines() if " claims: " in line]
    assert count in " ".join((TOP / "README.md").read_text().split()), "renew it: make claims"


def _from_the_top(results: Sequence[RunResult]) -> list[RunResult]:
    """Return the results as one who stands in the checkout gets them."""
    return [replace(one, file=str(Path(one.file).relative_to(TOP))) for one in results]


LONG = sorted((TOP / "conformance-long").glob("*.yaml"))


@pytest.mark.parametrize("file", LONG, ids=[file.stem for file in LONG])
def test_a_long_scenario_can_be_read_claims_something_and_is_on_its_page(file: Path) -> None:
    [scenario] = load(file)
    assert scenario.name == file.stem.lower()
    assert all(claim.source and claim.outcome for claim in scenario.claims)
    assert f"(../conformance-long/{file.name})" in (TOP / "docs" / "conformance-long.md").read_text()
