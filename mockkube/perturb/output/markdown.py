"""Findings of a session as Markdown, to be pasted into an issue."""

from collections.abc import Iterator

from mockkube.perturb.findings import Finding
from mockkube.perturb.output.console import render_entry
from mockkube.perturb.output.headline import describe_headline, describe_scope
from mockkube.perturb.output.hints import describe_cause, explain_names, list_warnings
from mockkube.perturb.output.reproduction import format_command, summarize
from mockkube.perturb.session import SessionResult
from mockkube.perturb.timeline import build_timeline, cut_timeline


def render_markdown(result: SessionResult) -> str:
    """Return the text."""
    return "\n".join([*_render(result), ""])


def _render(result: SessionResult) -> Iterator[str]:
    yield f"# mockkube perturb: {summarize(result)}"
    yield ""
    yield describe_headline(result)
    yield ""
    yield f"Scope: {describe_scope(result)}."
    if names := explain_names(result):
        yield ""
        yield names
    for warning in list_warnings(result):
        yield ""
        yield warning
    for number, finding in enumerate(result.findings, 1):
        yield ""
        yield from _render_finding(number, finding, result)
    if learnt := [*result.reference.patterns, *result.reference.learnt]:
        yield ""
        yield f"Not compared, because undisturbed runs differ there: {', '.join(f'`{one}`' for one in learnt)}."
    for reason, known in result.known.items():
        yield ""
        yield f"Known: {', '.join(f'`{one}`' for one in known)}: {reason}"
    if result.not_tried:
        yield ""
        yield f"Not tried for lack of time: {', '.join(f'`{one.id}`' for one in result.not_tried)}."


def _render_finding(number: int, finding: Finding, result: SessionResult) -> Iterator[str]:
    step = finding.record.steps[-1]
    yield f"## {number}. {finding.text[:1].upper()}{finding.text[1:]}"
    yield ""
    yield from (f"* **{problem.kind}:** {problem.text}" for problem in finding.problems)
    if cause := describe_cause(finding):
        yield f"* usual cause: {cause}"
    yield ""
    yield f"Seen after step {step.index} ({step.text}), in {finding.reproduced} of {finding.attempts} runs."
    if finding.alike:
        yield f"The same with {', '.join(f'`{one}`' for one in finding.alike)}."
    yield ""
    yield "```console"
    yield f"$ {format_command(result, finding)}"
    yield "```"
    yield ""
    yield "```"
    yield from (render_entry(entry) for entry in cut_timeline(build_timeline(finding.record)))
    yield "```"
