"""What was recorded of real clusters, oracle by oracle, and what their replayers write about it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Recording:
    """One oracle: its cases, and how to read which steps of them agree."""

    cases: Callable[[Path], Mapping[str, "Case"]]
    agreeing: Callable[[Path, Mapping[str, "Case"]], Mapping[str, int]]


@dataclass(frozen=True)
class Case:
    """One recorded case: where it belongs and how many of its steps are compared."""

    area: str
    steps: int


def _documents(directory: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(directory.glob("*.json")):
        document = json.loads(path.read_text())
        if isinstance(document, dict):
            yield document


def _http_cases(oracle: Path) -> dict[str, Case]:
    documents = list(_documents(oracle / "cases"))
    return {
        f"{document['area']}/{case['name']}": Case(document["area"], 1)
        for document in documents
        for case in document["cases"]
    }


def _http_agreeing(results: Path, cases: Mapping[str, Case]) -> dict[str, int]:
    """Of a replay that was given up nothing is known, so nothing agrees."""
    if not (results / "result.json").exists():
        return {}
    differing = {failure["case"] for failure in json.loads((results / "result.json").read_text())["failures"]}
    return {name: 1 for name in cases if name not in differing}


def _kubectl_cases(oracle: Path) -> dict[str, Case]:
    return {
        case["id"]: Case(case["area"], sum(not step.get("quiet") for step in case["steps"]))
        for document in _documents(oracle / "transcripts")
        for case in document["cases"]
    }


def _kubectl_agreeing(results: Path, _: Mapping[str, Case]) -> dict[str, int]:
    return {case["id"]: case["agree"] for document in _documents(results) for case in document["cases"]}


def _scheduler_cases(oracle: Path) -> dict[str, Case]:
    return {
        case["id"]: Case(case.get("area", document["area"]), 1)
        for document in _documents(oracle / "cases")
        for case in document["cases"]
    }


def _scheduler_agreeing(results: Path, _: Mapping[str, Case]) -> dict[str, int]:
    return {line.split()[0]: 1 for line in _lines(results / "log") if re.match(r"\S+ +agree +\d", line)}


def _skew_cases(oracle: Path) -> dict[str, Case]:
    return {
        sequence["name"]: Case(sequence["area"], 1)
        for document in _documents(oracle)
        for sequence in document.get("sequences", [])
    }


def _skew_agreeing(results: Path, _: Mapping[str, Case]) -> dict[str, int]:
    return {line.split()[1]: 1 for line in _lines(results / "log") if line.startswith("PASS ")}


def _lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


RECORDINGS = {
    "http": Recording(_http_cases, _http_agreeing),
    "kubectl": Recording(_kubectl_cases, _kubectl_agreeing),
    "scheduler": Recording(_scheduler_cases, _scheduler_agreeing),
    "skew": Recording(_skew_cases, _skew_agreeing),
}


def split_transcripts(oracle: Path, target: Path, seconds: float) -> list[Path]:
    """Write each transcript's cases into files of their own; return them in the order to replay them.

    Every area has its turn before any has a second one, and within an area comes first what waits least. The waits of
    one case, which are for what other components do, last no longer together than the given seconds, so that one that
    waits in vain still says how the rest of it agrees.
    """
    turns: list[tuple[int, int, str, dict[str, Any]]] = []
    for document in _documents(oracle / "transcripts"):
        cases = sorted(document["cases"], key=lambda case: len(_waits(case)))
        turns += [(turn, len(_waits(case)), case["id"], case) for turn, case in enumerate(cases)]
    written = []
    for *_, case in sorted(turns, key=lambda turn: turn[:3]):
        for step in _waits(case):
            step["within"] = min(step.get("within", 30.0), seconds / len(_waits(case)))
        path = target / f"{case['id']}.json"
        path.write_text(json.dumps({"cases": [case]}))
        written.append(path)
    return written


def _waits(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for step in case["steps"] if "until" in step]
