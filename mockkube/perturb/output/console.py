"""Results of a session on the terminal."""

from collections.abc import Iterator
from typing import Final

from mockkube.perturb.findings import Finding
from mockkube.perturb.output.headline import describe_headline
from mockkube.perturb.output.hints import describe_cause, explain_names, list_warnings
from mockkube.perturb.output.reproduction import format_command, summarize
from mockkube.perturb.session import SessionResult
from mockkube.perturb.timeline import TimelineEntry, build_timeline, cut_timeline

_PROBLEMS_MAX: Final = 6
_LEARNT_MAX: Final = 12


def render_result(result: SessionResult, *, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of the result: the answer first, the counts last."""
    yield describe_headline(result)
    yield ""
    for number, finding in enumerate(result.findings, 1):
        yield from _render_finding(number, finding, result, verbose=verbose)
        yield ""
    learnt = [*result.reference.patterns, *result.reference.learnt]
    if learnt:
        yield "Not compared, because undisturbed runs differ there:"
        yield from (f"  {one}" for one in learnt[:_LEARNT_MAX])
        if (more := len(learnt) - _LEARNT_MAX) > 0:
            yield f"  and {more} more, which the report lists"
    yield from list_warnings(result)
    if names := explain_names(result):
        yield names
    if result.dropped:
        yield f"Dropped, because undisturbed runs showed it too: {', '.join(one.id for one in result.dropped)}"
    yield from (f"Known: {', '.join(names)}: {reason}" for reason, names in result.known.items())
    yield summarize(result)


def _render_finding(number: int, finding: Finding, result: SessionResult, *, verbose: bool) -> Iterator[str]:
    yield f"{number}. {finding.id}: {finding.text}"
    for problem in finding.problems[:_PROBLEMS_MAX]:
        yield f"   {problem}"
    if (more := len(finding.problems) - _PROBLEMS_MAX) > 0:
        yield f"   and {more} more"
    steps = finding.record.steps
    yield f"   seen after step {steps[-1].index} ({steps[-1].text}), in {finding.reproduced} of {finding.attempts} runs"
    if cause := describe_cause(finding):
        yield f"   usual cause: {cause}"
    if finding.alike:
        yield f"   the same with {', '.join(finding.alike)}"
    if verbose:
        for entry in cut_timeline(build_timeline(finding.record)):
            yield f"   {render_entry(entry)}"
    yield f"   again: {format_command(result, finding)}"


def render_entry(entry: TimelineEntry) -> str:
    """Return an entry of a timeline in one line."""
    return f"{entry.at:7.3f} {entry.actor:<14} {entry.text}"
