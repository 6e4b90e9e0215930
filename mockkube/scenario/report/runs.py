"""Runs of scenarios as one page: what failed first, with the line, what was asked and what was found."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from typing import Final

from mockkube.cluster.laboratory import PACE
from mockkube.scenario.claim_results import ClaimResult, conclude, decide
from mockkube.scenario.claims import CLAIM_OUTCOMES, MEANINGS, Claim, ClaimOutcome
from mockkube.scenario.report import drawing, steps, trust
from mockkube.scenario.report.breaking import events_table
from mockkube.scenario.report.events import events_of
from mockkube.scenario.report.failures import evidence
from mockkube.scenario.report.page import badge, box, document, folded, paragraphs, table
from mockkube.scenario.report.prose import html
from mockkube.scenario.report.timeline import Boundary, Timeline, build
from mockkube.scenario.report.wording import listed, times
from mockkube.scenario.results import Began, Outcome, RunResult
from mockkube.scenario.running import replay_of

_TONES: Final = {Outcome.PASSED: "good", Outcome.SKIPPED: "wait"}
_CLAIM_TONES: Final[Mapping[ClaimOutcome, str]] = {
    "holds": "good",
    "false": "bad",
    "harmful advice": "bad",
    "not stated": "wait",
    "not tried": "wait",
}
_LAST: Final = (Outcome.SKIPPED, Outcome.PASSED)
_WORDS: Final = {True: "on", False: "off"}
_REAL: Final = (
    "**In real time:** runs without a timeline were played on a cluster with an address, their times are those of a "
    "clock on the wall."
)
_MANY: Final = 100
"""So many pods in one run are worth a picture of how fast they were made."""
_SPAN: Final = 120
"""Seconds that fit into it."""
_MADE: Final = re.compile(r"^were ")


def render(results: Sequence[RunResult]) -> str:
    """Return the page; what did not pass stands first, in full."""
    ordered = sorted(results, key=lambda one: _LAST.index(one.outcome) if one.outcome in _LAST else -1)
    failed = sum(one.outcome not in _LAST for one in ordered)
    title = f"mockkube test: {conclude(results)}"
    body = [f"<h1>{escape(title)}</h1>", _figures(results)]
    sections = [list(_run(index, one)) for index, one in enumerate(ordered)]
    body += chain.from_iterable(sections[:failed])
    body += [_overview(ordered), _about(results), drawing.legend()]
    body += chain.from_iterable(sections[failed:])
    return document(title, body)


def _figures(results: Sequence[RunResult]) -> str:
    """Return how many runs ended how, and how many claims have which outcome."""
    runs = Counter(one.outcome for one in results)
    claims: Counter[str] = Counter(one.outcome or "not decided" for one in decide(results))
    failed = [(runs[one], f"run{'s' * (runs[one] != 1)} {one}") for one in Outcome if one is not Outcome.PASSED]
    shown = [*failed, (runs[Outcome.PASSED], "as expected")]
    shown += [(claims[one], f"claims: {one}") for one in (*CLAIM_OUTCOMES, "not decided")]
    items = "".join(f"<li><b>{count}</b> {escape(text)}</li>" for count, text in shown if count)
    return f'<ul class="figures">{items}</ul>'


def _about(results: Sequence[RunResult]) -> str:
    simulated = [trust.engine()] if any(one.digest for one in results) else []
    real = [_REAL] if any(one.steps and not one.digest for one in results) else []
    known = (
        *simulated,
        *real,
        "**A run** plays the steps of a scenario file. It passes when every step has the result that the file "
        "expects; it says nothing about what the file does not check.",
        "**A claim** is what another text says, quoted. The file names its outcome, and a run that passes confirms "
        f"it: {'; '.join(f'*{one}*: {MEANINGS[one]}' for one in CLAIM_OUTCOMES)}. A run that does not pass decides "
        "nothing.",
        "**A timeline** has a column for each moment at which something changed, so time is not to scale; the "
        "last column "
        'is the end of the run. Numbers along its top are those of the steps. "+N alike": so many more pods of '
        "the same "
        "owner went through the same states, maybe on other nodes and at other times. A step that restores a snapshot "
        "begins a new trial, with a timeline of its own.",
    )
    return box("How to read this, and how far to trust it", paragraphs(known))


def _overview(results: Sequence[RunResult]) -> str:
    rows = [_row(index, one) for index, one in enumerate(results)]
    heads = ("Run", "Result", "Claims and their outcomes", "Virtual time")
    return table(heads, rows, "All runs, those that did not pass first")


def _row(index: int, one: RunResult) -> list[str]:
    link = f'<a href="#run-{index}">{escape(one.title)}</a>'
    claims = "<br>".join(f"{_claim_outcome(one, each)} {_summary(each.claim)}" for each in decide([one]))
    return [link, _result(one), claims, f"{one.virtual_seconds:.0f} s"]


def _summary(claim: Claim) -> str:
    """Return a claim in one line: in plain words if there are any, else as quoted."""
    return html(claim.question or claim.claim) or f"<q>{escape(claim.quote)}</q>"


def _result(one: RunResult) -> str:
    return badge(str(one.outcome), _TONES.get(one.outcome, "bad"))


def _claim_outcome(run: RunResult, one: ClaimResult) -> str:
    """Return the outcome of a claim; where a run does not decide it, what stopped the run."""
    if one.outcome is None:
        return f"<b>not decided</b>{_stopped(run)}"
    return badge(one.outcome, _CLAIM_TONES[one.outcome])


def _stopped(one: RunResult) -> str:
    if one.outcome is Outcome.SKIPPED or not one.steps:
        return ""
    wrong = steps.failed(one)
    if wrong is None:
        return ""
    return f": stopped at line {one.steps[wrong].line}, step {wrong + 1} of {max(one.planned, len(one.steps))}"


def _run(index: int, one: RunResult) -> Iterator[str]:
    yield f'<h2 id="run-{index}">{escape(one.title)} {_result(one)}</h2>'
    bad = one.outcome not in _LAST
    if bad:
        yield box("What went wrong", "".join(evidence(one)), "bad")
    yield from (_claim(one, each) for each in decide([one]))
    yield f'<p class="soft">File {escape(one.file)}. Run it again: <code>{escape(replay_of(one))}</code></p>'
    if one.steps:
        count = (
            f"{len(one.steps)} of {one.planned} steps played"
            if one.planned > len(one.steps)
            else times(len(one.steps), "step")
        )
        yield folded(count, steps.listing(one), opened=bad)
    if one.story:
        yield from _story(one)


def _claim(run: RunResult, one: ClaimResult) -> str:
    """Return one claim: what the text says and where, the outcome, what happens instead."""
    claim = one.claim
    parts = [f"<b>Claim:</b> {html(claim.claim)}"] if claim.claim else []
    parts += [f"<b>The text leaves open:</b> {html(claim.question)}"] if claim.question else []
    if claim.quote:
        parts.append(f"<b>The text:</b> <q>{escape(claim.quote)}</q>")
    if claim.place:
        parts.append(f'<span class="soft">{escape(claim.place)}</span>')
    parts.append(f"<b>Outcome:</b> {_claim_outcome(run, one)}")
    label = "Expected" if one.outcome is None else "What happens"
    parts += [f"<b>{label}:</b> {html(claim.observed)}"] if claim.observed else []
    return f"<p>{'<br>'.join(parts)}</p>"


@dataclass(frozen=True, slots=True)
class _Teller:
    """Knows how components began, and says what they are told."""

    began: Mapping[str, Began]
    gates: Sequence[str]
    versions: bool
    """Whether versions change."""

    def start(self, component: str) -> str:
        """Return version and gates at the start."""
        own = self.began.get(component) or self.began.get(component.partition(".")[0])
        if own is None:
            return ""
        gates = [f"{gate} {_WORDS[gate in own.gates]}" for gate in self.gates]
        return ", ".join([*([own.version] if self.versions or not gates else []), *gates])

    def told(self, component: str, version: str, gates: Mapping[str, bool | None]) -> str:
        """Return what it is told; what is as by default is said so."""
        words = [f"{gate} {'as by default' if on is None else _WORDS[on]}" for gate, on in gates.items()]
        return ", ".join([*([version] if version else []), *words])


def _teller(one: RunResult) -> _Teller:
    told = [step.arguments for step in one.steps if step.verb == "component" and isinstance(step.arguments, Mapping)]
    gates = sorted({gate for each in told for gate in each.get("featureGates") or ()})
    versions = any(each.get("version") for each in told)
    return _Teller({began.component: began for began in one.began}, gates, versions)


def _story(one: RunResult) -> Iterator[str]:
    boundaries = [
        Boundary(step.moment, str(number), f"{number} {step.verb} {steps.about(step)}",
                 str(step.arguments) if step.verb == "snapshot" else "",
                 str(step.arguments) if step.verb == "restore" else "")
        for number, step in enumerate(one.steps, 1)
    ]  # fmt: skip
    trials = build(one.story, boundaries, _teller(one), one.virtual_seconds)
    for number, drawn in enumerate(trials, 1):
        if len(trials) > 1:
            yield f"<h3>Trial {number}: {escape(drawn.title)}</h3>"
        if drawn.components or drawn.pods:
            yield drawing.timeline(drawn, f"Timeline of {one.title}, trial {number}")
        yield f"<p>{html(counted(drawn))}</p>"
    yield from _pace(one)
    events = [told for _, told in events_of(one.story)]
    if events:
        yield folded(times(sum(told.times for told in events), "event"), events_table(iter(events)))


def _pace(one: RunResult) -> Iterator[str]:
    """Draw how fast pods were made, where many were."""
    made = Counter(
        int(moment.at)
        for moment in one.story
        for write in moment.writes
        if write.resource == "core/pods" and write.verb == "create"
    )
    if sum(made.values()) < _MANY:
        return
    first, last = min(made), max(made)
    label = (
        f"{made.total()} pods were made from {first} s to {last} s of virtual time, at most {max(made.values())} "
        "within a "
        "second"
    )
    limit = (
        f"What holds that up is the client of kube-controller-manager: {PACE['kube-api-qps']} requests a second, as in "
        "a real cluster, unless its flag kube-api-qps says otherwise."
    )
    shown = drawing.bars([made[second] for second in range(first, last + 1)], label) if last - first < _SPAN else ""
    yield f"<p><b>Pace:</b> {escape(label)}. {escape(limit)}</p>{shown}"


def counted(drawn: Timeline) -> str:
    """Return how many pods there were, and how they stand at the end: the numbers add up."""
    counts = dict(drawn.counts)
    made, there = counts.pop("made", 0), counts.pop("there", 0)
    if not made and not there:
        return "No pods."
    meanwhile = [f"{count} {_MADE.sub('', name)}" for name, count in counts.items() if name.startswith("were ")]
    ends = [f"{count} {name}" for name, count in sorted(counts.items()) if not name.startswith("were ")]
    start = listed([*([f"{times(there, 'pod')} there from the snapshot"] if there else []),
                    *([f"{times(made, 'pod')} made"] if made else [])])  # fmt: skip
    between = f" (of these, some time: {listed(meanwhile)})" if meanwhile else ""
    return f"**Pods:** {start}{between}. At the end: {listed(ends)}."
