"""Map of harm: every order up with every order down, and the shades of its cells."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from mockkube.lazy_dataclasses import dataclass

# Harm above which a cell of the map is a shade darker. Steps grow: where harm is high, small differences say little.
SHADES: Final = (0, 50, 150, 400, 800)


def shade(score: int) -> int:
    """Return the number of the shade of a score."""
    return sum(score > one for one in SHADES)


def shade_labels(most: int) -> list[str]:
    """Return a label for each shade up to the highest harm."""
    labels = ["0 (no harm)", *(f"{low + 1} to {high}" for low, high in pairwise(SHADES) if low < most)]
    return labels + ([f"more than {SHADES[-1]}"] if most > SHADES[-1] else [])


@dataclass(frozen=True, slots=True)
class HarmMap:
    """Harm of each order up (rows) with each order down (columns)."""

    rows: Sequence[str]
    columns: Sequence[str]
    scores: Mapping[tuple[int, int], int]
    framed: Sequence[tuple[int, int]]
    """Cells of two orders that the document prescribes."""
