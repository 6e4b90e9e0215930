"""The walks of a plan: every order up, every order down again, and the places of disturbances that happen once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product

from mockkube.scenario.explore.plan import Disturbance, Order, Phase, Plan, When, WrittenOrder


@dataclass(frozen=True, slots=True)
class Changes:
    """A component becomes what it is to be."""

    phase: Phase
    component: str

    def __str__(self) -> str:
        return f"{self.component} {self.phase}"


@dataclass(frozen=True, slots=True)
class Happens:
    """Something else happens, once."""

    phase: Phase
    disturbance: str

    def __str__(self) -> str:
        return self.disturbance


@dataclass(frozen=True, slots=True)
class Turns:
    """All have changed; what runs now is what the way down is measured by. Somebody may prepare for it."""

    prepares: str = ""
    """The name of the written order whose preparations are made."""

    def __str__(self) -> str:
        return f"prepared for {self.prepares}" if self.prepares else "all have changed"


@dataclass(frozen=True, slots=True)
class Again:
    """All change once more, the last of the plan first; what waits has time to be tried again."""

    def __str__(self) -> str:
        return "all change again"


Move = Changes | Happens | Turns | Again
Moves = tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """One way through a plan."""

    up: Order
    down: Order
    moves: Moves
    prepares: str = ""

    @property
    def turning(self) -> int:
        """Where in the moves the way down begins."""
        return next(index for index, move in enumerate(self.moves) if isinstance(move, Turns))


def walks(plan: Plan) -> Iterator[Walk]:
    """Yield every walk: orders up by orders down, then those whose way down somebody prepares."""
    orders = list(permutations(plan.components))
    for up, down in product(orders, orders):
        yield from _walks(plan, up, down, "")
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
    """Return the ways to go through an order, with each disturbance that happens once at each of its places."""
    once = [one for one in plan.disturbances if one.when is When.ONCE and phase in one.phases]
    return [_with(phase, order, list(zip(once, places, strict=True))) for places in _places(len(order), len(once))]


def _places(steps: int, disturbances: int) -> Iterator[tuple[int, ...]]:
    return product(range(steps), repeat=disturbances)


def _with(phase: Phase, order: Order, places: Sequence[tuple[Disturbance, int]]) -> Moves:
    moves: list[Move] = []
    for index, component in enumerate(order):
        moves.append(Changes(phase, component))
        moves += [Happens(phase, one.name) for one, place in places if place == index]
    return tuple(moves)
