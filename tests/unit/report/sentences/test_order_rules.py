"""Rules: what a set of orders has in common, in words."""

from collections.abc import Callable
from itertools import permutations

import pytest

from mockkube.explore.plans.plan import Order
from mockkube.report.sentences.order_rules import find_rule

EVERY: list[Order] = list(permutations("abcd"))


@pytest.mark.parametrize(
    ("holds", "text"),
    [
        pytest.param(lambda o: o[-1] == "a", "`a` last; the other three in any order", id="one is last"),
        pytest.param(
            lambda o: o[0] == "b" and o[-1] == "a", "`a` last; `b` first; the other two in any order", id="both ends"
        ),
        pytest.param(lambda o: o.index("a") < o.index("b"), "`a` before `b`; all else in any order", id="before"),
        pytest.param(
            lambda o: o.index("a") <= o.index("b") + 1, "`a` before `b`, or right after it; all else in any order",
            id="before or right after",
        ),
        pytest.param(lambda o: o[0] in "ab", "`a` or `b` first; all else in any order", id="one of two is first"),
        pytest.param(lambda o: True, "in any order", id="all"),
        pytest.param(lambda o: o == ("b", "a", "d", "c"), "`b`, `a`, `d`, then `c`", id="a single one"),
    ],
)  # fmt: skip
def test_a_rule_tells_the_orders_from_all_others(holds: Callable[[Order], bool], text: str) -> None:
    rule = find_rule([order for order in EVERY if holds(order)], EVERY)
    assert (rule.text, rule.exact) == (text, True)


def test_what_is_only_common_to_them_does_not_pretend_to_be_enough() -> None:
    rule = find_rule([("a", "b", "c", "d"), ("b", "a", "d", "c"), ("b", "c", "d", "a")], EVERY)
    assert not rule.exact


def test_a_rule_that_counts_on_haste_says_so() -> None:
    assert find_rule(
        [order for order in EVERY if order.index("a") <= order.index("b") + 1], EVERY
    ).needs_adjacent_changes
    assert not find_rule([order for order in EVERY if order[0] == "a"], EVERY).needs_adjacent_changes


def test_the_rule_without_haste_is_told_beside_it() -> None:
    hasty = find_rule([order for order in EVERY if order.index("a") <= order.index("b") + 1], EVERY)
    assert hasty.strict_text == "`a` before `b`; all else in any order"
