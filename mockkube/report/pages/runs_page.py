"""HTML page about scenario runs: what failed first, with the line, what was asserted and what was found."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mockkube.cluster.simulated_cluster import CONTROLLER_CLIENT_LIMITS
from mockkube.lazy_dataclasses import dataclass
from mockkube.report.drawing.timeline import Boundary, Timeline, build_timelines
from mockkube.report.drawing.timeline_drawing import TimelineDrawing
from mockkube.report.environment import render_page
from mockkube.report.pages.failures import AskedObject, find_objects
from mockkube.report.sentences import step_descriptions, trust
from mockkube.report.sentences.events import EventSummary, merge_events, read_events
from mockkube.report.sentences.workloads import to_yaml
from mockkube.report.wording import count_noun, join_words
from mockkube.scenario.claims import CLAIM_OUTCOMES, OUTCOME_MEANINGS, ClaimOutcome
from mockkube.scenario.output.claim_results import ClaimResult, decide_claims, summarize
from mockkube.scenario.runner.results import ComponentStart, RunOutcome, RunResult, StepResult
from mockkube.scenario.runner.run_pool import replay_command

_TONES: Final = {RunOutcome.PASSED: "good", RunOutcome.SKIPPED: "wait"}
_CLAIM_TONES: Final[Mapping[ClaimOutcome, str]] = {
    "holds": "good",
    "false": "bad",
    "harmful advice": "bad",
    "not stated": "wait",
    "not tried": "wait",
}
_LAST: Final = (RunOutcome.SKIPPED, RunOutcome.PASSED)
_WORDS: Final = {True: "on", False: "off"}
_MANY_PODS: Final = 100
_CHART_SECONDS_MAX: Final = 120
_MADE: Final = re.compile(r"^were ")


def render(results: Sequence[RunResult]) -> str:
    """Return the page; runs that did not pass stand first, in full."""
    ordered = sorted(results, key=lambda one: _LAST.index(one.outcome) if one.outcome in _LAST else -1)
    runs = [_RunView(f"run-{index}", one) for index, one in enumerate(ordered)]
    return render_page(
        "runs.html.j2",
        title=f"mockkube test: {summarize(results)}",
        figures=list(_figures(results)),
        runs=runs,
        failed=[one for one in runs if one.failed],
        others=[one for one in runs if not one.failed],
        engine=trust.describe_engine() if any(one.digest for one in results) else "",
        has_real_time=any(one.steps and not one.digest for one in results),
        meanings="; ".join(f"*{one}*: {OUTCOME_MEANINGS[one]}" for one in CLAIM_OUTCOMES),
        describe_step=step_descriptions.describe_step,
        claim_tones=_CLAIM_TONES,
        to_yaml=to_yaml,
        tone=lambda outcome: _TONES.get(outcome, "bad"),
    )


def _figures(results: Sequence[RunResult]) -> Iterator[tuple[int, str]]:
    """Yield how many runs ended how, and how many claims have which outcome."""
    runs = Counter(one.outcome for one in results)
    claims: Counter[str] = Counter(one.outcome or "not decided" for one in decide_claims(results))
    for outcome in RunOutcome:
        if outcome is not RunOutcome.PASSED:
            yield runs[outcome], f"run{'s' * (runs[outcome] != 1)} {outcome}"
    yield runs[RunOutcome.PASSED], "as expected"
    for name in (*CLAIM_OUTCOMES, "not decided"):
        yield claims[name], f"claims: {name}"


class _RunView:
    """One run as the page shows it."""

    def __init__(self, anchor: str, run: RunResult) -> None:
        self.anchor = anchor
        self.run = run
        self.failed = run.outcome not in _LAST
        self.command = replay_command(run)
        self.failed_index = step_descriptions.find_failed_step(run)
        self.planned = max(run.planned_steps, len(run.steps))

    @property
    def claims(self) -> Sequence[ClaimResult]:
        """The claims that the run decides, or would have decided."""
        return decide_claims([self.run])

    @property
    def failed_step(self) -> StepResult | None:
        """The step that ended the run."""
        return self.run.steps[self.failed_index] if self.failed_index is not None else None

    @property
    def objects(self) -> Iterator[AskedObject]:
        """The objects that the failed step asked about."""
        return find_objects(self.run, self.failed_step) if self.failed_step is not None else iter(())

    @property
    def events(self) -> list[EventSummary]:
        """All events, each occurrence separately."""
        return [one for _, one in read_events(self.run.traced_steps)]

    @property
    def gathered_events(self) -> list[EventSummary]:
        """All events, those alike together."""
        return merge_events(self.events)

    @property
    def trials(self) -> list[tuple[Timeline, TimelineDrawing, str]]:
        """Timelines with drawings and pod counts: one, and one more for each restored snapshot."""
        if not self.run.traced_steps:
            return []
        boundaries = [
            Boundary(step.trace_length, str(number), f"{number} {step.verb} {step_descriptions.describe_step(step)}",
                     str(step.arguments) if step.verb == "snapshot" else "",
                     str(step.arguments) if step.verb == "restore" else "")
            for number, step in enumerate(self.run.steps, 1)
        ]  # fmt: skip
        trials = build_timelines(self.run.traced_steps, boundaries, _make_describer(self.run), self.run.virtual_seconds)
        return [
            (
                timeline,
                TimelineDrawing(timeline, f"Timeline of {self.run.title}, trial {number}"),
                summarize_pods(timeline),
            )
            for number, timeline in enumerate(trials, 1)
        ]

    @property
    def pace(self) -> "_Pace | None":
        """Pace at which pods were created, if there were many."""
        pods = Counter(
            int(moment.at)
            for moment in self.run.traced_steps
            for write in moment.writes
            if write.resource == "core/pods" and write.verb == "create"
        )
        if pods.total() < _MANY_PODS:
            return None
        first, last = min(pods), max(pods)
        label = (
            f"{pods.total()} pods were made from {first} s to {last} s of virtual time, at most {max(pods.values())} "
            "within a second"
        )
        counts = [pods[second] for second in range(first, last + 1)] if last - first < _CHART_SECONDS_MAX else []
        return _Pace(label, str(CONTROLLER_CLIENT_LIMITS["kube-api-qps"]), counts)


@dataclass(frozen=True, slots=True)
class _Pace:
    label: str
    requests_per_second: str
    """Limit of kube-controller-manager's client."""
    counts: Sequence[int]
    """Pods made in each second; empty if there are too many seconds for a chart."""


