"""Half-way states that an order passes through: what users create in one may not work until the others follow."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from mockkube.atlas.gate_entry import FlipVerdict, GateOrderResult, HalfWayState
from mockkube.explore.plans.plan import Direction
from mockkube.features.components import API_SERVER


def judge_passed_states(
    results: Sequence[GateOrderResult], states: Sequence[HalfWayState], direction: Direction
) -> tuple[GateOrderResult, ...]:
    """Return the results; a safe order differs if new objects are affected in a state that it passes through."""
    return tuple(_judge(one, states, direction) for one in results)


def _judge(result: GateOrderResult, states: Sequence[HalfWayState], direction: Direction) -> GateOrderResult:
    if result.verdict is not FlipVerdict.SAFE:
        return result
    affected = [line for on in _list_passed(result.order, direction) for line in _find_effects(on, states)]
    if not affected:
        return result
    return replace(result, verdict=FlipVerdict.DIFFERS, differences=tuple(f"meanwhile, {line}" for line in affected))


def _list_passed(order: Sequence[str], direction: Direction) -> Iterator[frozenset[str]]:
    """Yield the components that have the gate on in each state between the first and the last."""
    for count in range(1, len(order)):
        yield frozenset(order[:count] if direction is Direction.UP else order[count:])


def _find_effects(on: Collection[str], states: Sequence[HalfWayState]) -> Iterator[str]:
    """Yield what is different for new objects, unless everything is as with the gate on, or off, everywhere."""
    everywhere = max((state.on for state in states), key=len)
    if API_SERVER in everywhere and API_SERVER not in on:
        return  # users do not use a feature that the API server refuses or drops
    state = next(state for state in states if frozenset(state.on) == on)
    if not state.like:
        # What a node reports about itself affects no user, and what ends alike is only later.
        yield from (line for line in state.differences if not line.startswith(("Node ", "the same end")))
