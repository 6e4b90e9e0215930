"""Tables recorded from the real libraries: every answer is recomputed from the inputs of its row alone."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mockkube.proposals import batch_evaluation

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "oracle"
_TABLES = Path(os.environ.get("MOCKKUBE_ORACLE", _BESIDE)) / "semantics"

pytestmark = pytest.mark.skipif(
    not _TABLES.is_dir(), reason=f"no recorded tables at {_TABLES}; MOCKKUBE_ORACLE names the directory that has them"
)

_INPUTS = {
    ("semver", "parse"): ("input",),
    ("semver", "compare"): ("a", "b"),
    ("tolerations", "values"): ("operator", "value"),
    ("tolerations", "validate"): ("tolerations",),
    ("tolerations", "match"): ("toleration", "taint"),
    ("nodeselector", "match"): ("in", "requirement", "labels", "node_name"),
    ("nodeselector", "selectors"): ("nodeSelectorTerms", "labels", "node_name"),
    ("nodeselector", "score"): ("terms", "labels", "node_name"),
    ("nodeselector", "validate"): ("nodeSelectorTerms",),
    ("nodeselector", "validate_preferred"): ("terms",),
    ("cel", "expressions"): ("expr", "evals"),
    ("cel", "optional_bindings"): ("expr", "evals"),
}
_UNASKED = ("category", "semver_operator")


@pytest.mark.parametrize(("table", "kind"), [pytest.param(*key, id="-".join(key)) for key in _INPUTS])
def test_every_answer_agrees(table: str, kind: str) -> None:
    recorded = json.loads((_TABLES / f"{table}.json").read_text())[kind]
    questions = [_question(row, _INPUTS[table, kind]) for row in recorded]
    answers = batch_evaluation.evaluate_document({kind: questions})[kind]
    differing = [
        (expected, answer)
        for row, answer in zip(recorded, answers, strict=True)
        if (expected := _comparable(row)) != _masked(_comparable(answer), expected)
    ]
    assert differing == []


def _question(row: dict[str, Any], inputs: tuple[str, ...]) -> dict[str, Any]:
    question = {name: row[name] for name in inputs}
    if "evals" in question:
        question["evals"] = [{"taint": each["taint"]} for each in row["evals"]]
    return question


def _comparable(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in _UNASKED}


def _masked(answer: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """Drop the costs that differ from run to run in the recording itself."""
    for each, recorded in zip(answer.get("evals", ()), expected.get("evals", ()), strict=False):
        if recorded["actual_cost"] is None:
            each["actual_cost"] = None
    return answer
