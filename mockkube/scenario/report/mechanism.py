"""What each component does to an order by its place: what all orders have in common that begin or end with it."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from mockkube.scenario.explore.plan import Phase
from mockkube.scenario.explore.verdict import OrderVerdict
from mockkube.scenario.report.meaning import broken, meanings, said
from mockkube.scenario.report.wording import listed


def told(orders: Sequence[OrderVerdict], phase: Phase) -> str:
    """Return it in a line; on the way up the last component tells most, on the way down the first.

    Up, everybody else has changed before the last: what is off then does its own harm. Down, it is the other way round.
    """
    place, word = (-1, "last") if phase is Phase.UP else (0, "first")
    always = set.intersection(*(set(broken(one)) for one in orders))
    found = [(_brought(orders, place, name, always), name) for name in sorted({one.order[place] for one in orders})]
    parts = list(_parts(found, word))
    common = [each for one in orders for each in one.worst.breaks if each.invariant in always]
    every = f" All orders without preparation bring: {said(common)}." if common else ""
    return f"In short, what all orders have in common by the component that changes {word}: {'; '.join(parts)}.{every}"


def _brought(orders: Sequence[OrderVerdict], place: int, name: str, always: set[str]) -> str:
    some = [one for one in orders if one.order[place] == name]
    shared = set.intersection(*(set(broken(one)) for one in some)) - always
    text = listed(meanings(each for one in some for each in one.worst.breaks if each.invariant in shared))
    if text:
        return text
    return "nothing" if all(set(broken(one)) <= always for one in some) else "nothing that all of them share"


def _parts(found: Sequence[tuple[str, str]], word: str) -> Iterator[str]:
    for text, group in groupby(sorted(found), key=lambda one: one[0]):
        yield f"{listed((f'`{name}`' for _, name in group), 'or')} {word}: {text}"
