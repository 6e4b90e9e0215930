"""Positions in the picture of a timeline, in pixels."""

from collections.abc import Iterator, Sequence
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.report.drawing.timeline import Lane, Timeline

_LANE_HEIGHT: Final = 22
_HEAD_HEIGHT: Final = 34
_NAMES_WIDTH: Final = 250
PAGE_WIDTH: Final = 1080
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


@dataclass(frozen=True, slots=True)
class _Columns:
    """Positions of columns: names of lanes are left of them."""

    width: float
    names: float
    step: float

    def find_x(self, column: int) -> float:
        return self.names + column * self.step


class TimelineDrawing:
    """Lanes of a timeline, components above pods."""

    def __init__(self, timeline: Timeline, label: str, *, lanes_max: int = 0, width: int = PAGE_WIDTH) -> None:
        """Draw all lanes, or the first ones only."""
        lanes = [*timeline.components, *timeline.pods]
        lanes = lanes[: lanes_max or None]
        names = _NAMES_WIDTH * width / PAGE_WIDTH
        columns = _Columns(width, names, (width - names) / timeline.columns)
        self.label = label
        self.width = width
        self.height = _HEAD_HEIGHT + _LANE_HEIGHT * len(lanes) + 8
        self.steps = list(_steps(timeline, columns))
        self.seconds = list(_seconds(timeline, columns))
        self.lanes = [
            _lane(lane, timeline, _HEAD_HEIGHT + _LANE_HEIGHT * row, columns) for row, lane in enumerate(lanes)
        ]


def _words(lane: Lane, timeline: Timeline) -> str:
    moments = timeline.moments or [0.0]
    times = [*moments, moments[-1]]
    spans = [(one.first, times[min(one.first, len(moments))], one.text) for one in lane.spans]
    marks = [
        (one.column, times[min(one.column, len(moments))] if one.at is None else one.at, one.text) for one in lane.marks
    ]
    return "; ".join(f"{at:.0f} s {text}" for _, at, text in sorted([*spans, *marks]))


def _steps(timeline: Timeline, columns: _Columns) -> Iterator[StepLine]:
    free = 0.0
    for mark in timeline.boundaries:
        x, number = columns.find_x(mark.column), mark.text.partition(" ")[0]
        yield StepLine(x, mark.text, number if x >= free else "")
        if x >= free:
            free = x + _LETTER_WIDTH * (len(number) + 1)


def _seconds(timeline: Timeline, columns: _Columns) -> Iterator[tuple[float, float]]:
    """Yield position and second where time moved and there is room for a label."""
    free, before = 0.0, -1
    for index, at in enumerate(timeline.moments):
        # A label at the right edge is moved to the left, so that it is not cut.
        x = min(columns.find_x(index), columns.width - _SECONDS_WIDTH)
        if int(at) != before and x >= free:
            yield x, at
            free, before = x + _SECONDS_WIDTH + 6, int(at)


def _lane(lane: Lane, timeline: Timeline, y: int, columns: _Columns) -> LaneDrawing:
    more = f" (+{lane.like} alike)" if lane.like else ""
    name, room = lane.name.strip(), int((columns.names - 8) / _LETTER_WIDTH) - len(more)
    # A long name is cut in its middle: its end and the number of pods alike stay.
    short = name if len(name) <= room else f"{name[: room - _SHORTENED]}…{name[-_SHORTENED + 1 :]}"
    spans = []
    for span in lane.spans:
        # Two pixels at least: a state that ends within its column must still show.
        width = max(2.0, (span.last - span.first) * columns.step)
        texts = (span.text, span.text.partition(":")[0].partition(" on ")[0])
        text = next((one for one in texts if len(one) * _LETTER_WIDTH <= width - 6), "")
        spans.append(SpanBox(columns.find_x(span.first), width, span.tone, f"{lane.name}: {span.text}", text))
    marks = [
        SpanBox(min(columns.find_x(one.column), columns.width - 2), 0, one.tone, f"{lane.name}: {one.text}", one.text)
        for one in lane.marks
    ]
    return LaneDrawing(y, name + more, short + more, spans, marks, _words(lane, timeline))
