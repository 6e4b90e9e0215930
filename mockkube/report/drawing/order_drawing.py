"""Picture of orders: a row for each, its steps from left to right, and its result at the end."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.report.drawing.text_metrics import fit

WIDTH: Final = 440.0
ROWS_MAX: Final = 24
_ROW: Final = 18.0
_BEGIN: Final = 12.0
_RESULT: Final = 136.0
_TEXT_SIZE: Final = 10.5
# Colors of steps; more steps share them.
_COLORS: Final = 6


@dataclass(frozen=True, slots=True)
class OrderRow:
    """One order as it is drawn."""

    steps: Sequence[str]
    tone: str
    """`good`, `wait`, `bad` or `idle`."""
    result: str
    score: int = 0
    """Length of the bar; 0 for none."""
    marked: bool = False
    groups: Sequence[str] = ()
    """Subject of each step, if its name says more: steps of one subject have one color."""

    @property
    def colored_by(self) -> Sequence[str]:
        """Legend: the subject of each color."""
        return self.groups or self.steps


@dataclass(frozen=True, slots=True)
class StepBox:
    """One step of an order: a box with a color of its own, and its name where it fits."""

    x: float
    width: float
    color: int
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class RowDrawing:
    """Position of one order."""

    y: float
    row: OrderRow
    boxes: Sequence[StepBox]
    bar: float

    @property
    def words(self) -> str:
        """The row in words."""
        return f"{', then '.join(self.row.steps)}: {self.row.result}"


class OrderDrawing:
    """Orders with one heading; of many, the first and the last are drawn, and a line says how many are not."""

    def __init__(
        self, title: str, rows: Sequence[OrderRow], *, score_max: int = 0, rows_max: int = ROWS_MAX,
        width: float = WIDTH, result_width: float = _RESULT, noun: str = "orders",
    ) -> None:  # fmt: skip
        self.title = title
        self.width = width
        self.result_x = width - result_width + 10
        colors = _number_steps(rows)
        shown = [*rows] if len(rows) <= rows_max else [*rows[: rows_max // 2], *rows[-((rows_max - 1) // 2) :]]
        self.gap_y = 0.0
        self.omitted = f"… {len(rows) - len(shown)} more {noun} …" if len(shown) < len(rows) else ""
        self.rows = list(self._place(shown, rows_max // 2, colors, score_max))
        self.height = _ROW * (len(shown) + bool(self.omitted))

    def _place(
        self, rows: Sequence[OrderRow], first: int, colors: Mapping[str, int], score_max: int
    ) -> Iterator[RowDrawing]:
        y = 0.0
        for index, row in enumerate(rows):
            if self.omitted and index == first:
                self.gap_y = y
                y += _ROW
            step = (self.result_x - 10 - _BEGIN) / max(1, len(row.steps))
            boxes = [
                StepBox(_BEGIN + place * step, step - 2, colors[group], name, fit(name, step - 8, _TEXT_SIZE))
                for place, (name, group) in enumerate(zip(row.steps, row.colored_by, strict=True))
            ]
            room = self.width - self.result_x - 30
            bar = max(2.0, row.score / score_max * room) if row.score and score_max else 0.0
            yield RowDrawing(y, row, boxes, bar)
            y += _ROW


def _number_steps(rows: Sequence[OrderRow]) -> dict[str, int]:
    names = sorted({name for row in rows for name in row.colored_by})
    return {name: index % _COLORS + 1 for index, name in enumerate(names)}
