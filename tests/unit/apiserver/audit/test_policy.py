"""Audit policies: the first rule that matches decides."""

import pytest

from mockkube.apiserver.audit.policy import Level, PolicyError, parse_policy
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes

HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
JANE = User("jane", groups=("system:authenticated", "devs"))
GET_POD = AuthorizationAttributes(JANE, "get", "", "pods", "", "default", "p1")
POD_LOG = AuthorizationAttributes(JANE, "get", "", "pods", "log", "default", "p1")
LIST_DEPLOYMENTS = AuthorizationAttributes(JANE, "list", "apps", "deployments", "", "prod")
HEALTHZ = AuthorizationAttributes(JANE, "get", path="/healthz/ping")


@pytest.mark.parametrize(
    ("rule", "matching"),
    [
        ("{}", [GET_POD, POD_LOG, LIST_DEPLOYMENTS, HEALTHZ]),
        ("{users: [jane]}", [GET_POD, POD_LOG, LIST_DEPLOYMENTS, HEALTHZ]),
        ("{users: [joe]}", []),
        ("{userGroups: [other, devs]}", [GET_POD, POD_LOG, LIST_DEPLOYMENTS, HEALTHZ]),
        ("{verbs: [list]}", [LIST_DEPLOYMENTS]),
        ("{namespaces: [prod]}", [LIST_DEPLOYMENTS]),
        ("{nonResourceURLs: ['/healthz*']}", [HEALTHZ]),
        ("{nonResourceURLs: ['/healthz']}", []),
        ("{nonResourceURLs: ['*']}", [HEALTHZ]),
        ("{resources: [{group: ''}]}", [GET_POD, POD_LOG]),
        ("{resources: [{group: '*'}]}", [GET_POD, POD_LOG, LIST_DEPLOYMENTS]),
        ("{resources: [{group: '', resources: [pods]}]}", [GET_POD]),
        ("{resources: [{group: '', resources: [pods/log]}]}", [POD_LOG]),
        ("{resources: [{group: '', resources: ['pods/*']}]}", [GET_POD, POD_LOG]),
        ("{resources: [{group: '', resources: ['*/log']}]}", [POD_LOG]),
        ("{resources: [{group: '', resources: ['*'], resourceNames: [p2]}]}", []),
        ("{resources: [{group: '', resources: ['*'], resourceNames: [p1]}]}", [GET_POD, POD_LOG]),
    ],
)
def test_rules(rule: str, matching: list[AuthorizationAttributes]) -> None:
    policy = parse_policy(f"{HEAD}rules:\n- {rule[:-1]}{', ' if rule != '{}' else ''}level: Request}}\n".encode())
    requests = [GET_POD, POD_LOG, LIST_DEPLOYMENTS, HEALTHZ]
    assert [one for one in requests if policy.evaluate(one).level is Level.REQUEST] == matching


def test_stages_and_managed_fields_of_a_rule_are_added_to_those_of_the_policy() -> None:
    policy = parse_policy(
        f"{HEAD}omitStages: [RequestReceived]\nomitManagedFields: true\nrules:\n"
        "- {level: Metadata, users: [joe]}\n"
        "- {level: RequestResponse, omitStages: [Panic], omitManagedFields: false}\n".encode()
    )
    config = policy.evaluate(GET_POD)
    assert config.omit_stages == {"RequestReceived", "Panic"}
    assert not config.omit_managed_fields


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[]", "failed decoding: .*expected kind Policy of audit.k8s.io/v1"),
        ("apiVersion: v1\nkind: Pod\n", 'no kind "Pod" is registered for version "v1"'),
        (f"{HEAD}rules: []\n", "loaded illegal policy with 0 rules"),
        (f"{HEAD}rules: [{{}}]\n", r"rules\[0\].level: Required value"),
        (f"{HEAD}rules: [{{level: All}}]\n", r'rules\[0\].level: Unsupported value: "All"'),
        (f"{HEAD}rules: [{{level: None, nonResourceURLs: [x]}}]\n", "must begin with a '/' character"),
        (f"{HEAD}rules: [{{level: None, omitStages: [x]}}]\n", r"rules\[0\].omitStages\[0\]: Invalid value"),
        (
            f"{HEAD}rules: [{{level: None, namespaces: [a], nonResourceURLs: [/x]}}]\n",
            "rules cannot apply to both regular resources and non-resource URLs",
        ),
    ],
)
def test_errors(text: str, error: str) -> None:
    with pytest.raises(PolicyError, match=error):
        parse_policy(text.encode())
