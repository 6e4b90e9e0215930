"""Timelines of a scenario run, with the settings of components and the number of pods."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.report.drawing.timeline import Boundary, Timeline, build_timelines
from mockkube.report.drawing.timeline_drawing import PAGE_WIDTH, TimelineDrawing
from mockkube.report.sentences.step_descriptions import describe_step
from mockkube.report.wording import count_noun, join_words
from mockkube.scenario.runner.results import ComponentStart, RunResult

_WORDS: Final = {True: "on", False: "off"}
_MADE: Final = re.compile(r"^were ")


@dataclass(frozen=True, slots=True)
class Trial:
    """A timeline, and its pods in words."""

    timeline: Timeline
    drawing: TimelineDrawing
    pods: str


def draw_trials(run: RunResult, *, lanes_max: int = 0, width: int = PAGE_WIDTH) -> list[Trial]:
    """Return the timelines of a run: one, and one more for each restored snapshot."""
    if not run.traced_steps:
        return []
    boundaries = [
        Boundary(step.trace_length, str(number), f"{number} {step.verb} {describe_step(step)}",
                 str(step.arguments) if step.verb == "snapshot" else "",
                 str(step.arguments) if step.verb == "restore" else "")
        for number, step in enumerate(run.steps, 1)
    ]  # fmt: skip
    trials = build_timelines(run.traced_steps, boundaries, _make_describer(run), run.virtual_seconds)
    return [
        Trial(
            timeline,
            TimelineDrawing(timeline, f"Timeline of {run.title}, trial {number}", lanes_max=lanes_max, width=width),
            summarize_pods(timeline),
        )
        for number, timeline in enumerate(trials, 1)
    ]


def find_only_timeline(
    results: Sequence[RunResult],
    *,
    lanes_max: int = 0,
    width: int = PAGE_WIDTH,
) -> TimelineDrawing | None:
    """Return the first timeline of a run that is the only one, if anything happened in it."""
    trials = draw_trials(results[0], lanes_max=lanes_max, width=width) if len(results) == 1 else []
    return trials[0].drawing if trials and trials[0].drawing.lanes else None


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
