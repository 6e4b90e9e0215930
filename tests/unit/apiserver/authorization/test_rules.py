import pytest

from mockkube.apiserver.authorization.rules import PolicyRule
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes

JANE = User("jane")


def asks(verb="get", group="", resource="pods", subresource="", name=""):
    return AuthorizationAttributes(JANE, verb, group, resource, subresource, "ns", name)


@pytest.mark.parametrize(
    ("rule", "asked", "allowed"),
    [
        pytest.param(PolicyRule(("get",), ("",), ("pods",)), asks(), True, id="named verb, group and resource"),
        pytest.param(PolicyRule(("list",), ("",), ("pods",)), asks(), False, id="another verb"),
        pytest.param(PolicyRule(("get",), ("apps",), ("pods",)), asks(), False, id="another group"),
        pytest.param(PolicyRule(("get",), ("",), ("nodes",)), asks(), False, id="another resource"),
        pytest.param(PolicyRule(("*",), ("*",), ("*",)), asks(subresource="log"), True, id="everything"),
        pytest.param(
            PolicyRule(("get",), ("",), ("pods",)), asks(subresource="log"), False, id="not the parts of a resource"
        ),
        pytest.param(
            PolicyRule(("get",), ("",), ("pods/log",)), asks(subresource="log"), True, id="a part of a resource"
        ),
        pytest.param(PolicyRule(("get",), ("",), ("pods/log",)), asks(), False, id="a part is not the whole"),
        pytest.param(
            PolicyRule(("get",), ("",), ("*/log",)), asks(subresource="log"), True, id="that part of everything"
        ),
        pytest.param(
            PolicyRule(("get",), ("",), ("pods/*",)), asks(subresource="log"), False, id="no star for the part"
        ),
        pytest.param(PolicyRule(("get",), ("",), ("pods",), ("a",)), asks(name="a"), True, id="a name"),
        pytest.param(PolicyRule(("get",), ("",), ("pods",), ("a",)), asks(name="b"), False, id="another name"),
        pytest.param(PolicyRule(("get",), ("",), ("pods",), ("a",)), asks(), False, id="a name is missing"),
        pytest.param(PolicyRule(("get",), urls=("*",)), asks(), False, id="paths are no resources"),
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
    assert PolicyRule(("get",), urls=(url,)).allows(AuthorizationAttributes(JANE, "get", path=path)) is allowed


def test_a_rule_for_resources_allows_no_path():
    assert not PolicyRule(("*",), ("*",), ("*",)).allows(AuthorizationAttributes(JANE, "get", path="/healthz"))


def test_a_rule_is_read_from_a_role_and_written_back():
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}
    assert PolicyRule.from_object(rule).to_object() == rule
    paths = {"verbs": ["get"], "nonResourceURLs": ["/x"]}
    assert PolicyRule.from_object(paths).to_object() == paths


def test_a_rule_is_printed_as_go_prints_it():
    rule = PolicyRule(("get", "list"), ("", "apps"), ("pods",), ("a",))
    text = '{APIGroups:["" "apps"], Resources:["pods"], ResourceNames:["a"], Verbs:["get" "list"]}'
    assert str(rule) == text
    assert str(PolicyRule(("get",), urls=("/x",))) == '{NonResourceURLs:["/x"], Verbs:["get"]}'
