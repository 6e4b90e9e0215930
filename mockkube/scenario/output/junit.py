"""Render results as JUnit XML for build servers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from xml.etree import ElementTree

from mockkube.scenario.claims import CLAIM_OUTCOMES
from mockkube.scenario.output.claim_results import decide_claims, summarize
from mockkube.scenario.runner.results import RunOutcome, RunResult
from mockkube.scenario.runner.run_pool import replay_command

_NOT_DECIDED: Final = "not decided"
_OUTCOMES: Final = (*CLAIM_OUTCOMES, _NOT_DECIDED)


def render_junit(results: Sequence[RunResult]) -> str:
    """Return the XML: one suite per file, one case per run."""
    root = ElementTree.Element("testsuites", {"name": summarize(results), **_count_attributes(results)})
    for file in dict.fromkeys(result.file for result in results):
        file_results = [result for result in results if result.file == file]
        suite = ElementTree.SubElement(root, "testsuite", {"name": file, **_count_attributes(file_results)})
        _add_suite_properties(suite, file_results)
        for result in file_results:
            _add_case(suite, result)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _count_attributes(results: Sequence[RunResult]) -> dict[str, str]:
    failed = sum(result.outcome in (RunOutcome.FAILED, RunOutcome.TIMED_OUT) for result in results)
    errors = sum(result.outcome in (RunOutcome.BROKEN, RunOutcome.NOT_STARTED) for result in results)
    skipped = sum(result.outcome is RunOutcome.SKIPPED for result in results)
    return {
        "tests": str(len(results)),
        "failures": str(failed),
        "errors": str(errors),
        "skipped": str(skipped),
        "time": f"{sum(result.real_seconds for result in results):.3f}",
    }


def _add_case(suite: ElementTree.Element, result: RunResult) -> None:
    named = {"name": result.title, "classname": result.scenario, "file": result.file}
    case = ElementTree.SubElement(suite, "testcase", {**named, "time": f"{result.real_seconds:.3f}"})
    _add_properties(case, dict(_claim_properties(result)))
    match result.outcome:
        case RunOutcome.PASSED:
            pass
        case RunOutcome.SKIPPED:
            ElementTree.SubElement(case, "skipped", {"message": remove_control_characters(result.message)})
        case RunOutcome.FAILED | RunOutcome.TIMED_OUT:
            ElementTree.SubElement(case, "failure", {"message": _first_line(result)}).text = _failure_text(result)
        # JUnit distinguishes failures (a check does not hold) from errors (the run could not be played).
        case _:
            ElementTree.SubElement(case, "error", {"message": _first_line(result)}).text = _failure_text(result)
    if log := [line for step in result.steps for line in step.log]:
        ElementTree.SubElement(case, "system-out").text = remove_control_characters("\n".join(log))


def _add_suite_properties(suite: ElementTree.Element, results: Sequence[RunResult]) -> None:
    """Add the number of claims by outcome."""
    counts: Counter[str] = Counter(one.outcome or _NOT_DECIDED for one in decide_claims(results))
    _add_properties(suite, {f"claims.{outcome}": str(counts[outcome]) for outcome in _OUTCOMES if counts[outcome]})


def _claim_properties(result: RunResult) -> Iterator[tuple[str, str]]:
    """Yield name and value of each property of a run's claims."""
    for number, one in enumerate(decide_claims([result]), 1):
        fields = {"outcome": one.outcome or _NOT_DECIDED, "quote": one.claim.quote, "source": one.claim.location,
                  "claim": one.claim.claim, "question": one.claim.question, "observed": one.claim.observed}  # fmt: skip
        yield from ((f"claim.{number}.{name}", text) for name, text in fields.items() if text)


def _add_properties(parent: ElementTree.Element, known: Mapping[str, str]) -> None:
    if not known:
        return
    properties = ElementTree.SubElement(parent, "properties")
    for name, text in known.items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": remove_control_characters(text)})


def _first_line(result: RunResult) -> str:
    return remove_control_characters(result.message.partition("\n")[0])


def _failure_text(result: RunResult) -> str:
    return remove_control_characters(f"{result.message}\nreplay: {replay_command(result)}")


def remove_control_characters(text: str) -> str:
    """Return a text without characters that XML cannot represent."""
    return "".join(character for character in text if character in "\t\n" or character.isprintable())
