"""What components beside the API servers are told: read once, and every mistake named before anything starts."""

from pathlib import Path
from typing import Any

import pytest

from mockkube.client.leader_election import LeaderElectionConfig
from mockkube.cluster.components.component_flags import (
    get_scheduler_configuration,
    make_controller_manager_election,
    make_controller_options,
    make_scheduler_election,
    resolve_component_flags,
)
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.controllers.framework.options import Options
from mockkube.features.versions import DEFAULT, Version

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
MANAGER, SCHEDULER = "kube-controller-manager", "kube-scheduler"


def options(**fields: Any) -> Options:
    return make_controller_options(resolve_component_flags(ClusterConfiguration(**fields)).get(MANAGER, {}), DEFAULT)


def test_nothing_said_is_what_the_version_does() -> None:
    assert resolve_component_flags(ClusterConfiguration()) == {}
    assert make_controller_options({}, Version(1, 35)) == Options.for_version(Version(1, 35))


def test_flags_of_the_controller_manager_reach_it() -> None:
    said = {"node-monitor-grace-period": "1m30s", "terminated-pod-gc-threshold": 3, "default-storage-class": "standard"}
    told = options(controller_manager=said, controllers=("*", "-daemonset"))
    assert told.nodes.monitor_grace_seconds == 90
    assert (told.terminated_pods_max, told.default_storage_class) == (3, "standard")
    assert told.controllers == ("*", "-daemonset")


def test_an_authority_that_signs_is_told_by_its_files(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").touch()
    said = {"cluster-signing-cert-file": str(tmp_path / "ca.crt"), "cluster-signing-duration": "1h"}
    told = options(controller_manager=said)
    assert (told.signing_certificate, told.signing_seconds) == (str(tmp_path / "ca.crt"), 3600)
    with pytest.raises(ConfigurationError, match="--cluster-signing-key-file='/nowhere': give a file that is there"):
        options(controller_manager={"cluster-signing-key-file": "/nowhere"})


def test_what_is_said_beside_the_configuration_counts_more() -> None:
    configuration = ClusterConfiguration(controller_manager={"kube-api-qps": 5, "kube-api-burst": 6})
    told = resolve_component_flags(configuration, {MANAGER: {"kube-api-qps": 7}})
    assert told == {MANAGER: {"kube-api-qps": 7, "kube-api-burst": 6}}


def test_the_configuration_of_the_scheduler_reaches_it() -> None:
    given = {**HEAD, "profiles": [{"schedulerName": "mine"}]}
    assert (
        get_scheduler_configuration(resolve_component_flags(ClusterConfiguration(scheduler_config=given))[SCHEDULER])
        == given
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param(
            {"controllers": ("*", "-nobody")},
            "kube-controller-manager: --controllers='*,-nobody': there is no controller '-nobody'",
            id="a controller nobody knows",
        ),
        pytest.param(
            {"controller_manager": {"node-monitor-perod": "2s"}},
            "kube-controller-manager: unknown flag 'node-monitor-perod': did you mean 'node-monitor-period'?",
            id="a flag misspelt",
        ),
        pytest.param(
            {"controller_manager": {"node-monitor-period": 2}},
            "kube-controller-manager: --node-monitor-period=2: give a duration like 40s",
            id="a number for a duration",
        ),
        pytest.param(
            {"controller_manager": {"default-storage-class": "Standard"}},
            "kube-controller-manager: --default-storage-class='Standard': a lowercase RFC 1123 subdomain",
            id="a class that cannot be named so",
        ),
        pytest.param(
            {"scheduler_config": {"apiVersion": "v1", "kind": "Pod"}},
            'kube-scheduler: KubeSchedulerConfiguration: no kind "Pod" is registered for version "v1"',
            id="another kind",
        ),
        pytest.param(
            {"scheduler_config": {**HEAD, "percentageOfNodesToScore": 101}},
            "kube-scheduler: KubeSchedulerConfiguration: percentageOfNodesToScore: Invalid value: 101",
            id="a value out of range",
        ),
    ],
)
def test_a_mistake_is_named_in_a_line(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve_component_flags(ClusterConfiguration(**fields))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_both_components_elect_leaders_with_upstreams_leases_and_timing() -> None:
    assert make_controller_manager_election({}) == LeaderElectionConfig(MANAGER, "kube-system", 15, 10, 2)
    assert make_scheduler_election({}) == LeaderElectionConfig(SCHEDULER, "kube-system", 15, 10, 2)


def test_flags_and_configuration_change_lease_and_timing() -> None:
    expected = LeaderElectionConfig("own", "default", 30, 20, 0.5)
    flags = {
        "leader-elect-lease-duration": "30s",
        "leader-elect-renew-deadline": "20s",
        "leader-elect-retry-period": "500ms",
        "leader-elect-resource-lock": "leases",
        "leader-elect-resource-name": "own",
        "leader-elect-resource-namespace": "default",
    }
    assert make_controller_manager_election(flags) == expected
    fields = {
        "leaseDuration": "30s",
        "renewDeadline": "20s",
        "retryPeriod": "500ms",
        "resourceLock": "leases",
        "resourceName": "own",
        "resourceNamespace": "default",
    }
    assert make_scheduler_election({"config": {**HEAD, "leaderElection": fields}}) == expected


def test_a_component_may_leave_the_election_out() -> None:
    assert make_controller_manager_election({"leader-elect": False}) is None
    assert make_scheduler_election({"config": {**HEAD, "leaderElection": {"leaderElect": False}}}) is None
