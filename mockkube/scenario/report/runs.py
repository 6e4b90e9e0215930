"""Runs of scenarios as one page: what was claimed and observed, each step, and the time it took."""

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape

from mockkube.scenario.report import drawing
from mockkube.scenario.report.page import badge, document, folded, table
from mockkube.scenario.report.timeline import Timeline, build
from mockkube.scenario.results import Outcome, RunResult

_TONES = {Outcome.PASSED: "good", Outcome.SKIPPED: "wait"}


def render(results: Sequence[RunResult]) -> str:
    """Return the page."""
    counts = Counter(one.outcome for one in results)
    body = ["<h1>Scenarios</h1>", '<ul class="figures">']
    body += [f"<li><b>{count}</b> {escape(str(outcome))}</li>" for outcome, count in counts.items()]
    body += ["</ul>", _overview(results)]
    for index, one in enumerate(results):
        body += _run(index, one)
    return document("Scenarios", body)


def _overview(results: Sequence[RunResult]) -> str:
    rows = [
        [f'<a href="#run-{index}">{escape(one.title)}</a>', _outcome(one.outcome), _holds(one), escape(one.claim),
         f"{one.virtual_seconds:.0f} s"]
        for index, one in enumerate(results)
    ]  # fmt: skip
    return table(("Scenario", "", "Claim", "", "Time of the cluster"), rows, "All runs")


def _outcome(outcome: Outcome) -> str:
    return badge(str(outcome), _TONES.get(outcome, "bad"))


def _holds(one: RunResult) -> str:
    if one.holds is None:
        return ""
    return badge("holds", "good") if one.holds else badge("does not hold", "wait")


def _run(index: int, one: RunResult) -> Iterator[str]:
    yield f'<h2 id="run-{index}">{escape(one.title)}</h2>'
    yield f'<p>{_outcome(one.outcome)} {_holds(one)} <span class="soft">{escape(one.file)}</span></p>'
    for name in ("source", "claim", "observed", "message"):
        if text := str(getattr(one, name)):
            yield f"<p><b>{name.capitalize()}:</b> {escape(text)}</p>"
    rows = [
        [f"{step.began:.0f} s", f"<code>{escape(step.verb)}</code>", escape(step.description), _outcome(step.outcome),
         escape(step.message)]
        for step in one.steps
    ]  # fmt: skip
    yield folded(
        f"{len(one.steps)} step{'s' * (len(one.steps) != 1)}", table(("At", "Step", "", "", ""), rows, "Steps")
    )
    if one.story:
        yield from _story(one)


def _story(one: RunResult) -> Iterator[str]:
    drawn = build(one.story)
    if drawn.components or drawn.pods:
        yield drawing.timeline(drawn, f"Timeline of {one.title}")
        yield '<p class="soft">A column is a change of a component or a pod; the seconds above are not to scale.</p>'
    if drawn.counts:
        yield f"<p>{escape(', '.join(f'{count} {name}' for name, count in drawn.counts))}</p>"
    if drawn.events:
        yield folded(f"{len(drawn.events)} events", events(drawn))


def events(drawn: Timeline) -> str:
    """Return the events of a run as a table."""
    rows = [
        [f"{one.at:.0f} s", escape(one.reason), escape(one.object), escape(one.message), str(one.times)]
        for one in drawn.events
    ]
    return table(("At", "Reason", "Object", "Message", "Times"), rows, "Events of the cluster")
