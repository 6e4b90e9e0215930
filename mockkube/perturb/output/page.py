"""HTML page about a session: findings with their timelines, and everything that was tried."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mockkube.perturb.findings import Finding
from mockkube.perturb.output.headline import describe_headline, describe_scope
from mockkube.perturb.output.hints import describe_cause, explain_names, list_warnings
from mockkube.perturb.output.reproduction import format_command, summarize
from mockkube.perturb.output.tiles import list_keys, list_tiles
from mockkube.perturb.recorder import StepRecord
from mockkube.perturb.session import SessionResult
from mockkube.perturb.timeline import EntryKind, TimelineEntry, build_timeline, cut_timeline
from mockkube.report.environment import render_page

_LINES_MAX: Final = 3
_TONES: Final[Mapping[str, str]] = {
    EntryKind.PERTURBATION: "bad",
    EntryKind.FAILED: "bad",
    EntryKind.WRITE: "good",
    EntryKind.READ: "wait",
    EntryKind.EVENT: "wait",
    EntryKind.STEP: "",
    EntryKind.CHANGE: "",
}


class _FindingView:
    """One finding as the page shows it."""

    def __init__(self, number: int, finding: Finding, result: SessionResult) -> None:
        self.anchor = f"finding-{number}"
        self.finding = finding
        self.command = format_command(result, finding)
        self.cause = describe_cause(finding)
        self.entries: Sequence[TimelineEntry] = build_timeline(finding.record)
        self.short: Sequence[TimelineEntry] = cut_timeline(self.entries)

    @property
    def step(self) -> StepRecord:
        """Step after which it was seen."""
        return self.finding.record.steps[-1]


def render_report(result: SessionResult) -> str:
    """Return the page."""
    views = [_FindingView(number, finding, result) for number, finding in enumerate(result.findings, 1)]
    found = [
        f"[{one.finding.text[:1].upper()}{one.finding.text[1:]}](#{one.anchor}): {one.finding.problems[0].text}"
        for one in views
    ]
    warnings = list(list_warnings(result))
    rows = list_tiles(result, {one.finding.signature: f"#{one.anchor}" for one in views})
    return render_page(
        "perturb.html.j2",
        title=f"mockkube perturb: {summarize(result)}",
        headline=describe_headline(result),
        lines=[*found[:_LINES_MAX], *warnings],
        scope=describe_scope(result),
        tile_rows=rows,
        tile_keys=list_keys(rows),
        links=list(_links(views)),
        counts=list(_list_figures(result)),
        findings=views,
        results=sorted(result.results, key=lambda one: one.finding is None),
        not_tried=result.not_tried,
        references=result.reference.records,
        known=result.known,
        names=explain_names(result),
        tone="bad" if result.findings else "wait" if warnings else "good",
        learnt=[*result.reference.patterns, *result.reference.learnt],
        undisturbed=build_timeline(result.reference.last),
        tones=_TONES,
    )


def _links(views: Sequence[_FindingView]) -> Iterator[tuple[str, str]]:
    """Yield the parts of the evidence: an anchor and a title."""
    yield from ((one.anchor, f"Finding {number}") for number, one in enumerate(views, 1))
    yield "tried", "What was tried"
    yield "trust", "How to read this"


def _list_figures(result: SessionResult) -> Iterator[tuple[int, str]]:
    yield len(result.findings), "finding" if len(result.findings) == 1 else "findings"
    yield len(result.results), "perturbations tried"
    yield sum(one.is_reached for one in result.results), "took place"
    if result.not_tried:
        yield len(result.not_tried), "not tried"
