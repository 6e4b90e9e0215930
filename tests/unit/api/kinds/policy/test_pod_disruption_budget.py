import pytest

from mockkube.api.kinds.policy.pod_disruption_budget import PodDisruptionBudgetStrategy

STRATEGY = PodDisruptionBudgetStrategy()


def budget(**spec):
    return {"metadata": {"name": "p"}, "spec": spec, "status": {}}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(budget(minAvailable=1, selector={}), [], id="fine"),
        pytest.param(
            budget(minAvailable=1, maxUnavailable="1%"),
            [
                'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":"1%",'
                '"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set'
            ],
            id="both bounds",
        ),
        pytest.param(
            budget(minAvailable="101%"),
            ['spec.minAvailable: Invalid value: "101%": must not be greater than 100%'],
            id="more than all",
        ),
    ],
)
def test_a_budget_is_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


def test_counts_are_not_negative(judge):
    obj = {**budget(), "status": {"currentHealthy": -1}}
    assert [error.field for error in STRATEGY.validate_update(obj, budget(), judge(subresource="status"))] == [
        "status.currentHealthy"
    ]


def test_a_new_budget_has_counted_nothing(judge):
    obj = budget()
    STRATEGY.prepare_for_create(obj, judge())
    assert set(obj["status"].values()) == {0}
    assert obj["metadata"]["generation"] == 1


def test_a_budget_is_named_like_a_step_in_a_path():
    assert STRATEGY.validate_name("*") == []
    assert STRATEGY.validate_name("a/b") == ["may not contain '/'"]


def test_a_selector_is_shown_in_the_order_of_go(judge):
    selector = {
        "matchExpressions": [{"values": ["a"], "operator": "In", "key": "k"}],
        "matchLabels": {"b": "1", "a": "2"},
    }
    obj = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "maxUnavailable": 1, "selector": selector}}
    (error,) = STRATEGY.validate(obj, judge())
    assert '"Selector":{"matchLabels":{"a":"2","b":"1"},"matchExpressions":[{"key":"k","operator":"In"' in str(error)
