"""What a run was like over time: a lane for each component and pod, built from all that was written."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mockkube.scenario.results import Moment, WriteTold

LIKE_EACH_OTHER_MAX: Final = 5
"""How many pods of one owner get a lane: those to which something bad happened before others."""
_CHANGE: Final = re.compile(r"^(component|restart): (\S+)(?: (.*))?$")
_GATE: Final = re.compile(r"'(\w+)': (True|False|None)")
_DRAWN: Final = re.compile(r"-[a-z0-9]{5}$")


@dataclass(slots=True)
class Span:
    """A state that lasted: from one column to another."""

    first: int
    last: int
    text: str
    tone: str
    """`idle`, `wait`, `good` or `bad`."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened in one column."""

    column: int
    text: str
    tone: str


@dataclass(slots=True)
class Lane:
    """One component or pod."""

    name: str
    spans: list[Span] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    like: int = 0
    """How many others like it have no lane of their own."""


@dataclass(frozen=True, slots=True)
class Told:
    """An event of the cluster."""

    at: float
    reason: str
    object: str
    message: str
    times: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Lanes over columns. A column is a moment at which something changed: time itself is not to scale."""

    moments: Sequence[float]
    """The second of each column."""
    components: Sequence[Lane]
    pods: Sequence[Lane]
    events: Sequence[Told]
    counts: Sequence[tuple[str, int]]
    """What happened how often."""

    @property
    def columns(self) -> int:
        """How many there are."""
        return max(1, len(self.moments))


def build(moments: Iterable[Moment]) -> Timeline:
    """Return the timeline of a run."""
    making = _Making()
    for moment in moments:
        making.take(moment)
    return making.timeline()


class _Making:
    def __init__(self) -> None:
        self._moments: list[float] = []
        self._components: dict[str, Lane] = {}
        self._pods: dict[str, Lane] = {}
        self._states: dict[str, dict[str, Any]] = {}
        self._events: list[Told] = []
        self._counts: Counter[str] = Counter()

    def take(self, moment: Moment) -> None:
        """Take in a moment; one at which nothing changed has no column."""
        change = _CHANGE.match(moment.worker)
        pods = [one for one in moment.writes if one.resource == "core/pods"]
        self._events += [told for one in moment.writes if (told := _event(moment.at, one))]
        if change is None and not pods:
            return
        column = len(self._moments)
        self._moments.append(moment.at)
        if change is not None:
            self._component(column, change[1], change[2], change[3] or "")
        for write in pods:
            self._pod(column, write)

    def _component(self, column: int, what: str, name: str, text: str) -> None:
        lane = self._components.setdefault(name, Lane(name, [Span(0, column, "as it started", "idle")]))
        if what == "restart":
            lane.marks.append(Mark(column, "restarted", "wait"))
            return
        shown = _GATE.sub(lambda found: f"{found[1]}={found[2].lower()}", text).replace("gates={}", "")
        shown = shown.replace("gates={", "").replace("}", "").replace("=none", " as by default").strip() or "as asked"
        lane.spans.append(Span(column, column, shown, "good" if "=true" in shown or "version" in shown else "idle"))

    def _pod(self, column: int, write: WriteTold) -> None:
        name = write.name.removeprefix("default/")
        lane = self._pods.setdefault(name, Lane(name))
        if write.verb == "delete":
            tone = lane.spans[-1].tone if lane.spans else "idle"
            lane.marks.append(Mark(column + 1, "gone", tone))
            self._states.pop(name, None)
            return
        if write.verb == "create":
            self._counts["pods made"] += 1
        state = self._states[name] = _merged(self._states.get(name, {}), write.difference)
        text, tone = _state(state)
        if not lane.spans or lane.spans[-1].text != text:
            self._count(text, lane)
            lane.spans.append(Span(column, column, text, tone))

    def _count(self, text: str, lane: Lane) -> None:
        if text.startswith("evicted"):
            self._counts["pods evicted"] += 1
        elif text.startswith("Failed"):
            self._counts["pods failed or rejected"] += 1
        elif text.startswith("Running"):
            self._counts["pods running"] += 1

    def timeline(self) -> Timeline:
        """Close what is open, and leave out pods that are like others."""
        end = len(self._moments)
        for lane in (*self._components.values(), *self._pods.values()):
            gone = next((mark.column for mark in lane.marks if mark.text == "gone"), end)
            for span, following in zip(lane.spans, [*lane.spans[1:], None], strict=True):
                span.last = gone if following is None else following.first
        return Timeline(
            self._moments, list(self._components.values()), self._few(), _gathered(self._events),
            list(self._counts.items()),
        )  # fmt: skip

    def _few(self) -> list[Lane]:
        kept: list[Lane] = []
        of_one: dict[str, list[Lane]] = {}
        for lane in self._pods.values():
            of_one.setdefault(_DRAWN.sub("", lane.name), []).append(lane)
        for lanes in of_one.values():
            telling = sorted(lanes, key=lambda lane: all(span.tone != "bad" for span in lane.spans))
            few = [lane for lane in lanes if lane in telling[:LIKE_EACH_OTHER_MAX]]
            few[-1].like = len(lanes) - len(few)
            kept += few
        return kept


def _merged(old: Any, patch: Any) -> Any:
    """Return an object with a merge patch made to it."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged


def _state(pod: dict[str, Any]) -> tuple[str, str]:
    status, node = pod.get("status") or {}, (pod.get("spec") or {}).get("nodeName", "")
    phase, at = status.get("phase", "Pending"), f" on {node}" if node else ""
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    if phase == "Failed":
        return f"Failed{at}: {status.get('reason', '')}".rstrip(": "), "bad"
    disrupted = conditions.get("DisruptionTarget", {})
    if disrupted.get("status") == "True":
        return f"evicted{at}: {disrupted.get('reason', '')}".rstrip(": "), "bad"
    if (pod.get("metadata") or {}).get("deletionTimestamp"):
        return f"going{at}", "idle"
    if phase == "Pending" and not node:
        scheduled = conditions.get("PodScheduled", {})
        return ("Pending: unschedulable" if scheduled.get("reason") == "Unschedulable" else "Pending"), "wait"
    return f"{phase}{at}", "good" if phase in ("Running", "Succeeded") else "wait"


def _event(at: float, write: WriteTold) -> Told | None:
    if write.resource not in ("core/events", "events.k8s.io/events") or write.verb == "delete":
        return None
    event = write.difference if isinstance(write.difference, dict) else {}
    if "reason" not in event:
        return None
    about = event.get("involvedObject") or event.get("regarding") or {}
    name = f"{about.get('kind', '')}/{about.get('name', '')}"
    return Told(at, event["reason"], name, event.get("message") or event.get("note") or "", 1)


def _gathered(events: Sequence[Told]) -> list[Told]:
    """Return events with those that differ in a drawn name alone told once."""
    gathered: dict[tuple[str, str, float], Told] = {}
    for one in events:
        key = one.reason, _DRAWN.sub("-*", one.object), one.at
        known = gathered.get(key)
        shown = one.object if known is None else _DRAWN.sub("-*", one.object)
        gathered[key] = Told(one.at, one.reason, shown, one.message, 1 if known is None else known.times + 1)
    return list(gathered.values())
