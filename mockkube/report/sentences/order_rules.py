"""Rules that a set of orders has in common: which component is first, last, or before another."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from mockkube.explore.plans.plan import Order
from mockkube.lazy_dataclasses import dataclass
from mockkube.report.wording import join_words, spell_number

# A rule with more clauses is too long to remember; what orders have in common is shown instead.
_CLAUSES_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class Clause:
    """A relation that some orders have."""

    text: str
    cost: float
    """Rules with the lowest sum of costs are preferred."""
    orders: frozenset[Order]
    about: frozenset[str]
    strict_text: str = ""
    """For a clause that allows a component right after another: the same without that exception."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The relations that all orders of a set have."""

    text: str
    exact: bool
    """Whether every order that follows the rule is one of the set."""
    needs_adjacent_changes: bool = False
    """Whether some orders follow it only because a component changes right after another."""
    strict_text: str = ""
    """The rule without that exception."""


def find_rule(orders: Iterable[Order], every: Sequence[Order]) -> Rule:
    """Return the shortest rule that only these orders follow; else the clauses that they have in common."""
    wanted = frozenset(orders)
    if not wanted or len(wanted) == len(every):
        return Rule("in any order" if wanted else "in no order", exact=True)
    if len(wanted) == 1:
        return Rule(join_words(f"`{name}`" for name in next(iter(wanted))).replace(" and ", ", then "), exact=True)
    common = [one for one in _list_clauses(every) if wanted <= one.orders and len(one.orders) < len(every)]
    if (chosen := _find_exact_clauses(common, wanted)) is not None:
        firm = [replace(one, text=one.strict_text or one.text) for one in chosen]
        needs_adjacent_changes = any(one.strict_text for one in chosen)
        return Rule(
            _join_clauses(chosen, every[0]),
            exact=True,
            needs_adjacent_changes=needs_adjacent_changes,
            strict_text=_join_clauses(firm, every[0]),
        )
    chosen = _narrow_down(common, wanted, frozenset(every))
    return Rule("; ".join(one.text for one in chosen), exact=False)


def _find_exact_clauses(common: Sequence[Clause], wanted: frozenset[Order]) -> list[Clause] | None:
    found: list[tuple[float, int, list[Clause]]] = []
    for size in range(1, _CLAUSES_MAX + 1):
        for place, chosen in enumerate(combinations(common, size)):
            if frozenset.intersection(*(one.orders for one in chosen)) == wanted:
                # The place breaks ties: clauses cannot be compared.
                found.append((sum(one.cost for one in chosen), place, list(chosen)))
        if found:
            return min(found)[2]
    return None


def _narrow_down(common: Sequence[Clause], wanted: frozenset[Order], left: frozenset[Order]) -> list[Clause]:
    """Return common clauses that as few other orders as possible follow."""
    chosen: list[Clause] = []
    while len(chosen) < _CLAUSES_MAX and left != wanted and common:
        best = min(common, key=lambda one: (len(one.orders & left), one.cost))
        if not left - best.orders:
            break
        chosen.append(best)
        left &= best.orders
    return chosen


def _join_clauses(chosen: Sequence[Clause], names: Order) -> str:
    named = frozenset[str]().union(*(one.about for one in chosen))
    rest = len(names) - len(named)
    text = "; ".join(one.text for one in chosen)
    if not rest:
        return text
    plain = all(len(one.about) == 1 for one in chosen)
    return f"{text}; {f'the other {spell_number(rest)}' if plain else 'all else'} in any order"


def _list_clauses(every: Sequence[Order]) -> Iterator[Clause]:
    names = sorted(every[0], key=every[0].index)
    for name in names:
        yield from _end_clauses(every, name)
    for one, two in combinations(names, 2):
        yield from _pair_clauses(every, one, two)
        yield from _pair_clauses(every, two, one)
        yield from _joint_clauses(every, one, two)


def _end_clauses(every: Sequence[Order], name: str) -> Iterator[Clause]:
    yield _make_clause(every, f"`{name}` last", 1.0, {name}, lambda order: order[-1] == name)
    yield _make_clause(every, f"`{name}` first", 1.0, {name}, lambda order: order[0] == name)
    yield _make_clause(every, f"`{name}` not last", 1.7, {name}, lambda order: order[-1] != name)
    yield _make_clause(every, f"`{name}` not first", 1.7, {name}, lambda order: order[0] != name)


def _pair_clauses(every: Sequence[Order], one: str, two: str) -> Iterator[Clause]:
    def right_after(order: Order) -> bool:
        return order.index(one) <= order.index(two) + 1

    yield _make_clause(
        every, f"`{one}` before `{two}`", 1.2, {one, two}, lambda order: order.index(one) < order.index(two)
    )
    before = f"`{one}` before `{two}`"
    yield _make_clause(every, f"{before}, or right after it", 1.8, {one, two}, right_after, strict_text=before)


def _joint_clauses(every: Sequence[Order], one: str, two: str) -> Iterator[Clause]:
    pair = {one, two}
    yield _make_clause(every, f"`{one}` or `{two}` first", 1.5, pair, lambda order: order[0] in pair)
    yield _make_clause(every, f"`{one}` or `{two}` last", 1.5, pair, lambda order: order[-1] in pair)
    # Of three components, two first is the same as the third last.
    if len(every[0]) > len(pair) + 1:
        yield _make_clause(every, f"`{one}` and `{two}` first", 1.6, pair, lambda order: set(order[:2]) == pair)
        yield _make_clause(every, f"`{one}` and `{two}` last", 1.6, pair, lambda order: set(order[-2:]) == pair)


def _make_clause(
    every: Sequence[Order], text: str, cost: float, about: set[str], holds: Callable[[Order], bool], *,
    strict_text: str = "",
) -> Clause:  # fmt: skip
    return Clause(text, cost, frozenset(order for order in every if holds(order)), frozenset(about), strict_text)
