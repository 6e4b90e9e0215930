"""What the gates, and the stored pod, allow a pod to use."""

import pytest

from mockkube.api.kinds.core.pod.options import (
    PodValidationOptions,
    deletion_cost_is_integer,
    is_feature_enabled,
    pod_validation_options,
    validate_with_ratcheting,
)
from mockkube.api.validation.extensions import (
    NO_EXTENSIONS,
    OperatorRule,
    ValidationExtensions,
    reject_toleration_operator,
)
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

NONE = Capabilities(Version(1, 33))


def rules_after(old, caps=NONE, new=None, extensions=NO_EXTENSIONS):
    """Return the rules a change of `old` that breaks the plain ones is judged by."""
    seen: list[PodValidationOptions] = []
    plain = pod_validation_options(caps, extensions)

    def check(rules):
        seen.append(rules)
        return ["broken"] if rules is plain else []

    assert validate_with_ratcheting(check, {"spec": new or old}, {"spec": old}, plain, caps) == []
    return seen[-1]


def test_a_locked_gate_is_on_though_nobody_names_it():
    assert not is_feature_enabled(Capabilities(Version(1, 33)), "ImageVolume")
    assert is_feature_enabled(Capabilities(Version(1, 36)), "ImageVolume")
    assert is_feature_enabled(Capabilities(Version(1, 37)), "ImageVolume")


def test_what_is_in_order_is_judged_once():
    calls = []
    plain = pod_validation_options(NONE, NO_EXTENSIONS)
    validate_with_ratcheting(lambda rules: calls.append(rules) or [], {"spec": {}}, {"spec": {}}, plain, NONE)
    assert calls == [plain]


HUGE = {"containers": [{"resources": {"limits": {"hugepages-2Mi": "3Mi"}}}]}


@pytest.mark.parametrize(
    ("old", "allowed"),
    [
        pytest.param({"dnsConfig": {"searches": ["."]}}, lambda r: r.relaxed_dns_search, id="search of a dot"),
        pytest.param(
            {"hostUsers": False, "hostNetwork": True}, lambda r: r.host_network_in_user_namespace, id="host network"
        ),
        pytest.param(
            {"hostUsers": False, "containers": [{"volumeDevices": [{}]}]},
            lambda r: r.devices_in_user_namespace,
            id="devices",
        ),
        pytest.param(
            {"securityContext": {"seLinuxChangePolicy": "MountOption"}},
            lambda r: not r.only_recursive_selinux_change,
            id="labels by mounting",
        ),
        pytest.param(
            {"hostIPC": True, "securityContext": {"sysctls": [{"name": "kernel.sem"}]}},
            lambda r: r.allow_host_sysctls,
            id="sysctls of the host",
        ),
        pytest.param(HUGE, lambda r: r.containers.allow_indivisible_huge_pages, id="half a huge page"),
        pytest.param(
            {"containers": [{"lifecycle": {"preStop": {"sleep": {"seconds": 0}}}}]},
            lambda r: r.containers.allow_zero_sleep,
            id="sleep for nothing",
        ),
        pytest.param(
            {"containers": [{"restartPolicy": "Never"}]}, lambda r: r.containers.restart_rules, id="own restart policy"
        ),
        pytest.param(
            {"containers": [{"restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
            lambda r: r.containers.restart_all_containers,
            id="restart of all",
        ),
        pytest.param(
            {"initContainers": [{"resizePolicy": [{"restartPolicy": "RestartContainer"}]}]},
            lambda r: r.containers.init_restart_on_resize,
            id="init container restarted on resize",
        ),
        pytest.param(
            {"initContainers": [{"restartPolicy": "Always", "resizePolicy": [{}]}]},
            lambda r: r.containers.init_resize_policy,
            id="sidecar resized",
        ),
        pytest.param(
            {"containers": [{"env": [{"name": "1a"}]}]}, lambda r: r.containers.env.relaxed_names, id="variable"
        ),
        pytest.param(
            {"containers": [{"env": [{"valueFrom": {"fileKeyRef": {}}}]}]},
            lambda r: r.containers.env.allow_file_keys,
            id="file",
        ),
        pytest.param(
            {"topologySpreadConstraints": [{"labelSelector": {"matchLabels": {"a b": "c"}}}]},
            lambda r: r.spread.allow_invalid_selector,
            id="odd selector",
        ),
        pytest.param(
            {
                "affinity": {
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"labelSelector": {"matchLabels": {"a b": "c"}}}
                        ]
                    }
                }
            },
            lambda r: r.allow_invalid_selector,
            id="odd selector of pods",
        ),
    ],
)
def test_what_a_stored_pod_does_its_successor_may(old, allowed):
    assert not allowed(pod_validation_options(NONE, NO_EXTENSIONS))
    assert allowed(rules_after(old))


def test_a_relaxed_name_is_only_kept_not_added():
    kept, added = {"containers": [{"env": [{"name": "1a"}]}]}, {"containers": [{"env": [{"name": "1b"}]}]}
    assert rules_after(kept, new=kept).containers.env.relaxed_names
    assert not rules_after(kept, new=added).containers.env.relaxed_names


def test_constraints_that_break_the_rule_for_merged_keys_are_judged_by_the_other():
    gates = ("MatchLabelKeysInPodTopologySpread", "MatchLabelKeysInPodTopologySpreadSelectorMerge")
    caps = Capabilities(Version(1, 36), frozenset(gates))
    broken = {"topologySpreadConstraints": [{"matchLabelKeys": ["a"]}]}
    assert pod_validation_options(caps, NO_EXTENSIONS).spread.merge_label_keys
    assert not rules_after(broken, caps).spread.merge_label_keys


def test_an_operator_of_a_proposal_stays_allowed_where_it_is_used():
    rule = OperatorRule("G", lambda toleration, at: [], reject_toleration_operator)
    extensions = ValidationExtensions(tolerations={"Newer": rule})
    assert pod_validation_options(NONE, extensions).allowed_extensions == frozenset()
    assert pod_validation_options(Capabilities(gates=frozenset({"G"})), extensions).allowed_extensions == {"G"}
    assert rules_after({"tolerations": [{"operator": "Newer"}]}, extensions=extensions).allowed_extensions == {"G"}


@pytest.mark.parametrize("cost", ["0", "-5", "-05", "2147483647", "-2147483648"])
def test_the_cost_of_deletion_is_an_integer(cost):
    assert deletion_cost_is_integer({"controller.kubernetes.io/pod-deletion-cost": cost})


@pytest.mark.parametrize("cost", ["2147483648", "+5", "05", "", "-", "1.0"])
def test_another_cost_of_deletion_is_none(cost):
    assert not deletion_cost_is_integer({"controller.kubernetes.io/pod-deletion-cost": cost})
