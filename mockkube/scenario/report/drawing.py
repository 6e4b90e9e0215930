"""Timelines and heat maps as SVG within a page; every shape says in a title what it shows."""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Final

from mockkube.scenario.report.timeline import Lane, Timeline

_LANE: Final = 22
_NAMES: Final = 210
_WIDTH: Final = 1040
_LETTER: Final = 6.4
"""How wide a letter is, about."""
_TICKS_MAX: Final = 12


def timeline(drawn: Timeline, label: str) -> str:
    """Return the lanes of a timeline, components above pods."""
    lanes = [*drawn.components, *drawn.pods]
    height = _LANE * (len(lanes) + 1) + 8
    step = (_WIDTH - _NAMES) / drawn.columns
    parts = [*_ticks(drawn, step, height)]
    for row, lane in enumerate(lanes):
        parts += _lane(lane, row, step)
    body = "".join(parts)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(label)}">'
        f'<svg role="img" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">'
        f"<title>{escape(label)}</title>{body}</svg></div>"
    )


def _ticks(drawn: Timeline, step: float, height: int) -> Iterator[str]:
    """Yield the seconds along the top, where time moved."""
    places = [index for index, at in enumerate(drawn.moments) if not index or int(at) != int(drawn.moments[index - 1])]
    free = 0.0
    for index in places:
        x = _NAMES + index * step
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="16" y2="{height}"/>'
        if x >= free:
            yield f'<text class="soft" x="{x:.1f}" y="12">{drawn.moments[index]:.0f} s</text>'
            free = x + (_WIDTH - _NAMES) / _TICKS_MAX


def _lane(lane: Lane, row: int, step: float) -> Iterator[str]:
    y = _LANE * (row + 1)
    name = f"{lane.name} (+{lane.like} like it)" if lane.like else lane.name
    yield f'<text x="0" y="{y + 12}">{escape(_cut(name, _NAMES - 10))}<title>{escape(name)}</title></text>'
    for span in lane.spans:
        x, width = _NAMES + span.first * step, max(4.0, (span.last - span.first) * step)
        yield f"<g><title>{escape(f'{lane.name}: {span.text}')}</title>"
        yield f'<rect class="span-{span.tone}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_LANE - 5}" rx="2"/>'
        if (text := _cut(span.text, width - 6)) and len(text) > 3:
            yield f'<text x="{x + 3:.1f}" y="{y + 12}">{escape(text)}</text>'
        yield "</g>"
    for mark in lane.marks:
        x = _NAMES + mark.column * step
        shown = escape(f"{lane.name}: {mark.text}")
        place = f'x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + _LANE - 5}"'
        yield f'<line class="mark mark-{mark.tone}" {place}><title>{shown}</title></line>'


def _cut(text: str, width: float) -> str:
    letters = int(width / _LETTER)
    return text if len(text) <= letters else f"{text[: max(0, letters - 1)]}…"


_CELL: Final = 22


def heat(
    rows: Sequence[str], columns: Sequence[str], score: Callable[[int, int], int], written: Sequence[tuple[int, int]],
    titles: Callable[[int, int], str], label: str,
) -> str:  # fmt: skip
    """Return a map of scores: the redder, the more harm; a frame where somebody wrote both orders."""
    left, top = 74, 74
    width, height = left + _CELL * len(columns) + 4, top + _CELL * len(rows) + 4
    most = max((score(r, c) for r in range(len(rows)) for c in range(len(columns))), default=0) or 1
    parts = [
        f'<text x="{left + c * _CELL + 15}" y="{top - 6}" transform="rotate(-90 {left + c * _CELL + 15} {top - 6})">'
        f"{escape(name)}</text>"
        for c, name in enumerate(columns)
    ]
    for r, name in enumerate(rows):
        parts.append(f'<text x="0" y="{top + r * _CELL + 15}">{escape(name)}</text>')
        parts += [
            _cell(left + c * _CELL, top + r * _CELL, score(r, c) / most, titles(r, c)) for c in range(len(columns))
        ]
    parts += [
        f'<rect class="written" x="{left + c * _CELL + 1}" y="{top + r * _CELL + 1}" width="{_CELL - 2}" '
        f'height="{_CELL - 2}"/>'
        for r, c in written
    ]
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(label)}">'
        f'<svg role="img" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f"<title>{escape(label)}</title>{''.join(parts)}</svg></div>"
    )


def _cell(x: int, y: int, share: float, title: str) -> str:
    kind = "heat" if share else "heat-none"
    opacity = f' fill-opacity="{0.15 + 0.85 * share:.2f}"' if share else ""
    place = f'x="{x}" y="{y}" width="{_CELL}" height="{_CELL}"'
    return f'<rect class="{kind}" {place}{opacity}><title>{escape(title)}</title></rect>'
