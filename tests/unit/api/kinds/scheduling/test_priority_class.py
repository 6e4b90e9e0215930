import pytest

from mockkube.api.kinds.scheduling.priority_class import PriorityClassStrategy

STRATEGY = PriorityClassStrategy()


def priority(name="p", value=1, **fields):
    return {"metadata": {"name": name}, "value": value, **fields}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(priority(), [], id="fine"),
        pytest.param(priority("system-node-critical", 2000001000), [], id="the system's own"),
        pytest.param(
            priority("system-own"),
            [
                "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only"
                ". error: system-own is not a known system priority class"
            ],
            id="the system's name",
        ),
        pytest.param(
            priority(value=1_000_000_001),
            ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
            id="too high",
        ),
        pytest.param(
            priority(preemptionPolicy="Odd"),
            ['preemptionPolicy: Unsupported value: "Odd": supported values: "PreemptLowerPriority", "Never"'],
            id="policy",
        ),
    ],
)
def test_names_and_values_are_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


def test_value_and_policy_never_change(judge):
    new = priority(value=2, preemptionPolicy="Never")
    assert [error.field for error in STRATEGY.validate_update(new, priority(), judge())] == [
        "value",
        "preemptionPolicy",
    ]
