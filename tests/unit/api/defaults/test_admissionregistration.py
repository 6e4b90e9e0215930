import pytest

from mockkube.api.kinds.admissionregistration import defaults
from mockkube.features.capabilities import Capabilities

CAPS = Capabilities()
MATCHING = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}


@pytest.mark.parametrize(
    ("default", "reinvocation"),
    [(defaults.default_validating_webhooks, {}), (defaults.default_mutating_webhooks, {"reinvocationPolicy": "Never"})],
)
def test_webhooks_fail_closed_within_ten_seconds(default, reinvocation):
    webhook = {
        "name": "w",
        "clientConfig": {"service": {"name": "s", "namespace": "n"}},
        "rules": [{"resources": ["pods"]}, {"scope": "Cluster"}],
    }
    default({"metadata": {}, "webhooks": [webhook]}, CAPS)
    assert webhook == {
        "name": "w",
        "clientConfig": {"service": {"name": "s", "namespace": "n", "port": 443}},
        "rules": [{"resources": ["pods"], "scope": "*"}, {"scope": "Cluster"}],
        "failurePolicy": "Fail",
        "timeoutSeconds": 10,
        **MATCHING,
        **reinvocation,
    }


def test_a_webhook_by_url_has_no_port():
    webhook = {"clientConfig": {"url": "https://w"}}
    defaults.default_validating_webhooks({"webhooks": [webhook]}, CAPS)
    assert webhook["clientConfig"] == {"url": "https://w"}


def test_a_policy_fails_closed():
    obj = {"spec": {"matchConstraints": {"resourceRules": [{}], "excludeResourceRules": [{}]}}, "status": {}}
    defaults.default_policy(obj, CAPS)
    assert obj["spec"] == {
        "failurePolicy": "Fail",
        "matchConstraints": {**MATCHING, "resourceRules": [{"scope": "*"}], "excludeResourceRules": [{"scope": "*"}]},
    }


def test_a_binding_says_what_it_matches_only_when_asked():
    obj = {"spec": {"policyName": "p", "matchResources": {}}}
    defaults.default_policy_binding(obj, CAPS)
    assert obj["spec"] == {"policyName": "p", "matchResources": MATCHING}
    bare = {"spec": {"policyName": "p", "paramRef": {"name": "q"}}}
    defaults.default_policy_binding(bare, CAPS)
    assert bare["spec"] == {"policyName": "p", "paramRef": {"name": "q"}}


def test_in_alpha_a_parameter_that_is_missing_denies():
    obj = {"spec": {"paramRef": {"name": "q"}}}
    defaults.default_policy_binding_v1alpha1(obj, CAPS)
    assert obj["spec"]["paramRef"] == {"name": "q", "parameterNotFoundAction": "Deny"}