@dataclass(frozen=True, slots=True)
class _RunDescriber:
    """Descriptions of components by their settings at the start of a run."""

    began: Mapping[str, ComponentStart]
    gates: Sequence[str]
    versions: bool
    """Whether any step changes a version."""

    def describe_start(self, component: str) -> str:
        # A component of one node or replica, as kubelet.node-1, begins with the settings of all.
        own = self.began.get(component) or self.began.get(component.partition(".")[0])
        if own is None:
            return ""
        gates = [f"{gate} {_WORDS[gate in own.gates]}" for gate in self.gates]
        return ", ".join([*([own.version] if self.versions or not gates else []), *gates])

    def describe_settings(self, component: str, version: str, gates: Mapping[str, bool | None]) -> str:
        words = [f"{gate} {'as by default' if on is None else _WORDS[on]}" for gate, on in gates.items()]
        return ", ".join([*([version] if version else []), *words])


def _make_describer(one: RunResult) -> _RunDescriber:
    settings = [
        step.arguments for step in one.steps if step.verb == "component" and isinstance(step.arguments, Mapping)
    ]
    gates = sorted({gate for each in settings for gate in each.get("featureGates") or ()})
    versions = any(each.get("version") for each in settings)
    return _RunDescriber({began.component: began for began in one.initial_components}, gates, versions)


def summarize_pods(timeline: Timeline) -> str:
    """Return how many pods there were and their states at the end; both numbers are equal."""
    counts = dict(timeline.counts)
    created, restored = counts.pop("made", 0), counts.pop("there", 0)
    if not created and not restored:
        return "No pods."
    meanwhile = [f"{count} {_MADE.sub('', name)}" for name, count in counts.items() if name.startswith("were ")]
    ends = [f"{count} {name}" for name, count in sorted(counts.items()) if not name.startswith("were ")]
    start = join_words([*([f"{count_noun(restored, 'pod')} there from the snapshot"] if restored else []),
                    *([f"{count_noun(created, 'pod')} made"] if created else [])])  # fmt: skip
    between = f" (of these, some time: {join_words(meanwhile)})" if meanwhile else ""
    return f"**Pods:** {start}{between}. At the end: {join_words(ends)}."
