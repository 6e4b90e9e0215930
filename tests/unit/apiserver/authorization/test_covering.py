import pytest

from mockkube.apiserver.authorization.covering import missing
from mockkube.apiserver.authorization.rules import Rule

PODS = Rule(("get",), ("",), ("pods",))


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        pytest.param(Rule(("*",), ("*",), ("*",)), Rule(("fly",), ("x",), ("a", "b/c"), ("n",)), id="everything"),
        pytest.param(Rule(("get", "list"), ("",), ("pods",)), PODS, id="more verbs"),
        pytest.param(PODS, Rule(("get",), ("",), ("pods",), ("a",)), id="all names cover one"),
        pytest.param(Rule(("get",), ("",), ("*/log",)), Rule(("get",), ("",), ("pods/log",)), id="part of everything"),
        pytest.param(Rule(("get",), urls=("/a/*",)), Rule(("get",), urls=("/a/b",)), id="what begins so"),
    ],
)
def test_nothing_is_missing_from_what_a_rule_covers(held, wanted):
    assert missing([held], [wanted]) == []


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        pytest.param(Rule(("get",), ("",), ("pods",), ("a",)), PODS, id="one name covers not all"),
        pytest.param(Rule(("get",), ("apps",), ("pods",)), PODS, id="another group"),
        pytest.param(Rule(("*",), ("*",), ("*",)), Rule(("get",), urls=("/x",)), id="resources cover no path"),
        pytest.param(Rule(("get",), ("",), ("*/log",)), PODS, id="parts cover not the whole"),
    ],
)
def test_what_no_rule_covers_is_missing(held, wanted):
    assert missing([held], [wanted]) == [wanted]


def test_two_rules_cover_together_what_neither_covers_alone():
    wanted = Rule(("get", "list"), ("",), ("pods",))
    assert missing([PODS, Rule(("list",), ("",), ("pods",))], [wanted]) == []


def test_missing_verbs_of_one_resource_are_told_together_in_the_order_they_stand():
    wanted = [Rule(("list", "get"), ("",), ("pods", "nodes")), Rule(("create",), ("",), ("pods",))]
    assert missing([], wanted) == [
        Rule(("list", "get", "create"), ("",), ("pods",)),
        Rule(("list", "get"), ("",), ("nodes",)),
    ]


def test_each_missing_path_is_told_alone():
    wanted = Rule(("get", "head"), urls=("/a",))
    assert missing([], [wanted]) == [Rule(("get",), urls=("/a",)), Rule(("head",), urls=("/a",))]
