"""Budgets of expressions."""

import pytest

from mockkube.apiserver.admission.policies.evaluation import (
    CelBudgetExceeded,
    CostBudget,
    EvaluationError,
    make_activation,
)
from mockkube.apiserver.admission.policies.expressions import ANY, BOOL, ExpressionScope, compile_expression

SCOPE = ExpressionScope(variables=())
SUM = compile_expression("[1, 2, 3].exists(x, x == object)", SCOPE, BOOL)


def test_what_expressions_cost_is_taken_off_the_budget():
    budget, found = CostBudget(1000), make_activation({"object": 3}, {})
    assert found.evaluate(SUM, budget) is True
    spent = 1000 - budget.left
    assert spent > 3
    small = CostBudget(2 * spent - 1)
    found.evaluate(SUM, small)
    with pytest.raises(CelBudgetExceeded, match="running out of cost budget"):
        found.evaluate(SUM, small)


def test_a_named_value_is_paid_for_once():
    scope = SCOPE.with_variable("sum", SUM)
    found, budget = make_activation({"object": 3}, {"sum": SUM}), CostBudget(1000)
    asked = compile_expression("variables.sum && variables.sum", scope, BOOL)
    assert found.evaluate(asked, budget) is True
    first = 1000 - budget.left
    found.evaluate(asked, budget)
    assert 1000 - budget.left - first < first


def test_a_named_value_without_value_says_so():
    broken = compile_expression("object.a", SCOPE, ANY)
    found = make_activation({"object": {}}, {"broken": broken})
    asked = compile_expression("variables.broken == 1", SCOPE.with_variable("broken", broken), BOOL)
    with pytest.raises(EvaluationError, match='composited variable "broken" fails to evaluate: no such key: a'):
        found.evaluate(asked, CostBudget(1000))
    with pytest.raises(EvaluationError, match="compilation error: compilation failed"):
        found.evaluate(compile_expression("object.", SCOPE, BOOL), CostBudget(1000))
