"""Results of a session as JUnit XML for build servers: one test case for each perturbation."""

from xml.etree import ElementTree

from mockkube.perturb.findings import Finding
from mockkube.perturb.output.console import render_entry
from mockkube.perturb.output.reproduction import format_command, summarize
from mockkube.perturb.session import PerturbationResult, SessionResult
from mockkube.perturb.timeline import build_timeline, cut_timeline
from mockkube.scenario.output.junit import remove_control_characters


def render_junit(result: SessionResult) -> str:
    """Return the XML."""
    failures = sum(one.finding is not None for one in result.results) + len(result.undisturbed)
    skipped = sum(one.finding is None and bool(_why_skipped(one)) for one in result.results)
    counts = {
        "tests": str(len(result.results) + len(result.not_tried) + 1),
        "failures": str(failures),
        "errors": "0",
        "skipped": str(len(result.not_tried) + skipped),
        "time": f"{result.seconds:.3f}",
    }
    root = ElementTree.Element("testsuites", {"name": summarize(result), **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": str(result.workload.directory), **counts})
    _add_case(suite, "undisturbed", result.reference.seconds, next(iter(result.undisturbed), None), result)
    for one in result.results:
        case = _add_case(suite, one.perturbation.id, one.record.seconds, one.finding, result)
        if one.finding is None and (reason := _why_skipped(one)):
            ElementTree.SubElement(case, "skipped", {"message": remove_control_characters(reason)})
    for perturbation in result.not_tried:
        case = ElementTree.SubElement(suite, "testcase", {"name": perturbation.id, "classname": "perturb"})
        ElementTree.SubElement(case, "skipped", {"message": "no time was left"})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _why_skipped(one: PerturbationResult) -> str:
    """Return why a perturbation that is no finding says nothing about the controller; empty if it does."""
    if one.known_reason:
        return f"known: {one.known_reason}"
    return "" if one.is_reached else "did not take place: the controller gave no occasion for it in this run"


def _add_case(
    suite: ElementTree.Element, name: str, seconds: float, finding: Finding | None, result: SessionResult
) -> ElementTree.Element:
    case = ElementTree.SubElement(suite, "testcase", {"name": name, "classname": "perturb", "time": f"{seconds:.3f}"})
    if finding is None:
        return case
    problems = [str(one) for one in finding.problems]
    lines = [finding.text, *problems, f"again: {format_command(result, finding)}", ""]
    lines += [render_entry(entry) for entry in cut_timeline(build_timeline(finding.record))]
    failure = ElementTree.SubElement(case, "failure", {"message": remove_control_characters(problems[0])})
    failure.text = remove_control_characters("\n".join(lines))
    return case
