"""Rows of tiles: one small square for each run or perturbation, colored by its result."""

from collections import Counter
from collections.abc import Sequence

from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """One result."""

    tone: str
    """`good`, `wait`, `bad`, `idle` or `none`."""
    result: str
    name: str
    href: str = ""
    """Address of its description; a tile without one is no link."""


@dataclass(frozen=True, slots=True)
class TileRow:
    """Results that belong together."""

    label: str
    tiles: Sequence[Tile]

    @property
    def words(self) -> str:
        """Number of tiles by result."""
        return "; ".join(f"{count} {result}" for result, count in Counter(one.result for one in self.tiles).items())


@dataclass(frozen=True, slots=True)
class TileKey:
    """Entry of a legend."""

    tone: str
    """Empty for a text without a color."""
    text: str
