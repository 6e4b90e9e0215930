from mockkube.api.catalogue import KINDS
from mockkube.api.fields import invalid
from mockkube.api.kinds.catalogue import STRATEGIES, Hooks, strategies


def test_every_strategy_belongs_to_a_kind():
    assert set(STRATEGIES) <= {(kind.group, kind.kind) for kind in KINDS}


def test_what_is_lent_reaches_the_strategies(judge):
    def refuse(expression, at, judge, stored):
        return [invalid(at, expression, "refused")]

    lent = strategies(Hooks(device_expression=refuse))
    obj = {"metadata": {"name": "c"}, "spec": {"selectors": [{"cel": {"expression": "x"}}]}}
    assert [error.detail for error in lent["resource.k8s.io", "DeviceClass"].validate_create(obj, judge())] == [
        "refused"
    ]
    assert STRATEGIES["resource.k8s.io", "DeviceClass"].validate_create(obj, judge()) == []


def test_every_strategy_answers_for_the_fields_it_names():
    minimal = {"metadata": {"name": "n"}, "spec": {}, "status": {}}
    for (group, kind), strategy in STRATEGIES.items():
        assert set(strategy.fields(minimal)) >= set(strategy.selectable), (group, kind)


def test_some_groups_let_finalizers_be_any_qualified_name():
    asked = {name for name, strategy in STRATEGIES.items() if not strategy.native}
    groups = {group for group, kind in asked}
    assert groups == {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "coordination.k8s.io",
        "node.k8s.io",
        "policy",
    }
