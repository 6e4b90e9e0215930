"""A picture of 1200 x 630 pixels: the answer, a picture of it, what ran, and the command that repeats it."""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from mockkube.lazy_dataclasses import dataclass
from mockkube.report.drawing.order_drawing import OrderDrawing
from mockkube.report.drawing.text_metrics import measure, shorten, wrap
from mockkube.report.drawing.tile_drawing import TileDrawing, place_keys
from mockkube.report.drawing.tiles import TileKey, TileRow
from mockkube.report.drawing.timeline_drawing import TimelineDrawing
from mockkube.report.drawing.whatif_charts import TimeChart
from mockkube.report.environment import read_template, render_page
from mockkube.report.markup import strip_markup
from mockkube.report.pictures.tokens import resolve
from mockkube.report.wording import tool_name

WIDTH: Final = 1104.0
_ANSWER_SIZES: Final = (40.0, 36.0, 32.0, 28.0, 25.0)
_ANSWER_LINES: Final = 3
_ANSWER_Y: Final = 62.0
_LINE: Final = 1.22
# Where the strip with the command begins, without the legend above it.
_BOTTOM: Final = 552.0
_LEGEND: Final = 26.0
_COMMAND_SIZE: Final = 16.0
_KICKER_SIZE: Final = 18.0
_LINE_HEIGHT: Final = 27.0
_LINES_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class Card:
    """Content of a picture: one of panels of orders, rows of tiles, a timeline, or charts."""

    command_name: str
    kicker: str
    answer: str
    tone: str
    command: str
    panels: Sequence[OrderDrawing] = ()
    tiles: Sequence[TileRow] = ()
    timeline: TimelineDrawing | None = None
    charts: Sequence[TimeChart] = ()
    keys: Sequence[TileKey] = ()
    lines: Sequence[str] = ()
    """Sentences below the answer, the first ones only."""
    footer: str = ""


@dataclass(frozen=True, slots=True)
class _Layout:
    answer: Sequence[str]
    answer_size: float
    kicker: str
    lines: Sequence[str]
    command: str

    @property
    def answer_lines(self) -> list[tuple[float, str]]:
        """Lines of the answer with their baselines."""
        first = _ANSWER_Y + self.answer_size
        return [(first + self.answer_size * _LINE * index, line) for index, line in enumerate(self.answer)]

    @property
    def picture_y(self) -> float:
        """Top of the picture."""
        return self.answer_lines[-1][0] + 34 + _LINE_HEIGHT * len(self.lines)

    @property
    def placed_lines(self) -> list[tuple[float, str]]:
        """Sentences below the answer with their baselines."""
        first = self.answer_lines[-1][0] + _LINE_HEIGHT + 6
        return [(first + _LINE_HEIGHT * index, line) for index, line in enumerate(self.lines)]

    @property
    def height(self) -> float:
        """Room for the picture."""
        return _BOTTOM - _LEGEND - self.picture_y


def render_card(card: Card) -> str:
    """Return the picture as SVG, in light colors and without anything from elsewhere."""
    layout = _lay_out(card)
    tiles = TileDrawing(card.tiles, WIDTH, layout.height) if card.tiles else None
    scale = _find_scale(card, layout)
    return render_page(
        "card.svg.j2",
        card=card,
        layout=layout,
        footer=card.footer or f"{tool_name()}, a simulated cluster",
        tiles=tiles,
        keys=list(place_keys(card.keys)),
        scale=scale,
        y=layout.picture_y + _center(card, layout, tiles, scale),
        # Fonts in double quotes stand in a text of XML, where quotes need no escape.
        style=Markup(resolve(read_template("pictures.css") + read_template("card.css"))),
        width=WIDTH,
    )


def _lay_out(card: Card) -> _Layout:
    text = strip_markup(card.answer)
    sizes = ((size, wrap(text, WIDTH, size, bold=True)) for size in _ANSWER_SIZES)
    size, lines = next(
        ((size, lines) for size, lines in sizes if len(lines) <= _ANSWER_LINES),
        (_ANSWER_SIZES[-1], wrap(text, WIDTH, _ANSWER_SIZES[-1], bold=True, lines_max=_ANSWER_LINES)),
    )
    kicker = shorten(card.kicker, WIDTH - measure(card.command_name, _KICKER_SIZE, bold=True) - 20, _KICKER_SIZE)
    command = shorten(card.command, WIDTH - 330, _COMMAND_SIZE, mono=True)
    sentences = [line for one in card.lines for line in wrap(strip_markup(one), WIDTH, _KICKER_SIZE)]
    if len(sentences) > _LINES_MAX:
        sentences = [*sentences[: _LINES_MAX - 1], shorten(f"{sentences[_LINES_MAX - 1]} …", WIDTH, _KICKER_SIZE)]
    return _Layout(lines, size, kicker, sentences, command)


def _find_scale(card: Card, layout: _Layout) -> float:
    """Return by how much panels, a timeline or charts must be scaled to fit."""
    if card.panels:
        room = (WIDTH - 40 * (len(card.panels) - 1)) / len(card.panels)
        return min(room / card.panels[0].width, (layout.height - 26) / max(one.height for one in card.panels))
    if card.timeline is not None:
        return min(WIDTH / card.timeline.width, layout.height / card.timeline.height)
    if card.charts:
        return min(WIDTH / card.charts[0].width, layout.height / sum(one.height for one in card.charts))
    return 1.0


def _center(card: Card, layout: _Layout, tiles: TileDrawing | None, scale: float) -> float:
    """Return how far down the picture is moved, so that what is low does not stick to the answer."""
    if tiles is not None:
        return max(0.0, (layout.height - tiles.height) / 2)
    if card.timeline is not None:
        return max(0.0, (layout.height - card.timeline.height * scale) / 2)
    if card.charts:
        return max(0.0, (layout.height - sum(one.height for one in card.charts) * scale) / 2)
    height = max((one.height * scale + 26 for one in card.panels), default=0.0)
    return max(0.0, (layout.height - height) / 2)
