"""Verify shared steps: play a sample of paths from start to end and compare with what was combined."""

from collections.abc import Sequence
from dataclasses import dataclass

from mockkube.runtime.chance import random_for
from mockkube.scenario.explore.orders import Moves
from mockkube.scenario.explore.search import Known, Play, Taken


@dataclass(frozen=True, slots=True)
class Difference:
    """A path that came out differently when it was played from start to end."""

    moves: Moves
    # Index of the first move that differs.
    at: int
    told: Taken
    played: Taken

    def __str__(self) -> str:
        way = ", ".join(map(str, self.moves[: self.at + 1]))
        return f"{way}: told {self.told.harm}, played {self.played.harm}"


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of playing a sample of paths."""

    ways: int
    differences: tuple[Difference, ...]


def check(known: Known, ways: Sequence[Moves], play: Play, *, count: int, seed: int) -> Checked:
    """Play a random sample of the paths on clusters of their own; compare harm, breaks and states."""
    drawn = random_for(seed, "check").sample(list(ways), min(count, len(ways)))
    found = [one for walked in play(drawn) if (one := _difference(known, walked.moves, walked.taken)) is not None]
    return Checked(len(drawn), tuple(found))


def _difference(known: Known, moves: Moves, played: Sequence[Taken]) -> Difference | None:
    told = known.along(moves)
    assert told is not None, "an exploration ends when every walk is known"
    both = enumerate(zip(told, played, strict=True))
    return next((Difference(moves, at, one, other) for at, (one, other) in both if one != other), None)
