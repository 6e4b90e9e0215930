import pytest

from mockkube.apiserver.authorization.policy_comparator import find_missing
from mockkube.apiserver.authorization.rules import PolicyRule

PODS = PolicyRule(("get",), ("",), ("pods",))


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        pytest.param(
            PolicyRule(("*",), ("*",), ("*",)), PolicyRule(("fly",), ("x",), ("a", "b/c"), ("n",)), id="everything"
        ),
        pytest.param(PolicyRule(("get", "list"), ("",), ("pods",)), PODS, id="more verbs"),
        pytest.param(PODS, PolicyRule(("get",), ("",), ("pods",), ("a",)), id="all names cover one"),
        pytest.param(
            PolicyRule(("get",), ("",), ("*/log",)), PolicyRule(("get",), ("",), ("pods/log",)), id="part of everything"
        ),
        pytest.param(PolicyRule(("get",), urls=("/a/*",)), PolicyRule(("get",), urls=("/a/b",)), id="what begins so"),
    ],
)
def test_nothing_is_missing_from_what_a_rule_covers(held, wanted):
    assert find_missing([held], [wanted]) == []


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        pytest.param(PolicyRule(("get",), ("",), ("pods",), ("a",)), PODS, id="one name covers not all"),
        pytest.param(PolicyRule(("get",), ("apps",), ("pods",)), PODS, id="another group"),
        pytest.param(
            PolicyRule(("*",), ("*",), ("*",)), PolicyRule(("get",), urls=("/x",)), id="resources cover no path"
        ),
        pytest.param(PolicyRule(("get",), ("",), ("*/log",)), PODS, id="parts cover not the whole"),
    ],
)
def test_what_no_rule_covers_is_missing(held, wanted):
    assert find_missing([held], [wanted]) == [wanted]


def test_two_rules_cover_together_what_neither_covers_alone():
    wanted = PolicyRule(("get", "list"), ("",), ("pods",))
    assert find_missing([PODS, PolicyRule(("list",), ("",), ("pods",))], [wanted]) == []


def test_missing_verbs_of_one_resource_are_told_together_in_the_order_they_stand():
    wanted = [PolicyRule(("list", "get"), ("",), ("pods", "nodes")), PolicyRule(("create",), ("",), ("pods",))]
    assert find_missing([], wanted) == [
        PolicyRule(("list", "get", "create"), ("",), ("pods",)),
        PolicyRule(("list", "get"), ("",), ("nodes",)),
    ]


def test_each_missing_path_is_told_alone():
    wanted = PolicyRule(("get", "head"), urls=("/a",))
    assert find_missing([], [wanted]) == [PolicyRule(("get",), urls=("/a",)), PolicyRule(("head",), urls=("/a",))]
