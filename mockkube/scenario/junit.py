"""Results in JUnit's XML, as build servers read it."""

from collections.abc import Sequence
from xml.etree import ElementTree

from mockkube.scenario.results import Outcome, RunResult
from mockkube.scenario.running import replay_of


def render(results: Sequence[RunResult]) -> str:
    """Return one suite per file, one case per run."""
    root = ElementTree.Element("testsuites", _counts(results))
    for file in dict.fromkeys(result.file for result in results):
        mine = [result for result in results if result.file == file]
        suite = ElementTree.SubElement(root, "testsuite", {"name": file, **_counts(mine)})
        for result in mine:
            _case(suite, result)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _counts(results: Sequence[RunResult]) -> dict[str, str]:
    failed = sum(result.outcome in (Outcome.FAILED, Outcome.TIMED_OUT) for result in results)
    errors = sum(result.outcome in (Outcome.BROKEN, Outcome.NOT_STARTED) for result in results)
    skipped = sum(result.outcome is Outcome.SKIPPED for result in results)
    return {
        "tests": str(len(results)),
        "failures": str(failed),
        "errors": str(errors),
        "skipped": str(skipped),
        "time": f"{sum(result.real_seconds for result in results):.3f}",
    }


def _case(suite: ElementTree.Element, result: RunResult) -> None:
    named = {"name": result.title, "classname": result.scenario, "file": result.file}
    case = ElementTree.SubElement(suite, "testcase", {**named, "time": f"{result.real_seconds:.3f}"})
    match result.outcome:
        case Outcome.PASSED:
            pass
        case Outcome.SKIPPED:
            ElementTree.SubElement(case, "skipped", {"message": _clean(result.message)})
        case Outcome.FAILED | Outcome.TIMED_OUT:
            ElementTree.SubElement(case, "failure", {"message": _first(result)}).text = _told(result)
        case _:
            ElementTree.SubElement(case, "error", {"message": _first(result)}).text = _told(result)
    if log := [line for step in result.steps for line in step.log]:
        ElementTree.SubElement(case, "system-out").text = _clean("\n".join(log))


def _first(result: RunResult) -> str:
    return _clean(result.message.partition("\n")[0])


def _told(result: RunResult) -> str:
    return _clean(f"{result.message}\nreplay: {replay_of(result)}")


def _clean(text: str) -> str:
    """Return a text without the characters that XML has no way to write."""
    return "".join(character for character in text if character in "\t\n" or character.isprintable())
