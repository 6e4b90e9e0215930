"""Timelines and maps of harm as SVG within a page; what they show is also said in words beside them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Final

from mockkube.scenario.report.page import folded
from mockkube.scenario.report.timeline import Lane, Timeline

_LANE: Final = 22
_HEAD: Final = 34
_NAMES: Final = 250
_WIDTH: Final = 1080
_SIDEWAYS: Final = '<p class="sideways soft">The picture goes on to the right: scroll it sideways →</p>'
_LETTER: Final = 6.5
"""How wide a letter is, about."""
_NARROW: Final = 34.0
"""A label of seconds needs so much room."""


def legend(*, components: str = "", restarts: bool = True) -> str:
    """Return what the colours and lines mean; `components` says what lanes of components show."""
    kinds = [("idle", "component as at the start"), ("told", "component has changed"), ("going", "pod being deleted"),
             ("wait", "pod Pending"), ("good", "pod Running or Succeeded"),
             ("bad", "pod evicted, or Failed (rejected by its kubelet)")]  # fmt: skip
    items = [f'<li><span class="key span-{tone}"></span> {escape(text)}</li>' for tone, text in kinds]
    items += [
        '<li><span class="key key-mark"></span> pod deleted (thick red: after an eviction or failure)</li>',
        *(['<li><span class="key key-restart"></span> component restarted</li>'] if restarts else []),
        '<li><span class="key key-step"></span> a step begins; its number is that in the list</li>',
    ]
    about = f"<li>{escape(components)}</li>" if components else ""
    return f'<ul class="legend" aria-label="Legend">{"".join(items)}{about}</ul>'


def timeline(drawn: Timeline, label: str) -> str:
    """Return the lanes of a timeline, components above pods, and the same in words."""
    lanes = [*drawn.components, *drawn.pods]
    height = _HEAD + _LANE * len(lanes) + 8
    step = (_WIDTH - _NAMES) / drawn.columns
    parts = [*_steps(drawn, step, height), *_seconds(drawn, step)]
    for row, lane in enumerate(lanes):
        parts += _lane(lane, row, step)
    body = "".join(parts)
    picture = (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(label)}">'
        f'<svg role="img" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">'
        f"<title>{escape(label)}</title>{body}</svg></div>"
    )
    lines = "".join(f"<li><b>{escape(_name(lane))}</b>: {escape(_words(lane, drawn))}</li>" for lane in lanes)
    return _SIDEWAYS + picture + folded("The same in words", f"<ul>{lines}</ul>")


def _words(lane: Lane, drawn: Timeline) -> str:
    moments = drawn.moments or [0.0]
    times = [*moments, moments[-1]]
    spans = [(one.first, times[min(one.first, len(moments))], one.text) for one in lane.spans]
    marks = [
        (one.column, times[min(one.column, len(moments))] if one.at is None else one.at, one.text) for one in lane.marks
    ]
    return "; ".join(f"{at:.0f} s {text}" for _, at, text in sorted([*spans, *marks]))


def _steps(drawn: Timeline, step: float, height: int) -> Iterator[str]:
    """Yield a line with a number where each step begins."""
    free = 0.0
    for mark in drawn.boundaries:
        x = _NAMES + mark.column * step
        yield (
            f'<line class="step" x1="{x:.1f}" x2="{x:.1f}" y1="14" '
            f'y2="{height}"><title>{escape(mark.text)}</title></line>'
        )
        if x >= free:
            yield f'<text class="number" x="{x:.1f}" y="12">{escape(mark.text.partition(" ")[0])}</text>'
            free = x + _LETTER * (len(mark.text.partition(" ")[0]) + 1)


def _seconds(drawn: Timeline, step: float) -> Iterator[str]:
    """Yield the seconds along the top, where time moved and there is room."""
    free, before = 0.0, -1
    for index, at in enumerate(drawn.moments):
        x = min(_NAMES + index * step, _WIDTH - _NARROW)
        if int(at) != before and x >= free:
            yield f'<text class="soft" x="{x:.1f}" y="28">{at:.0f} s</text>'
            free, before = x + _NARROW + 6, int(at)


def _name(lane: Lane) -> str:
    return f"{lane.name.strip()} (+{lane.like} alike)" if lane.like else lane.name.strip()


def _lane(lane: Lane, row: int, step: float) -> Iterator[str]:
    y = _HEAD + _LANE * row
    yield f'<text x="0" y="{y + 12}">{escape(_cut(lane, _NAMES - 8))}<title>{escape(_name(lane))}</title></text>'
    for span in lane.spans:
        x, width = _NAMES + span.first * step, max(2.0, (span.last - span.first) * step)
        yield f"<g><title>{escape(f'{lane.name}: {span.text}')}</title>"
        yield f'<rect class="span-{span.tone}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_LANE - 5}" rx="2"/>'
        if len(span.text) * _LETTER <= width - 6:
            yield f'<text x="{x + 3:.1f}" y="{y + 12}">{escape(span.text)}</text>'
        elif len(short := span.text.partition(":")[0].partition(" on ")[0]) * _LETTER <= width - 6:
            yield f'<text x="{x + 3:.1f}" y="{y + 12}">{escape(short)}</text>'
        yield "</g>"
    for mark in lane.marks:
        yield _mark(lane, mark.text, mark.tone, min(_NAMES + mark.column * step, _WIDTH - 2), y)


def _mark(lane: Lane, text: str, tone: str, x: float, y: int) -> str:
    title = f"<title>{escape(f'{lane.name}: {text}')}</title>"
    if text == "restarted":
        return f'<path class="restart" d="M{x - 5:.1f} {y - 1} h10 l-5 8 z">{title}</path>'
    place = f'x1="{x:.1f}" x2="{x:.1f}" y1="{y - 1}" y2="{y + _LANE - 4}"'
    return f'<line class="mark mark-{tone}" {place}>{title}</line>'


def _cut(lane: Lane, width: float) -> str:
    """Return the name of a lane, cut in its middle where it is too long: how many are alike stays."""
    letters = int(width / _LETTER)
    name, more = lane.name.strip(), f" (+{lane.like} alike)" if lane.like else ""
    room = letters - len(more)
    return f"{name}{more}" if len(name) <= room else f"{name[: room - 8]}…{name[-7:]}{more}"


_CELL: Final = 34
_CELL_HEIGHT: Final = 22
SHADES: Final = (0, 50, 150, 400, 800)
"""Harm from which on a cell is a shade darker."""


@dataclass(frozen=True, slots=True)
class Heat:
    """A map of scores: rows are orders up, columns orders down."""

    rows: Sequence[str]
    columns: Sequence[str]
    scores: Mapping[tuple[int, int], int]
    framed: frozenset[tuple[int, int]]
    """Where somebody wrote both orders."""
    label: str


def heat(drawn: Heat) -> str:
    """Return the map, with the number in each cell; a cell leads to its words when it is chosen."""
    left, top = 78, 84
    width, height = left + _CELL * len(drawn.columns) + 4, top + _CELL_HEIGHT * len(drawn.rows) + 4
    parts = [
        f'<text x="{left + c * _CELL + 21}" y="{top - 6}" transform="rotate(-90 {left + c * _CELL + 21} {top - 6})">'
        f"{escape(name)}</text>"
        for c, name in enumerate(drawn.columns)
    ]
    for r, name in enumerate(drawn.rows):
        parts.append(f'<text x="0" y="{top + r * _CELL_HEIGHT + 15}">{escape(name)}</text>')
        for c in range(len(drawn.columns)):
            score = drawn.scores.get((r, c))
            if score is not None:
                parts.append(_cell(left + c * _CELL, top + r * _CELL_HEIGHT, score, f"up-{r}"))
    parts += [
        f'<rect class="written" x="{left + c * _CELL + 1}" y="{top + r * _CELL_HEIGHT + 1}" width="{_CELL - 2}" '
        f'height="{_CELL_HEIGHT - 2}"/>'
        for r, c in sorted(drawn.framed)
    ]
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(drawn.label)}">'
        f'<svg role="img" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f"<title>{escape(drawn.label)}</title>{''.join(parts)}</svg></div>"
    )


def _shade(score: int) -> int:
    return sum(score > one for one in SHADES)


def scale(most: int) -> str:
    """Return which shade stands for how much harm, as far as there is so much."""
    spans = ["0 (no harm)", *(f"{low + 1} to {high}" for low, high in pairwise(SHADES) if low < most)]
    if most > SHADES[-1]:
        spans.append(f"more than {SHADES[-1]}")
    items = (f'<li><span class="key shade-{shade}"></span> {text}</li>' for shade, text in enumerate(spans))
    return f'<ul class="legend" aria-label="Scale">{"".join(items)}</ul>'


def _cell(x: int, y: int, score: int, target: str) -> str:
    place = f'x="{x}" y="{y}" width="{_CELL}" height="{_CELL_HEIGHT}"'
    return (
        f'<a href="#{target}"><rect class="cell shade-{_shade(score)}" {place}/>'
        f'<text class="score" x="{x + _CELL / 2}" y="{y + 15}">{score}</text></a>'
    )


_BAR: Final = 12
_BARS_HEIGHT: Final = 70
_APART: Final = 130
"""How wide it must be for both ends to be labelled."""


def bars(counts: Sequence[int], label: str) -> str:
    """Return a bar for each count, with the highest written beside them."""
    most = max(counts, default=0) or 1
    width, base = 46 + _BAR * len(counts), _BARS_HEIGHT
    parts = [
        f'<rect class="span-bad" x="{40 + index * _BAR}" y="{base - count / most * (base - 12):.1f}" '
        f'width="{_BAR - 2}" '
        f'height="{count / most * (base - 12):.1f}"/>'
        for index, count in enumerate(counts)
    ]
    parts += [
        f'<text class="soft" x="0" y="18">{most}</text><text class="soft" x="0" y="{base}">0</text>',
        f'<text class="soft" x="40" y="{base + 15}">0 s</text>',
    ]
    if width > _APART:
        parts.append(f'<text class="soft" x="{width - 40}" y="{base + 15}">{len(counts)} s</text>')
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(label)}"><svg role="img" width="{width}" '
        f'height="{base + 20}" viewBox="0 0 {width} '
        f'{base + 20}"><title>{escape(label)}</title>{"".join(parts)}</svg></div>'
    )
