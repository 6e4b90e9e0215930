"""Positions of rows of tiles in a picture, in pixels."""

from collections.abc import Iterator, Sequence
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.report.drawing.text_metrics import measure, shorten
from mockkube.report.drawing.tiles import TileKey, TileRow

_SIZES: Final = (40.0, 32.0, 26.0, 22.0, 18.0, 15.0, 12.0, 9.0, 7.0)
_GAP: Final = 3.0
_ROW_GAP: Final = 8.0
_LABEL: Final = 240.0
_COUNTS: Final = 330.0
_TEXT: Final = 17.0
_COUNT_TEXT: Final = 15.0
_KEY_GAP: Final = 30.0


@dataclass(frozen=True, slots=True)
class Square:
    """One tile."""

    x: float
    y: float
    tone: str


@dataclass(frozen=True, slots=True)
class Label:
    """A text beside tiles."""

    x: float
    y: float
    text: str
    style: str


class TileDrawing:
    """Rows of tiles, as large as they fit; rows for which there is no room are counted in a line."""

    def __init__(self, rows: Sequence[TileRow], width: float, height: float) -> None:
        self._columns_width = width - _LABEL - _COUNTS
        self.size = next((one for one in _SIZES if self._measure(rows, one) <= height), _SIZES[-1])
        shown = list(rows)
        while len(shown) > 1 and self._measure(shown, self.size) + _TEXT * (len(shown) < len(rows)) > height:
            shown.pop()
        self.squares: list[Square] = []
        self.labels: list[Label] = []
        self.height = y = 0.0
        for row in shown:
            self._place(row, y, width)
            y += self._height(row, self.size)
        self.height = y
        if len(shown) < len(rows):
            self.labels.append(Label(0, y + _TEXT, f"and {len(rows) - len(shown)} more rows", "caption"))

    def _place(self, row: TileRow, y: float, width: float) -> None:
        base = y + max(self.size, _TEXT) / 2 + 5
        self.labels.append(Label(0, base, shorten(row.label, _LABEL - 12, _TEXT), "label"))
        columns = self._count_columns(self.size)
        for index, one in enumerate(row.tiles):
            line, column = divmod(index, columns)
            step = self.size + _GAP
            self.squares.append(Square(_LABEL + column * step, y + line * step, one.tone))
        self.labels.append(Label(width - _COUNTS + 16, base, shorten(row.words, _COUNTS - 16, _COUNT_TEXT), "caption"))

    def _count_columns(self, size: float) -> int:
        return max(1, int(self._columns_width / (size + _GAP)))

    def _height(self, row: TileRow, size: float) -> float:
        lines = -(-len(row.tiles) // self._count_columns(size))
        return max(lines * (size + _GAP), _TEXT) + _ROW_GAP

    def _measure(self, rows: Sequence[TileRow], size: float) -> float:
        return sum(self._height(row, size) for row in rows)


def place_keys(keys: Sequence[TileKey]) -> Iterator[tuple[float, TileKey]]:
    """Yield the entries of a legend with their positions in a line."""
    x = 0.0
    for one in keys:
        yield x, one
        x += measure(one.text, _COUNT_TEXT) + _KEY_GAP
