"""What is told of runs: JUnit's XML, and the table."""

from dataclasses import replace
from xml.etree import ElementTree

from mockkube.scenario.claims import Claim
from mockkube.scenario.output import junit
from mockkube.scenario.output.console import render_table
from mockkube.scenario.runner.results import RunOutcome, RunResult, StepResult, worst_outcome
from mockkube.scenario.runner.run_pool import replay_command
from mockkube.scenario.runner.scenario_runner import RunOptions

STEP = StepResult("script", "", "b", 7, RunOutcome.FAILED, "no", 0.0, 1.5, ("said \x1b[1mthis",))
RESULTS = (
    RunResult("one", "a.yaml", 0, "", RunOutcome.PASSED, real_seconds=0.1, virtual_seconds=61.5),
    RunResult("two", "a.yaml", 3, "gate=true", RunOutcome.FAILED, "line 7: no\nmore", steps=(STEP,)),
    RunResult("three", "b c.yaml", 0, "", RunOutcome.BROKEN, "bad"),
    RunResult("four", "b c.yaml", 0, "", RunOutcome.SKIPPED, "not here"),
)


def test_junit_counts_and_names_every_run() -> None:
    root = ElementTree.fromstring(junit.render_junit(RESULTS))
    assert root.attrib.pop("name") == "4 runs: 1 failed, 1 broken, 1 skipped, 1 as expected"
    assert root.attrib == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1", "time": "0.100"}
    assert [suite.get("name") for suite in root] == ["a.yaml", "b c.yaml"]
    assert [[child.tag for child in case] for case in root.iter("testcase")] == [
        [],
        ["failure", "system-out"],
        ["error"],
        ["skipped"],
    ]


def test_the_table_tells_each_run_and_each_failure_in_full() -> None:
    lines = list(render_table(RESULTS))
    assert lines[1].split() == ["ok", "one", "0.10s", "1m1.5s"]
    assert "  a.yaml: line 7: no\n  more" in lines
    assert "skipped: four: not here" in lines
    assert lines[-1] == "4 runs: 1 failed, 1 broken, 1 skipped, 1 as expected"


def test_the_table_shows_the_outcomes_of_claims_and_their_numbers() -> None:
    claims = (Claim(claim="a", outcome="holds"), Claim(claim="b", outcome="false"))
    lines = list(render_table([replace(RESULTS[0], claims=claims), replace(RESULTS[1], claims=claims)]))
    assert lines[1].endswith("1m1.5s   holds, false")
    assert lines[2].endswith("0s       not decided, not decided")
    assert lines[-1] == "2 runs: 1 failed, 1 as expected; 1 claim holds, 1 does not (1 false); 2 not decided"


def test_junit_has_claims_as_properties() -> None:
    claim = Claim(quote="so", source="KEP-1", section="Goals", outcome="false", observed="not so")
    root = ElementTree.fromstring(junit.render_junit([replace(RESULTS[0], claims=(claim,))]))
    properties = [{one.get("name"): one.get("value") for one in parent} for parent in root.iter("properties")]
    assert properties == [
        {"claims.false": "1"},
        {
            "claim.1.outcome": "false",
            "claim.1.quote": "so",
            "claim.1.source": "KEP-1, Goals",
            "claim.1.observed": "not so",
        },
    ]


def test_the_command_that_plays_it_again_is_quoted_for_a_shell() -> None:
    assert replay_command(RESULTS[1]) == "mockkube test a.yaml --scenario two --seed 3 --cell gate=true"
    assert replay_command(RESULTS[2]) == "mockkube test 'b c.yaml' --scenario three --seed 0"


def test_the_worst_counts() -> None:
    assert worst_outcome(RESULTS) is RunOutcome.BROKEN
    assert worst_outcome(RESULTS[:2]) is RunOutcome.FAILED
    assert worst_outcome(RESULTS[3:]) is RunOutcome.SKIPPED
    assert worst_outcome(()) is RunOutcome.PASSED


def test_the_command_that_plays_it_again_says_how_it_was_played() -> None:
    manner = RunOptions(kubectl="/bin/kubectl", against="my config")
    result = replace(RESULTS[2], options=manner.to_arguments())
    assert replay_command(result).endswith(" --seed 0 --against 'my config' --kubectl /bin/kubectl")
    assert RunOptions(real_time=True).to_arguments() == ("--real-time",)
