"""Pipes behind kubectl's command lines: what they split into, and what grep leaves."""

import pytest

from mockkube.scenario.errors import StepFailed
from mockkube.scenario.kubectl.pipes import apply_pipes, split_pipes


def test_a_pipe_in_quotes_is_none() -> None:
    assert split_pipes("""get po -o jsonpath='{"|"}' | grep -v "a|b" | grep c""") == (
        ["get", "po", "-o", 'jsonpath={"|"}'],
        [["grep", "-v", "a|b"], ["grep", "c"]],
    )


_LINES = "a: \nb: {Gt}\nns/c: []\n"


@pytest.mark.parametrize(
    ("command", "left"),
    [
        pytest.param(["grep", "-v", "^[^:]*: *$"], "b: {Gt}\nns/c: []\n", id="lines with nothing behind the colon"),
        pytest.param(["grep", "-v", r": \[\]$"], "a: \nb: {Gt}\n", id="lines with an empty list"),
        pytest.param(["grep", "{Gt}"], "b: {Gt}\n", id="braces of a basic expression"),
        pytest.param(["grep", r"G\|\["], "b: {Gt}\nns/c: []\n", id="alternatives of a basic expression"),
        pytest.param(["grep", "-E", "G|/"], "b: {Gt}\nns/c: []\n", id="alternatives of an extended one"),
        pytest.param(["grep", "-c", ":"], "3\n", id="count"),
        pytest.param(["grep", "-i", "gt"], "b: {Gt}\n", id="any case"),
        pytest.param(["grep", "-F", "[]"], "ns/c: []\n", id="plain text"),
        pytest.param(["grep", "nothing"], "", id="nothing"),
    ],
)
def test_grep_leaves_the_lines_it_selects(command: list[str], left: str) -> None:
    assert apply_pipes(_LINES, [command]) == left


def test_pipes_follow_one_another() -> None:
    assert apply_pipes(_LINES, [["grep", ":"], ["grep", "-v", "b"], ["grep", "-c", ""]]) == "2\n"


@pytest.mark.parametrize("command", [["wc", "-l"], ["grep"], ["grep", "-z", "a"], ["grep", "-E", "("]])
def test_what_is_not_built_in_is_told(command: list[str]) -> None:
    with pytest.raises(StepFailed):
        apply_pipes(_LINES, [command])
