"""Walks the walks of a plan, and never takes the same step in the same state twice.

Where a step leads depends on the state of the cluster and on the step alone. So what a walk does is known up to the
first pair of them that is new; only such walks are walked, and every other is put together of what is known.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from mockkube.scenario.explore.harm import Harm
from mockkube.scenario.explore.orders import Move, Moves

BATCH_MAX: Final = 6
"""Walks that are played before it is asked again what is still unknown: each may make others needless."""

State = str
"""What identifies a state of the cluster: all that matters for what happens next."""


@dataclass(frozen=True, slots=True)
class Break:
    """An invariant that did not hold."""

    invariant: str
    text: str
    workload: str = ""
    """Whose pods it is about, as `deployment/web`."""
    ran: bool = field(default=False, compare=False)
    """Whether it befell a pod that ran when the step began: among several that are equal, which is chance."""
    passing: bool = field(default=False, compare=False)
    """Whether it is over at the end of the step: it held before something else happened in the same step."""


def once(breaks: Iterable[Break]) -> tuple[Break, ...]:
    """Return breaks without those that are equal to others; of equal ones that of a pod that ran."""
    found: dict[Break, Break] = {}
    for one in breaks:
        if one.ran or one not in found:
            found[one] = one
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Taken:
    """What a step did, and the state it led to."""

    harm: Harm
    breaks: tuple[Break, ...]
    state: State
    exercised: frozenset[str] = frozenset()
    """The components that had something to decide in it."""
    eventful: bool = True
    """Whether anything was created, changed, ended or restarted in it, beside the component that changes."""
    accepted: frozenset[str] = field(default=frozenset(), compare=False)
    """The actions of the plan that were accepted in it or before it."""
    refused: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Those that were refused, with the reason."""


@dataclass(slots=True)
class Known:
    """What is known of a plan so far."""

    start: State = ""
    steps: dict[tuple[State, Move], Taken] = field(default_factory=dict)
    played: int = 0
    """How many steps were taken on clusters, those that were known already among them."""
    surprises: list[tuple[State, Move]] = field(default_factory=list)
    """Steps that were played again and came out otherwise: what identifies their state leaves out what matters."""
    doubts: int = 0
    """How many of these broke other invariants that time."""

    def along(self, moves: Moves) -> Sequence[Taken] | None:
        """Return what the moves do one after the other; None if that is not known to the end."""
        state, taken = self.start, []
        for move in moves:
            step = self.steps.get((state, move))
            if step is None:
                return None
            taken.append(step)
            state = step.state
        return taken

    def known_up_to(self, moves: Moves) -> tuple[State, int]:
        """Return how many of the moves are known from the start on, and the state after them."""
        state = self.start
        for index, move in enumerate(moves):
            step = self.steps.get((state, move))
            if step is None:
                return state, index
            state = step.state
        return state, len(moves)

    def learn(self, moves: Moves, start: State, taken: Sequence[Taken]) -> None:
        """Take in a walk that was walked."""
        state = self.start = start
        for move, step in zip(moves, taken, strict=True):
            known = self.steps.setdefault((state, move), step)
            if known != step:
                self.surprises.append((state, move))
                self.doubts += _broken(known) != _broken(step)
            state = known.state
        self.played += len(taken)

    @property
    def states(self) -> int:
        """How many different states there are."""
        return len({self.start, *(step.state for step in self.steps.values())})


def _broken(step: Taken) -> set[str]:
    return {one.invariant for one in step.breaks}


@dataclass(frozen=True, slots=True)
class Walked:
    """One walk, as it was played on a cluster."""

    moves: Moves
    start: State
    taken: tuple[Taken, ...]


Play = Callable[[Sequence[Moves]], Iterable[Walked]]
"""Plays walks on clusters of their own, all of them, in any order."""


def explore(ways: Sequence[Moves], play: Play, told: Callable[[int], None] = lambda left: None) -> Known:
    """Return enough to know every way; `told` is told how many ways are still unknown."""
    known = Known()
    unknown: Sequence[Moves] = list(dict.fromkeys(ways))
    batch = list(_cover(unknown))
    while batch:
        for walked in play(batch):
            known.learn(walked.moves, walked.start, walked.taken)
            unknown = [way for way in unknown if known.known_up_to(way)[1] < len(way)]
            told(len(unknown))
        batch = list(islice(_frontier(known, unknown), BATCH_MAX))
    return known


def _cover(ways: Sequence[Moves]) -> Iterator[Moves]:
    """Yield ways that would tell all if the order of what has happened did not matter; often that is nearly so."""
    wanted = {way: {(frozenset(way[:index]), move) for index, move in enumerate(way)} for way in ways}
    left = set().union(*wanted.values())
    while left:
        best = max(wanted, key=lambda way: len(wanted[way] & left))
        left -= wanted[best]
        yield best


def _frontier(known: Known, ways: Iterable[Moves]) -> Iterator[Moves]:
    """Yield one way for each step that is the first unknown one of some way, those first that have most to tell."""
    seen: dict[tuple[State, Move], tuple[int, Moves]] = {}
    for way in ways:
        state, at = known.known_up_to(way)
        seen.setdefault((state, way[at]), (at, way))
    for _, way in sorted(seen.values(), key=lambda one: one[0]):
        yield way
