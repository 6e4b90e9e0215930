"""Budgets of expressions."""

import pytest

from mockkube.apiserver.admission.policies.evaluation import Budget, Failed, OutOfBudget, activation
from mockkube.apiserver.admission.policies.expressions import ANYTHING, BOOL, Scope, compiled

SCOPE = Scope(variables=())
SUM = compiled("[1, 2, 3].exists(x, x == object)", SCOPE, BOOL)


def test_what_expressions_cost_is_taken_off_the_budget():
    budget, found = Budget(1000), activation({"object": 3}, {})
    assert found.evaluate(SUM, budget) is True
    spent = 1000 - budget.left
    assert spent > 3
    small = Budget(2 * spent - 1)
    found.evaluate(SUM, small)
    with pytest.raises(OutOfBudget, match="running out of cost budget"):
        found.evaluate(SUM, small)


def test_a_named_value_is_paid_for_once():
    scope = SCOPE.naming("sum", SUM)
    found, budget = activation({"object": 3}, {"sum": SUM}), Budget(1000)
    asked = compiled("variables.sum && variables.sum", scope, BOOL)
    assert found.evaluate(asked, budget) is True
    first = 1000 - budget.left
    found.evaluate(asked, budget)
    assert 1000 - budget.left - first < first


def test_a_named_value_without_value_says_so():
    broken = compiled("object.a", SCOPE, ANYTHING)
    found = activation({"object": {}}, {"broken": broken})
    asked = compiled("variables.broken == 1", SCOPE.naming("broken", broken), BOOL)
    with pytest.raises(Failed, match='composited variable "broken" fails to evaluate: no such key: a'):
        found.evaluate(asked, Budget(1000))
    with pytest.raises(Failed, match="compilation error: compilation failed"):
        found.evaluate(compiled("object.", SCOPE, BOOL), Budget(1000))
