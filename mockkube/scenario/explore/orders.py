"""Paths of a plan: every order up, every order down after it, and all places of disturbances that happen once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product

from mockkube.scenario.explore.plan import Disturbance, Order, Phase, Plan, When, WrittenOrder


@dataclass(frozen=True, slots=True)
class Changes:
    """A component gets its settings of this direction."""

    phase: Phase
    component: str

    def __str__(self) -> str:
        return f"{self.component} {self.phase}"


@dataclass(frozen=True, slots=True)
class Happens:
    """A disturbance happens, once."""

    phase: Phase
    disturbance: str

    def __str__(self) -> str:
        return self.disturbance


@dataclass(frozen=True, slots=True)
class Turns:
    """All components have changed, and the direction down begins, perhaps with preparations.

    What runs now is what the rollback is measured by.
    """

    # Name of the written order whose preparations are played; empty: none.
    prepares: str = ""

    def __str__(self) -> str:
        return f"prepared for {self.prepares}" if self.prepares else "all have changed"


@dataclass(frozen=True, slots=True)
class Again:
    """All components change up again, the last of the plan first; what waits has time to be retried."""

    def __str__(self) -> str:
        return "all change again"


Move = Changes | Happens | Turns | Again
Moves = tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """A path through a plan: an order up, an order down, and the moves."""

    up: Order
    down: Order
    moves: Moves
    prepares: str = ""

    @property
    def turning(self) -> int:
        """Index of the move at which the direction down begins."""
        return next(index for index, move in enumerate(self.moves) if isinstance(move, Turns))


def walks(plan: Plan) -> Iterator[Walk]:
    """Yield every path: all orders up by all orders down, then those with preparations."""
    orders = list(permutations(plan.components))
    for up, down in product(orders, orders):
        yield from _walks(plan, up, down, "")
    # Preparations belong to one written order down, so they are not combined with the others.
    for written in _prepared(plan):
        for up in orders:
            yield from _walks(plan, up, written.order, written.name)


def _prepared(plan: Plan) -> list[WrittenOrder]:
    return [written for written in plan.written(Phase.DOWN) if written.prepare]


def _walks(plan: Plan, up: Order, down: Order, prepares: str) -> Iterator[Walk]:
    ways = product(_placed(plan, Phase.UP, up), _placed(plan, Phase.DOWN, down))
    for rising, falling in ways:
        yield Walk(up, down, (*rising, Turns(prepares), *falling, Again()), prepares)


def _placed(plan: Plan, phase: Phase, order: Order) -> list[Moves]:
    """Return the move sequences of an order, with each once-only disturbance at each of its places."""
    once = [one for one in plan.disturbances if one.when is When.ONCE and phase in one.phases]
    return [_with(phase, order, list(zip(once, places, strict=True))) for places in _places(len(order), len(once))]


def _places(steps: int, disturbances: int) -> Iterator[tuple[int, ...]]:
    """Return all combinations of places."""
    return product(range(steps), repeat=disturbances)


def _with(phase: Phase, order: Order, places: Sequence[tuple[Disturbance, int]]) -> Moves:
    """Return the moves of an order with disturbances at these places."""
    moves: list[Move] = []
    for index, component in enumerate(order):
        moves.append(Changes(phase, component))
        moves += [Happens(phase, one.name) for one, place in places if place == index]
    return tuple(moves)
