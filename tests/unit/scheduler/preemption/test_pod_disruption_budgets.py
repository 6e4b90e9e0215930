"""Budgets say which pods preemption should spare."""

import pytest

from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.preemption.pod_disruption_budgets import PodDisruptionBudgets

EARLY = "2030-01-01T00:00:00Z"


def pod(name):
    metadata = {"name": name, "namespace": "a", "uid": name, "labels": {"app": name}}
    return PodInfo({"metadata": metadata, "spec": {}})


def budget(app, allowed, *, disrupted=(), selector=None):
    return {
        "metadata": {"name": app, "namespace": "a"},
        "spec": {"selector": {"matchLabels": {"app": app}} if selector is None else selector},
        "status": {"disruptionsAllowed": allowed, "disruptedPods": dict.fromkeys(disrupted, EARLY)},
    }


def test_budgets_are_used_up_in_order():
    pods = [pod("x"), pod("y"), pod("x")]
    split = PodDisruptionBudgets([budget("x", 1)]).split_by_violation(pods)
    assert (split.violating, split.non_violating) == ([pods[2]], [pods[0], pods[1]])


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(budget("x", 0, selector={}), id="an empty selector"),
        pytest.param(budget("x", 0, disrupted=["x"]), id="a pod that is disrupted already"),
        pytest.param({**budget("x", 0), "metadata": {"name": "x", "namespace": "b"}}, id="another namespace"),
        pytest.param(
            budget("x", 0, selector={"matchExpressions": [{"key": "app", "operator": "Near"}]}), id="no selector"
        ),
    ],
)
def test_budgets_that_do_not_count_a_pod(given):
    assert PodDisruptionBudgets([given]).split_by_violation([pod("x")]).violating == []


def test_it_is_known_by_which_budgets_pods_were_told_apart():
    budgets = PodDisruptionBudgets([budget("x", 1), budget("y", 1), budget("z", 1)])
    assert [one.obj["metadata"]["name"] for one in budgets.split_by_violation([pod("x"), pod("z")]).budgets] == [
        "x",
        "z",
    ]


def test_a_budget_that_has_not_changed_stays_the_same():
    kept, changed = budget("x", 1), budget("y", 1)
    budgets = PodDisruptionBudgets([kept, changed])
    before = budgets.split_by_violation([pod("x"), pod("y")]).budgets
    budgets.replace([kept, budget("y", 0)])
    assert [one in budgets for one in before] == [True, False]


@pytest.mark.parametrize(
    ("objects", "wider"),
    [
        pytest.param([budget("x", 0)], False, id="another number"),
        pytest.param([], False, id="gone"),
        pytest.param([budget("x", 1), budget("y", 1)], True, id="one more"),
        pytest.param([budget("x", 1, selector={"matchLabels": {"app": "y"}})], True, id="another selector"),
    ],
)
def test_it_is_known_when_more_pods_may_be_protected(objects, wider):
    budgets = PodDisruptionBudgets([budget("x", 1)])
    generation, breadth = budgets.generation, budgets.selection_generation
    budgets.replace(objects)
    assert budgets.generation > generation
    assert (budgets.selection_generation > breadth) is wider
