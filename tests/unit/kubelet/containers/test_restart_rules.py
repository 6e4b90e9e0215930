"""Which containers are started again, and when."""

import pytest

from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import Version
from mockkube.kubelet.containers.restart_rules import RestartRules


def rules(version, **gates):
    parsed = Version.parse(version)
    return RestartRules.from_capabilities(Capabilities(parsed, enabled_gates(parsed, gates, component="kubelet")))


def rule(action="Restart", operator="In", *values):
    return {"action": action, "exitCodes": {"operator": operator, "values": list(values)}}


@pytest.mark.parametrize(
    ("container", "policy", "code", "again"),
    [
        pytest.param({}, "Always", 0, True, id="always"),
        pytest.param({}, "OnFailure", 0, False, id="success on failure"),
        pytest.param({}, "OnFailure", 1, True, id="failure"),
        pytest.param({}, "Never", 1, False, id="never"),
        pytest.param({"restartPolicy": "Never"}, "Always", 1, False, id="the container's own policy"),
        pytest.param({"restartPolicy": "Never", "restartPolicyRules": [rule("Restart", "In", 42)]}, "Never", 42, True,
                     id="a rule"),
        pytest.param({"restartPolicy": "Never", "restartPolicyRules": [rule("Restart", "In", 42)]}, "Never", 1, False,
                     id="a rule for another code"),
        pytest.param({"restartPolicy": "Never", "restartPolicyRules": [rule("Restart", "NotIn", 42)]}, "Never", 1, True,
                     id="a rule for all other codes"),
    ],
)  # fmt: skip
def test_a_container_is_started_again(container, policy, code, again):
    assert rules("1.36").may_restart(container, {"spec": {"restartPolicy": policy}}, code) is again


def test_a_kubelet_that_does_not_know_rules_goes_by_the_pod():
    container = {"restartPolicy": "Never", "restartPolicyRules": [rule("Restart", "In", 1)]}
    assert rules("1.34").may_restart(container, {"spec": {"restartPolicy": "Always"}}, 0)
    assert not rules("1.34").may_restart(container, {"spec": {"restartPolicy": "Never"}}, 1)


def test_a_rule_for_all_containers_counts_where_the_gate_is_on():
    container = {"restartPolicy": "Never", "restartPolicyRules": [rule("RestartAllContainers", "In", 1)]}
    assert rules("1.36").restarts_all(container, 1)
    assert not rules("1.36").restarts_all(container, 2)
    assert not rules("1.35").restarts_all(container, 1)
    assert not rules("1.35").may_restart(container, {"spec": {"restartPolicy": "Never"}}, 1)


def test_waits_double_up_to_five_minutes():
    assert [rules("1.36").get_backoff_seconds(restarts) for restarts in range(8)] == [0, 10, 20, 40, 80, 160, 300, 300]


def test_waits_are_shorter_where_the_gate_says_so():
    quick = rules("1.36", ReduceDefaultCrashLoopBackOffDecay=True)
    assert [quick.get_backoff_seconds(restarts) for restarts in range(9)] == [0, 1, 2, 4, 8, 16, 32, 60, 60]
