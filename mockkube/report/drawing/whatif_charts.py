"""Charts of a what-if: replicas that are missing and nodes over time, and where pods are."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.report.drawing.text_metrics import shorten
from mockkube.report.wording import count_noun
from mockkube.whatif.results import PlacementRow, Sample, VariantResult
from mockkube.whatif.whatif_text import format_seconds

_WIDTH: Final = 900.0
_LEFT: Final = 46.0
_TOP: Final = 22.0
_PLOT_HEIGHT: Final = 96.0
_TICKS: Final = 6
_ROUND_SECONDS: Final = (60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_ROW: Final = 26.0
_LABEL: Final = 210.0
_BAR: Final = 350.0
_LABEL_TEXT: Final = 13.0


@dataclass(frozen=True, slots=True)
class Tick:
    """A time below a chart."""

    x: float
    text: str


class TimeChart:
    """Missing replicas and waiting pods as areas, nodes as a line, over time."""

    def __init__(self, variant: VariantResult, pods_max: int, nodes_max: int, width: float) -> None:
        self.title = variant.name
        self.width = width
        self.height = _TOP + _PLOT_HEIGHT + 24
        self.pods_max, self.nodes_max = max(pods_max, 1), max(nodes_max, 1)
        samples = variant.samples
        self.left, self.top, self.bottom, self.right = _LEFT, _TOP, _TOP + _PLOT_HEIGHT, width
        self._seconds = max(samples[-1].at, 1.0)
        self.missing = self._draw_area(samples, lambda one: one.unavailable)
        self.pending = self._draw_area(samples, lambda one: one.pending)
        self.nodes = self._draw_line(samples, lambda one: one.ready_nodes / self.nodes_max)
        self.ticks = list(self._list_ticks())
        last = samples[-1]
        self.label = (
            f"{variant.name}: missing replicas at most {variant.unavailable_max}; at the end "
            f"{count_noun(last.pending, 'pod')} without a node, {count_noun(last.ready_nodes, 'ready node')}"
        )

    def _x(self, at: float) -> float:
        return _LEFT + (self.width - _LEFT - 40) * at / self._seconds

    def _y(self, part: float) -> float:
        return _TOP + _PLOT_HEIGHT * (1 - min(part, 1.0))

    def _draw_line(self, samples: Sequence[Sample], part: Callable[[Sample], float]) -> str:
        """Return a path that keeps each value until the next sample."""
        first, *others = samples
        path = f"M{self._x(first.at):.1f} {self._y(part(first)):.1f}"
        return path + "".join(f"H{self._x(one.at):.1f}V{self._y(part(one)):.1f}" for one in others)

    def _draw_area(self, samples: Sequence[Sample], count: Callable[[Sample], int]) -> str:
        """Return the path of an area; empty if there is nothing."""
        if not any(map(count, samples)):
            return ""
        line = self._draw_line(samples, lambda one: count(one) / self.pods_max)
        return f"{line}V{self._y(0):.1f}H{self._x(samples[0].at):.1f}Z"

    def _list_ticks(self) -> Iterator[Tick]:
        step = next((one for one in _ROUND_SECONDS if self._seconds / one <= _TICKS), _ROUND_SECONDS[-1])
        at = 0
        while at <= self._seconds:
            yield Tick(self._x(at), format_seconds(at) if at else "change")
            at += step


@dataclass(frozen=True, slots=True)
class PlacementBar:
    """Nodes of a zone and group: label, length of the bar, and the words beside it."""

    y: float
    label: str
    width: float
    tone: str
    words: str


class PlacementChart:
    """Requested cpu of the nodes of each zone and group, as bars."""

    bar_x = _LABEL
    bar_width = _BAR

    def __init__(self, rows: Sequence[PlacementRow]) -> None:
        self.height = _ROW * max(len(rows), 1) + 4
        self.bars = [self._make_bar(row, index * _ROW) for index, row in enumerate(rows)]

    def _make_bar(self, row: PlacementRow, y: float) -> PlacementBar:
        place = " · ".join(text for text in (row.zone and f"zone {row.zone}", row.group) if text) or "all nodes"
        counts = f"{count_noun(row.nodes, 'node')}, {count_noun(row.pods, 'pod')}"
        words = f"{counts}, cpu {row.cpu_percent} %, memory {row.memory_percent} %"
        tone = "good" if row.cpu_percent <= 90 else "wait"
        return PlacementBar(
            y, shorten(place, _LABEL - 12, _LABEL_TEXT), _BAR * min(row.cpu_percent, 100) / 100, tone, words
        )


def draw_charts(variants: Sequence[VariantResult], width: float = _WIDTH) -> list[TimeChart]:
    """Return the chart of each variant, on one scale."""
    samples = [sample for one in variants for sample in one.samples]
    pods = max(max(one.unavailable, one.pending) for one in samples)
    nodes = max(one.ready_nodes for one in samples)
    return [TimeChart(one, pods, nodes, width) for one in variants]
