"""Paths of a plan: every order up, every order down after it, and all places of disturbances that happen once."""

from collections.abc import Iterator, Sequence
from itertools import permutations, product

from mockkube.explore.plans.plan import Direction, Disturbance, DisturbanceTiming, Order, RolloutPlan, WrittenOrder
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChangeMove:
    """A component gets its settings of this direction."""

    direction: Direction
    component: str

    def __str__(self) -> str:
        return f"{self.component} {self.direction}"


@dataclass(frozen=True, slots=True)
class DisturbanceMove:
    """A disturbance happens, once."""

    direction: Direction
    disturbance: str

    def __str__(self) -> str:
        return self.disturbance


@dataclass(frozen=True, slots=True)
class TurnMove:
    """All components have changed, and the direction down begins, perhaps with preparations.

    What runs now is what the rollback is measured by.
    """

    # Name of the written order whose preparations are played; empty: none.
    prepares: str = ""

    def __str__(self) -> str:
        return f"prepared for {self.prepares}" if self.prepares else "all have changed"


@dataclass(frozen=True, slots=True)
class RetryMove:
    """All components change up again, the last of the plan first; what waits has time to be retried."""

    def __str__(self) -> str:
        return "all change again"


Move = ChangeMove | DisturbanceMove | TurnMove | RetryMove
Moves = tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class RolloutPath:
    """A path through a plan: an order up, an order down, and the moves."""

    up: Order
    down: Order
    moves: Moves
    prepares: str = ""

    @property
    def turn_index(self) -> int:
        """Index of the move at which the direction down begins."""
        return next(index for index, move in enumerate(self.moves) if isinstance(move, TurnMove))


def list_paths(plan: RolloutPlan) -> Iterator[RolloutPath]:
    """Yield every path: all orders up by all orders down, then those with preparations."""
    orders = list(permutations(plan.components))
    for up, down in product(orders, orders):
        yield from _list_paths_of(plan, up, down, "")
    # Preparations belong to one written order down, so they are not combined with the others.
    for written in _prepared_orders(plan):
        for up in orders:
            yield from _list_paths_of(plan, up, written.order, written.name)


def _prepared_orders(plan: RolloutPlan) -> list[WrittenOrder]:
    return [written for written in plan.list_written_orders(Direction.DOWN) if written.prepare]


def _list_paths_of(plan: RolloutPlan, up: Order, down: Order, prepares: str) -> Iterator[RolloutPath]:
    combinations = product(_place_disturbances(plan, Direction.UP, up), _place_disturbances(plan, Direction.DOWN, down))
    for up_moves, down_moves in combinations:
        yield RolloutPath(up, down, (*up_moves, TurnMove(prepares), *down_moves, RetryMove()), prepares)


def _place_disturbances(plan: RolloutPlan, direction: Direction, order: Order) -> list[Moves]:
    """Return the move sequences of an order, with each once-only disturbance at each of its positions."""
    once = [one for one in plan.disturbances if one.when is DisturbanceTiming.ONCE and direction in one.directions]
    return [
        _make_moves(direction, order, list(zip(once, places, strict=True)))
        for places in _list_places(len(order), len(once))
    ]


def _list_places(steps: int, disturbances: int) -> Iterator[tuple[int, ...]]:
    """Return all combinations of places."""
    return product(range(steps), repeat=disturbances)


def _make_moves(direction: Direction, order: Order, places: Sequence[tuple[Disturbance, int]]) -> Moves:
    """Return the moves of an order with disturbances at these places."""
    moves: list[Move] = []
    for index, component in enumerate(order):
        moves.append(ChangeMove(direction, component))
        moves += [DisturbanceMove(direction, one.name) for one, place in places if place == index]
    return tuple(moves)
