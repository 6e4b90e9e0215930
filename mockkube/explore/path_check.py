"""Verify shared states: play a sample of paths from start to end and compare with what was combined."""

from collections.abc import Sequence

from mockkube.explore.plans.orders import Moves
from mockkube.explore.search import KnownMoves, MoveResult, PlayPaths
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.random import random_for


@dataclass(frozen=True, slots=True)
class PathDifference:
    """A path that came out differently when it was played from start to end."""

    moves: Moves
    # Index of the first move that differs.
    at: int
    expected: MoveResult
    played: MoveResult

    def __str__(self) -> str:
        path = ", ".join(map(str, self.moves[: self.at + 1]))
        return f"{path}: expected {self.expected.harm}, found {self.played.harm}"


@dataclass(frozen=True, slots=True)
class PathCheckResult:
    """Result of playing a sample of paths."""

    path_count: int
    differences: tuple[PathDifference, ...]


def check_paths(
    known: KnownMoves, paths: Sequence[Moves], play: PlayPaths, *, count: int, seed: int
) -> PathCheckResult:
    """Play a random sample of the paths on clusters of their own; compare harm, breaks and states."""
    sample = random_for(seed, "check").sample(list(paths), min(count, len(paths)))
    found = [
        one
        for played_path in play(sample)
        if (one := _find_difference(known, played_path.moves, played_path.results)) is not None
    ]
    return PathCheckResult(len(sample), tuple(found))


def _find_difference(known: KnownMoves, moves: Moves, played: Sequence[MoveResult]) -> PathDifference | None:
    known_results = known.results_along(moves)
    assert known_results is not None, "an exploration ends when every path is known"
    both = enumerate(zip(known_results, played, strict=True))
    return next((PathDifference(moves, at, one, other) for at, (one, other) in both if one != other), None)
