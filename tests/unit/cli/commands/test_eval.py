"""`mockkube eval` as a user types it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Mockkube = Callable[..., Any]
NUMERIC = "TaintTolerationComparisonOperators"
SEMVER = "TaintTolerationNodeAffinitySemverComparisonOperators"
TERM = "{matchExpressions: [{key: v, operator: SemverGt, values: ['1.2']}]}"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], str]:
    def put(text: str) -> str:
        path = tmp_path / "asked.yaml"
        path.write_text(text)
        return str(path)

    return put


def test_an_expression_is_judged_and_evaluated(mockkube: Mockkube) -> None:
    taints = ("--taint", "a=1:NoSchedule", "--taint", "b:NoExecute")
    answer = mockkube("eval", "cel", "taint.key == 'a'", *taints, "-o", "json")
    told = json.loads(answer.out)
    assert answer.code == 0
    assert (told["type"], told["admitted"], told["estimated_cost"]) == ("bool", True, {"min": 3, "max": 3})
    assert [(one["result"], one["actual_cost"]) for one in told["evals"]] == [(True, 3), (False, 3)]
    assert told["gate"] == {"name": "TaintTolerationCEL", "enabled": False}


def test_an_expression_for_people(mockkube: Mockkube) -> None:
    answer = mockkube("eval", "cel", "semver(taint.value).major() > 1", "--taint", "a=high:NoSchedule")
    assert "estimated cost" in answer.out
    assert "taint a=high:NoSchedule   error: " in answer.out
    assert answer.out.count("off: a component would not evaluate it") == 1


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        pytest.param("taint.nosuch", "undefined field 'nosuch'", id="unknown field"),
        pytest.param("taint.key", "must evaluate to bool or the unknown type, not string", id="type"),
        pytest.param("true || " * 2000 + "true", "Too long: may not be more than 10240 bytes", id="length"),
    ],
)
def test_an_expression_that_is_refused_is_exit_code_1(mockkube: Mockkube, expression: str, reason: str) -> None:
    answer = mockkube("eval", "cel", expression)
    assert answer.code == 1
    assert reason in answer.out


def test_versions_are_read_tolerantly_and_compared(mockkube: Mockkube) -> None:
    answer = mockkube("eval", "semver", "v1.32", "1.31.99", "-o", "json")
    told = json.loads(answer.out)
    assert (told["cmp"], told["gt"], told["lt"], told["eq"]) == (1, True, False, False)
    assert [one["parsed"] for one in told["parsed"]] == ["1.32.0", "1.31.99"]


def test_what_is_no_version_is_exit_code_1(mockkube: Mockkube) -> None:
    answer = mockkube("eval", "semver", "containerd://2.1.4", "2.0.0")
    assert answer.code == 1
    assert 'no version: Invalid character(s) found in major number "0containerd://2"' in answer.out


def test_a_toleration_is_explained_and_the_gate_decides(mockkube: Mockkube, write: Callable[[str], str]) -> None:
    file = write("{key: sla, operator: Gt, value: '900', effect: NoSchedule}")
    asked = ("eval", "toleration", file, "--taint", "sla=950:NoSchedule", "--taint", "sla=900:NoSchedule")
    on, off = mockkube(*asked, "--gate", NUMERIC, "-o", "json"), mockkube(*asked)
    assert [one["tolerated"] for one in json.loads(on.out)["taints"]] == [True, False]
    assert (on.code, off.code) == (0, 1)
    assert f"does not match: {NUMERIC} is off" in off.out


def test_a_component_that_does_not_know_a_field_sees_what_is_left(
    mockkube: Mockkube, write: Callable[[str], str]
) -> None:
    file = write("expression: taint.key == 'a'")
    asked = ("eval", "toleration", file, "--taint", "b:NoSchedule", "--taint", "b=1:NoSchedule", "-o", "json")
    told = json.loads(mockkube(*asked, "--version", "1.34").out)
    assert told["tolerations"] == [{}]
    assert [one["tolerated"] for one in told["taints"]] == [True, False]


def test_the_tolerations_of_a_workload_are_found(mockkube: Mockkube, write: Callable[[str], str]) -> None:
    spec = "{spec: {tolerations: [{key: a, operator: Exists}]}}"
    file = write(f"{{kind: CronJob, spec: {{jobTemplate: {{spec: {{template: {spec}}}}}}}}}")
    answer = mockkube("eval", "toleration", file, "--taint", "a=b:NoExecute")
    assert "taint a=b:NoExecute   tolerated" in answer.out


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"[{TERM}]", id="terms"),
        pytest.param(f"nodeSelectorTerms: [{TERM}]", id="selector"),
        pytest.param(
            f"{{kind: PersistentVolume, spec: {{nodeAffinity: {{required: {{nodeSelectorTerms: [{TERM}]}}}}}}}}",
            id="volume",
        ),
    ],
)
def test_a_selector_is_asked_about_a_node(mockkube: Mockkube, write: Callable[[str], str], text: str) -> None:
    asked = ("eval", "selector", write(text), "--labels", "zone=a,v=v1.3.0")
    on, off = mockkube(*asked, "--gate", SEMVER), mockkube(*asked)
    assert (on.code, off.code) == (0, 1)
    assert "required   satisfied" in on.out
    assert "not satisfied" in off.out
    assert 'operator: Invalid value: "SemverGt": not a valid selector operator' in off.out


def test_preferred_terms_add_their_weight(mockkube: Mockkube, write: Callable[[str], str]) -> None:
    term = "{weight: 7, preference: {matchExpressions: [{key: zone, operator: In, values: [a]}]}}"
    file = write(f"preferredDuringSchedulingIgnoredDuringExecution: [{term}]")
    told = json.loads(mockkube("eval", "selector", file, "--labels", "zone=a", "-o", "json").out)
    assert (told["match"], told["score"]) == (True, 7)


def test_rows_are_answered_from_their_inputs_alone(mockkube: Mockkube, write: Callable[[str], str]) -> None:
    file = write(json.dumps({"meta": {"kubernetes": "v1"}, "compare": [{"a": "1.0", "b": "1.0.0", "eq": False}]}))
    told = json.loads(mockkube("eval", "--rows", file).out)
    assert told["meta"] == {"kubernetes": "v1"}
    assert told["compare"][0]["eq"] is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "nothing to answer: give one of cel, semver, toleration,", id="nothing"),
        pytest.param(["cel", "true", "--taint", "x"], "--taint: 'x' is not a taint: give one like", id="taint"),
        pytest.param(["cel", "true", "--taint", "a=b:Never"], "--taint: 'a=b:Never' is not a taint", id="effect"),
        pytest.param(["cel", "true", "--gate", "Nope"], "--gate: unrecognized feature gate: Nope", id="gate"),
        pytest.param(["cel", "true", "--version", "1.20"], "--version: version 1.20 is not supported", id="version"),
        pytest.param(["toleration", "/absent"], "/absent: No such file or directory: give a readable file", id="file"),
        pytest.param(["--rows", "/absent"], "/absent: No such file or directory: give a readable file", id="rows"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(mockkube: Mockkube, arguments: list[str], message: str) -> None:
    answer = mockkube("eval", *arguments)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith(f"mockkube: {message}")


@pytest.mark.parametrize(
    ("command", "text", "message"),
    [
        pytest.param(["toleration"], "just text", "no tolerations: give one, a list", id="no tolerations"),
        pytest.param(["toleration"], "{key: [1]}", "a field of a toleration has the wrong type", id="wrong type"),
        pytest.param(["toleration"], "{key: [", "not valid YAML", id="no YAML"),
        pytest.param(["selector"], "a: b", "no node affinity: give terms", id="no affinity"),
        pytest.param(["selector"], "[]\n---\n[]", "2 documents: give one", id="two documents"),
        pytest.param(["--rows"], "[1]", "not a mapping of lists of rows", id="no rows"),
        pytest.param(["--rows"], "{", "not valid JSON", id="no JSON"),
        pytest.param(["--rows"], '{"compare": [{"a": "1"}]}', "a row lacks an input", id="missing input"),
    ],
)
def test_a_file_that_cannot_be_meant_is_named(
    mockkube: Mockkube, write: Callable[[str], str], command: list[str], text: str, message: str
) -> None:
    file = write(text)
    answer = mockkube("eval", *command, file)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith(f"mockkube: {file}: {message}")
