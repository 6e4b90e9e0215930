import pytest

from mockkube.api.kinds.rbac.role import ClusterRoleStrategy, RoleStrategy

ROLE, CLUSTER_ROLE = RoleStrategy(), ClusterRoleStrategy()


@pytest.mark.parametrize(
    ("rule", "complaints"),
    [
        pytest.param({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}, [], id="fine"),
        pytest.param(
            {"apiGroups": [""], "resources": ["pods"]},
            ["rules[0].verbs: Required value: verbs must contain at least one value"],
            id="no verbs",
        ),
        pytest.param(
            {"verbs": ["get"]},
            [
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
            ],
            id="about nothing",
        ),
        pytest.param(
            {"verbs": ["get"], "nonResourceURLs": ["/x"]},
            ['rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs'],
            id="about paths",
        ),
    ],
)
def test_rules_are_judged(judge, rule, complaints):
    assert [str(error) for error in ROLE.validate({"metadata": {}, "rules": [rule]}, judge())] == complaints


def test_a_cluster_role_may_be_about_paths(judge):
    rule = {"verbs": ["get"], "nonResourceURLs": ["/x"]}
    assert CLUSTER_ROLE.validate({"metadata": {}, "rules": [rule]}, judge()) == []


def test_a_role_put_together_needs_parts(judge):
    (error,) = CLUSTER_ROLE.validate({"metadata": {}, "aggregationRule": {}}, judge())
    assert error.field == "aggregationRule.clusterRoleSelectors"


def test_a_selector_that_cannot_be_used_is_told_beside_what_is_wrong_with_it(judge):
    rule = {"clusterRoleSelectors": [{"matchExpressions": [{"key": "k", "operator": "In"}]}]}
    errors = ClusterRoleStrategy().validate({"metadata": {"name": "r"}, "aggregationRule": rule}, judge())
    assert [str(error) for error in errors] == [
        "aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values: Required value: "
        "must be specified when `operator` is 'In' or 'NotIn'",
        "aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.",
    ]


def test_a_role_is_named_like_a_step_in_a_path():
    assert ROLE.validate_name("system:odd") == []
    assert ROLE.validate_name("a/b") == ["may not contain '/'"]
