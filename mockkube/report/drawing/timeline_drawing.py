"""Positions in the picture of a timeline, in pixels."""

from collections.abc import Iterator, Sequence
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.report.drawing.timeline import Lane, Timeline

_LANE_HEIGHT: Final = 22
_HEAD_HEIGHT: Final = 34
_NAMES_WIDTH: Final = 250
_WIDTH: Final = 1080
# Average width: a page has no script that could measure text, so labels that may not fit are left out.
_LETTER_WIDTH: Final = 6.5
_SECONDS_WIDTH: Final = 34.0
_SHORTENED: Final = 8  # an ellipsis and the last seven letters, which tell pods of one owner apart


@dataclass(frozen=True, slots=True)
class StepLine:
    """Vertical line at the beginning of a step; the number is empty where there is no room for it."""

    x: float
    text: str
    number: str


@dataclass(frozen=True, slots=True)
class SpanBox:
    """One state in a lane; the text is empty where it does not fit."""

    x: float
    width: float
    tone: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class LaneDrawing:
    """One lane of a timeline with its states and marks, and the same in words."""

    y: int
    name: str
    short_name: str
    spans: Sequence[SpanBox]
    marks: Sequence[SpanBox]
    words: str


class TimelineDrawing:
    """Lanes of a timeline, components above pods."""

    width: Final = _WIDTH

    def __init__(self, timeline: Timeline, label: str) -> None:
        lanes = [*timeline.components, *timeline.pods]
        step = (_WIDTH - _NAMES_WIDTH) / timeline.columns
        self.label = label
        self.height = _HEAD_HEIGHT + _LANE_HEIGHT * len(lanes) + 8
        self.steps = list(_steps(timeline, step))
        self.seconds = list(_seconds(timeline, step))
        self.lanes = [_lane(lane, timeline, _HEAD_HEIGHT + _LANE_HEIGHT * row, step) for row, lane in enumerate(lanes)]


def _words(lane: Lane, timeline: Timeline) -> str:
    moments = timeline.moments or [0.0]
    times = [*moments, moments[-1]]
    spans = [(one.first, times[min(one.first, len(moments))], one.text) for one in lane.spans]
    marks = [
        (one.column, times[min(one.column, len(moments))] if one.at is None else one.at, one.text) for one in lane.marks
    ]
    return "; ".join(f"{at:.0f} s {text}" for _, at, text in sorted([*spans, *marks]))


def _steps(timeline: Timeline, step: float) -> Iterator[StepLine]:
    free = 0.0
    for mark in timeline.boundaries:
        x, number = _NAMES_WIDTH + mark.column * step, mark.text.partition(" ")[0]
        yield StepLine(x, mark.text, number if x >= free else "")
        if x >= free:
            free = x + _LETTER_WIDTH * (len(number) + 1)


def _seconds(timeline: Timeline, step: float) -> Iterator[tuple[float, float]]:
    """Yield position and second where time moved and there is room for a label."""
    free, before = 0.0, -1
    for index, at in enumerate(timeline.moments):
        # A label at the right edge is moved to the left, so that it is not cut.
        x = min(_NAMES_WIDTH + index * step, _WIDTH - _SECONDS_WIDTH)
        if int(at) != before and x >= free:
            yield x, at
            free, before = x + _SECONDS_WIDTH + 6, int(at)


def _lane(lane: Lane, timeline: Timeline, y: int, step: float) -> LaneDrawing:
    more = f" (+{lane.like} alike)" if lane.like else ""
    name, room = lane.name.strip(), int((_NAMES_WIDTH - 8) / _LETTER_WIDTH) - len(more)
    # A long name is cut in its middle: its end and the number of pods alike stay.
    short = name if len(name) <= room else f"{name[: room - _SHORTENED]}…{name[-_SHORTENED + 1 :]}"
    spans = []
    for span in lane.spans:
        # Two pixels at least: a state that ends within its column must still show.
        width = max(2.0, (span.last - span.first) * step)
        texts = (span.text, span.text.partition(":")[0].partition(" on ")[0])
        text = next((one for one in texts if len(one) * _LETTER_WIDTH <= width - 6), "")
        spans.append(SpanBox(_NAMES_WIDTH + span.first * step, width, span.tone, f"{lane.name}: {span.text}", text))
    marks = [
        SpanBox(min(_NAMES_WIDTH + one.column * step, _WIDTH - 2), 0, one.tone, f"{lane.name}: {one.text}", one.text)
        for one in lane.marks
    ]
    return LaneDrawing(y, name + more, short + more, spans, marks, _words(lane, timeline))
