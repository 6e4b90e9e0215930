import pytest

from mockkube.apiserver.authorization.rules import Rule
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import Attributes

JANE = User("jane")


def asks(verb="get", group="", resource="pods", subresource="", name=""):
    return Attributes(JANE, verb, group, resource, subresource, "ns", name)


@pytest.mark.parametrize(
    ("rule", "asked", "allowed"),
    [
        pytest.param(Rule(("get",), ("",), ("pods",)), asks(), True, id="named verb, group and resource"),
        pytest.param(Rule(("list",), ("",), ("pods",)), asks(), False, id="another verb"),
        pytest.param(Rule(("get",), ("apps",), ("pods",)), asks(), False, id="another group"),
        pytest.param(Rule(("get",), ("",), ("nodes",)), asks(), False, id="another resource"),
        pytest.param(Rule(("*",), ("*",), ("*",)), asks(subresource="log"), True, id="everything"),
        pytest.param(
            Rule(("get",), ("",), ("pods",)), asks(subresource="log"), False, id="not the parts of a resource"
        ),
        pytest.param(Rule(("get",), ("",), ("pods/log",)), asks(subresource="log"), True, id="a part of a resource"),
        pytest.param(Rule(("get",), ("",), ("pods/log",)), asks(), False, id="a part is not the whole"),
        pytest.param(Rule(("get",), ("",), ("*/log",)), asks(subresource="log"), True, id="that part of everything"),
        pytest.param(Rule(("get",), ("",), ("pods/*",)), asks(subresource="log"), False, id="no star for the part"),
        pytest.param(Rule(("get",), ("",), ("pods",), ("a",)), asks(name="a"), True, id="a name"),
        pytest.param(Rule(("get",), ("",), ("pods",), ("a",)), asks(name="b"), False, id="another name"),
        pytest.param(Rule(("get",), ("",), ("pods",), ("a",)), asks(), False, id="a name is missing"),
        pytest.param(Rule(("get",), urls=("*",)), asks(), False, id="paths are no resources"),
    ],
)
def test_a_rule_allows_what_it_names(rule, asked, allowed):
    assert rule.allows(asked) is allowed


@pytest.mark.parametrize(
    ("url", "path", "allowed"),
    [
        pytest.param("/healthz", "/healthz", True, id="the path"),
        pytest.param("/healthz", "/healthz/etcd", False, id="not below it"),
        pytest.param("/healthz/*", "/healthz/etcd", True, id="what begins so"),
        pytest.param("/healthz/*", "/healthz", False, id="the path itself is not below it"),
        pytest.param("*", "/", True, id="every path"),
    ],
)
def test_a_rule_allows_paths(url, path, allowed):
    assert Rule(("get",), urls=(url,)).allows(Attributes(JANE, "get", path=path)) is allowed


def test_a_rule_for_resources_allows_no_path():
    assert not Rule(("*",), ("*",), ("*",)).allows(Attributes(JANE, "get", path="/healthz"))


def test_a_rule_is_read_from_a_role_and_written_back():
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}
    assert Rule.read(rule).to_object() == rule
    paths = {"verbs": ["get"], "nonResourceURLs": ["/x"]}
    assert Rule.read(paths).to_object() == paths


def test_a_rule_is_printed_as_go_prints_it():
    rule = Rule(("get", "list"), ("", "apps"), ("pods",), ("a",))
    text = '{APIGroups:["" "apps"], Resources:["pods"], ResourceNames:["a"], Verbs:["get" "list"]}'
    assert str(rule) == text
    assert str(Rule(("get",), urls=("/x",))) == '{NonResourceURLs:["/x"], Verbs:["get"]}'
