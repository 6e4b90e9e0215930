"""Widths of text, estimated: pictures are drawn without the fonts in which they are shown."""

from collections.abc import Iterator
from typing import Final

# In parts of the size, for a wide font (DejaVu Sans), so that text fits in narrower ones.
_NARROW: Final = frozenset("iIjl.,:;'|!()[]-ftr /")
_WIDE: Final = frozenset("mwMW@%→…")
_WIDTHS: Final = (0.4, 0.63, 0.95, 0.72)
_BOLD: Final = 1.1
_MONO: Final = 0.61
# Fewer letters say less than one.
_BEGINNING_MIN: Final = 6


def measure(text: str, size: float, *, bold: bool = False, mono: bool = False) -> float:
    """Return the estimated width of a text."""
    if mono:
        return len(text) * size * _MONO
    narrow, usual, wide, capital = _WIDTHS
    parts = sum(
        narrow if one in _NARROW else wide if one in _WIDE else capital if one.isupper() else usual for one in text
    )
    return parts * size * (_BOLD if bold else 1)


def fit(text: str, width: float, size: float) -> str:
    """Return as much of a text as fits: all, its beginning, its first letter, or nothing."""
    short = shorten(text, width, size)
    if short == text or len(short) > _BEGINNING_MIN:
        return short
    return text[:1].upper() if measure(text[:1].upper(), size) <= width else ""


def shorten(text: str, width: float, size: float, *, mono: bool = False) -> str:
    """Return the text, with an ellipsis at its end if it is too long."""
    if measure(text, size, mono=mono) <= width:
        return text
    while text and measure(f"{text}…", size, mono=mono) > width:
        text = text[:-1]
    return f"{text.rstrip()}…"


def wrap(text: str, width: float, size: float, *, bold: bool = False, lines_max: int = 0) -> list[str]:
    """Return the lines of a text; beyond so many, the last one ends with an ellipsis."""
    lines = list(_wrap(text, width, size, bold=bold))
    if lines_max and len(lines) > lines_max:
        rest = " ".join(lines[lines_max - 1 :])
        return [*lines[: lines_max - 1], shorten(rest, width / (_BOLD if bold else 1), size)]
    return lines


def _wrap(text: str, width: float, size: float, *, bold: bool) -> Iterator[str]:
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and measure(longer, size, bold=bold) > width:
            yield line
            line = word
        else:
            line = longer
    if line:
        yield line
