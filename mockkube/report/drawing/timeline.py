"""Timelines of a run: a lane for each component and pod, built from the writes to the store.

Restoring a snapshot removes everything that was there before, so it begins a new trial with a timeline of its own.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Protocol

from mockkube.api.patching import merge_patch
from mockkube.cluster.execution.step_trace import OPERATOR
from mockkube.lazy_dataclasses import dataclass
from mockkube.report.drawing.pod_states import USER, PodStates, describe_state
from mockkube.scenario.runner.results import TracedStep, TracedWrite

# The workers of moments in which an operator changes or restarts a component.
_CHANGE: Final = re.compile(r"^(component|restart): (\S+)(?: (.*))?$")
_GATE: Final = re.compile(r"'(\w+)': (True|False|None)")
_WORD: Final = re.compile(r"(version|running|server)=(\S+)")
_TRUTH: Final = {"True": True, "False": False, "None": None}
_PODS: Final = "core/pods"


@dataclass(slots=True)
class Span:
    """A state of a lane, from one column to another."""

    first: int
    last: int
    text: str
    tone: str
    """`idle`, `configured`, `wait`, `good`, `bad` or `terminating`."""


@dataclass(slots=True)
class Mark:
    """Something that happened in one column."""

    column: int
    text: str
    tone: str
    at: float | None = None
    """The second, if it differs from that of the column: a deleted pod is gone at the end of its column."""


@dataclass(slots=True)
class Lane:
    """One component, or one pod with all pods that had the same states."""

    name: str
    spans: list[Span] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    like: int = 0
    """Number of other pods with the same states, which have no lane."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The beginning of a step."""

    moment: int
    """Number of moments before it."""
    label: str
    """Number of the step in the list beside the timeline."""
    text: str
    snapshot: str = ""
    """Name of the snapshot that the step takes."""
    restores: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Lanes over columns; a column is a moment at which something changed, so time is not to scale."""

    title: str
    """Name of the trial; empty if there is only one."""
    moments: Sequence[float]
    """Second of each column."""
    components: Sequence[Lane]
    pods: Sequence[Lane]
    boundaries: Sequence[Mark]
    counts: Mapping[str, int]
    """Pods by state at the end; `made` are the created ones, `there` those of the restored snapshot."""

    @property
    def columns(self) -> int:
        """Number of columns, at least 1."""
        return max(1, len(self.moments))


class ComponentDescriber(Protocol):
    """Interface that describes the settings of components."""

    def describe_start(self, component: str) -> str:
        """Describe a component at the beginning of the run; empty if that is not known."""
        ...

    def describe_settings(self, component: str, version: str, gates: Mapping[str, bool | None]) -> str:
        """Describe a component after it was given a version and gates."""
        ...


class _DefaultDescriber:
    """Descriptions without knowledge of a plan or scenario."""

    def describe_start(self, component: str) -> str:
        return ""

    def describe_settings(self, component: str, version: str, gates: Mapping[str, bool | None]) -> str:
        words = {True: "on", False: "off", None: "as by default"}
        return ", ".join([*([version] if version else []), *(f"{gate} {words[on]}" for gate, on in gates.items())])


def build_timelines(
    moments: Iterable[TracedStep],
    boundaries: Sequence[Boundary] = (),
    describer: ComponentDescriber | None = None,
    end: float = 0.0,
) -> list[Timeline]:
    """Return the timelines of a run, one for each trial."""
    builder = _TimelineBuilder(boundaries, describer or _DefaultDescriber())
    for index, moment in enumerate(moments):
        builder.add(index, moment)
    return builder.finish(end)


class _TimelineBuilder:
    def __init__(self, boundaries: Sequence[Boundary], describer: ComponentDescriber) -> None:
        self._boundaries = list(boundaries)
        self._describer = describer
        self._made: list[Timeline] = []
        self._moments: list[float] = []
        self._steps: list[Mark] = []
        self._components: dict[str, Lane] = {}
        self._pod_states: dict[str, PodStates] = {}
        self._objects: dict[str, dict[str, Any]] = {}
        self._snapshots: dict[str, dict[str, str]] = {}
        self._counts: Counter[str] = Counter()
        self._title = ""
        self._restoring: Boundary | None = None
        self._at = 0.0

    def add(self, index: int, moment: TracedStep) -> None:
        """Add a moment; it gets a column only if a component or pod changed."""
        while self._boundaries and self._boundaries[0].moment <= index:
            self._step(self._boundaries.pop(0), moment.at)
        self._at = moment.at
        # Writes of a restore are no events of the run: they only rebuild the objects.
        if self._restoring is not None:
            self._restore(moment)
            return
        change = _CHANGE.match(moment.worker)
        pods = [one for one in moment.writes if one.resource == _PODS]
        if change is None and not pods:
            return
        column = self._column(moment.at)
        by = USER if moment.worker == OPERATOR else moment.worker.partition("/")[2].partition("/")[0]
        if change is not None:
            self._component(column, change[1], change[2], change[3] or "")
        for write in pods:
            self._pod(column, write, by)

    def _column(self, at: float) -> int:
        self._moments.append(at)
        return len(self._moments) - 1

    def _step(self, step: Boundary, at: float) -> None:
        if step.snapshot:
            states = {name: lane.spans[-1].text for name, lane in self._components.items() if lane.spans}
            self._snapshots[step.snapshot] = states
        if step.restores:
            self._close(at)
            self._restoring = step
            return
        self._steps.append(Mark(self._column(at), step.text, "step"))

    def _restore(self, moment: TracedStep) -> None:
        """Apply the writes of a restore; after the last one a new trial begins."""
        for write in moment.writes:
            if write.resource == _PODS and write.verb == "delete":
                self._objects.pop(write.name.removeprefix("default/"), None)
            elif write.resource == _PODS:
                name = write.name.removeprefix("default/")
                self._objects[name] = merge_patch.apply(self._objects.get(name, {}), write.difference)
        step = self._restoring
        if step is not None and moment.worker.startswith("restore: "):
            self._restoring = None
            self._title = f'after step {step.label} restored the snapshot "{step.restores}"'
            self._begin_trial(step.restores)
            self._steps.append(Mark(self._column(moment.at), step.text, "step"))

    def _begin_trial(self, snapshot: str) -> None:
        """Start the timeline of a new trial with the restored components and pods."""
        settings = self._snapshots.get(snapshot, {})
        known = {name: settings.get(name) or lane.spans[0].text for name, lane in self._components.items()}
        self._moments, self._steps, self._counts = [], [], Counter()
        self._components = {name: Lane(name, [Span(0, 0, text, "idle")]) for name, text in known.items()}
        self._pod_states = {name: PodStates(name, from_snapshot=True) for name in self._objects}
        for name, pod in self._pod_states.items():
            pod.enter(0, *describe_state(self._objects[name]))

    def _component(self, column: int, what: str, name: str, text: str) -> None:
        lane = self._components.get(name)
        if lane is None:
            start = self._describer.describe_start(name)
            lane = self._components[name] = Lane(name, [Span(0, column, start, "idle")] if start else [])
        if what == "restart":
            lane.marks.append(Mark(column, "restarted", "wait"))
            return
        words = dict(_WORD.findall(text))
        gates = {gate: _TRUTH[on] for gate, on in _GATE.findall(text)}
        shown = self._describer.describe_settings(name, words.get("version", ""), gates)
        if "running" in words:
            shown = "runs" if words["running"] == "True" else "does not run"
        # A moment may carry neither version nor gates: the text of the step is shown then.
        shown = shown or text or "as asked"
        # A component that is back at its first state gets the colour of the start.
        same = bool(lane.spans) and lane.spans[0].text == shown
        lane.spans.append(Span(column, column, shown, "idle" if same else "configured"))

    def _pod(self, column: int, write: TracedWrite, by: str) -> None:
        name = write.name.removeprefix("default/")
        if write.verb == "delete":
            self._objects.pop(name, None)
            if name in self._pod_states:
                # The pod is gone at the end of this column, so that its last state has a width.
                self._pod_states[name].mark_deleted(column + 1, self._at, by_user=by == USER)
            return
        if write.verb == "create":
            self._counts["made"] += 1
            # StatefulSets reuse names: the earlier pod keeps a history of its own under a name with a space.
            if name in self._pod_states:
                self._pod_states[f"{name} "] = self._pod_states.pop(name)
        pod = self._pod_states.setdefault(name, PodStates(name))
        obj = self._objects[name] = merge_patch.apply(self._objects.get(name, {}), write.difference)
        pod.enter(column, *describe_state(obj, by=by))

    def _close(self, at: float) -> None:
        # The end of the run gets a column of its own, so that last states have a width.
        end = self._column(max(at, self._at)) + 1
        lanes, counts = _build_lanes(list(self._pod_states.values()), end)
        for lane in self._components.values():
            for span, following in zip(lane.spans, [*lane.spans[1:], None], strict=True):
                span.last = end if following is None else following.first
        self._counts.update(counts)
        timeline = Timeline(
            self._title, self._moments, list(self._components.values()), lanes, self._steps, dict(self._counts)
        )
        self._made.append(_drop_idle_columns(timeline))

    def finish(self, at: float) -> list[Timeline]:
        """Close the last trial and return all timelines."""
        # Steps after the last moment changed nothing, but their numbers stand in the list beside the
        # timeline.
        for step in self._boundaries:
            self._step(step, self._at)
        self._close(at)
        # Only a run with several trials needs names for them.
        if len(self._made) > 1 and not self._made[0].title:
            first = self._made[0]
            named = Timeline("from the start", first.moments, first.components, first.pods,
                             first.boundaries, first.counts)  # fmt: skip
            return [named, *self._made[1:]]
        return self._made


def _build_lanes(pods: Sequence[PodStates], end: int) -> tuple[list[Lane], Counter[str]]:
    """Return a lane for each signature of pods, and counts of all pods by outcome."""
    counts: Counter[str] = Counter()
    lanes: dict[tuple[str, ...], Lane] = {}
    for pod in pods:
        counts.update(pod.count_outcomes())
        lane = lanes.get(pod.signature)
        if lane is not None:
            lane.like += 1
            continue
        lane = lanes[pod.signature] = Lane(pod.name)
        gone = pod.gone if pod.gone is not None else end
        for index, stage in enumerate(pod.states):
            last = pod.states[index + 1].column if index + 1 < len(pod.states) else gone
            lane.spans.append(Span(stage.column, last, stage.text, stage.tone))
        if pod.gone is not None:
            bad = bool(pod.states) and pod.states[-1].tone == "bad"
            lane.marks.append(Mark(pod.gone, pod.end, "bad" if bad else "idle", pod.gone_at))
    return list(lanes.values()), counts


def _drop_idle_columns(timeline: Timeline) -> Timeline:
    """Remove the columns in which only pods without a lane changed."""
    lanes = [*timeline.components, *timeline.pods]
    last = len(timeline.moments) - 1
    # The first and the last column show the beginning and the end of the run.
    columns_kept = {0, last, *(mark.column for mark in timeline.boundaries)}
    for lane in lanes:
        columns_kept.update(span.first for span in lane.spans)
        columns_kept.update(min(mark.column, last) for mark in lane.marks)
    new_columns = {column: place for place, column in enumerate(sorted(one for one in columns_kept if one <= last))}
    new_columns[last + 1] = len(new_columns)
    for lane in lanes:
        for span in lane.spans:
            span.first, span.last = new_columns[span.first], new_columns[span.last]
        for mark in lane.marks:
            mark.column = new_columns[mark.column]
    for mark in timeline.boundaries:
        mark.column = new_columns[mark.column]
    moments = [timeline.moments[column] for column in new_columns if column <= last]
    return Timeline(timeline.title, moments, timeline.components, timeline.pods, timeline.boundaries, timeline.counts)
