"""A component's version and gates: its own before the fleet's before the cluster's, judged as its binary would."""

from dataclasses import replace

import pytest

from mockkube.cluster.configuration import component_settings
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration, resolve_configuration
from mockkube.cluster.configuration.component_settings import resolve_settings, validate_settings
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.cluster.configuration.values import ComponentConfiguration
from mockkube.features.versions import Version

GT = "TaintTolerationComparisonOperators"  # alpha since 1.35
HOST = "HostnameOverride"  # alpha in 1.34, beta since 1.35
CEL = "TaintTolerationCEL"

CONFIGURATION = ClusterConfiguration(
    version=Version(1, 36),
    feature_gates={GT: True, HOST: False},
    components={
        "kube-scheduler": ComponentConfiguration(Version(1, 34), {}),
        "kubelet": ComponentConfiguration(Version(1, 35), {HOST: True}),
        "kubelet.n1": ComponentConfiguration(None, {GT: False}),
        "kubelet.n2": ComponentConfiguration(Version(1, 36), {}),
    },
)


@pytest.mark.parametrize(
    ("component", "version", "gates"),
    [
        pytest.param("kube-apiserver", Version(1, 36), {GT}, id="nothing of its own"),
        pytest.param("kubelet", Version(1, 35), {GT, HOST}, id="its own over the cluster's"),
        pytest.param("kubelet.n1", Version(1, 35), {HOST}, id="one node's gates over the fleet's"),
        pytest.param("kubelet.n2", Version(1, 36), {GT, HOST}, id="one node's version over the fleet's"),
        pytest.param("kubelet.n3", Version(1, 35), {GT, HOST}, id="a node that is not named"),
        pytest.param("kube-scheduler", Version(1, 34), set(), id="too old for a gate of the cluster"),
    ],
)
def test_capabilities(component: str, version: Version, gates: set[str]) -> None:
    capabilities = resolve_settings(CONFIGURATION, component).capabilities()
    assert capabilities.version == version
    assert capabilities.gates & {GT, HOST} == gates


def test_gates_nobody_mentioned_are_as_the_release_has_them() -> None:
    capabilities = resolve_settings(ClusterConfiguration(), "kube-apiserver").capabilities()
    assert capabilities.enabled("SidecarContainers")
    assert not capabilities.enabled(GT)


def test_what_can_be_followed_starts() -> None:
    heard = {
        str(notice).partition(":")[0]: components for notice, components in validate_settings(CONFIGURATION).items()
    }
    assert heard == {
        "warning component has alpha features enabled in emulated version, this is unsupported": [
            "kube-apiserver",
            "kube-controller-manager",
        ],
        "warning kube-scheduler 1.34 is 2 minor versions older than kube-apiserver 1.36": ["version skew"],
    }


def test_versions_that_do_not_go_together_are_refused_on_demand_and_passed_over_on_demand() -> None:
    strict, deaf = (replace(CONFIGURATION, skew_policy=policy) for policy in ("enforce", "ignore"))
    with pytest.raises(
        ConfigurationError, match=r"--skew-policy=enforce: kube-scheduler 1\.34 is 2 minor versions older"
    ):
        validate_settings(strict)
    assert ["version skew"] not in validate_settings(deaf).values()
    validate_settings(replace(strict, without=("scheduler",)))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param(
            {"feature_gates": "NoSuch=true"}, "--feature-gates: unrecognized feature gate: NoSuch", id="unknown"
        ),
        pytest.param(
            {"feature_gates": "SidecarContainers=false"},
            "--feature-gates: cannot set feature gate SidecarContainers to false, feature is locked to true",
            id="locked",
        ),
        pytest.param(
            {"version": "1.34", "feature_gates": f"{GT}=true"},
            f"--feature-gates: unrecognized feature gate: {GT}",
            id="younger than the cluster",
        ),
        pytest.param(
            {"components": f"kubelet=1.34,{GT}=true"},
            f"feature gates of kubelet: unrecognized feature gate: {GT}",
            id="younger than the component",
        ),
    ],
)
def test_what_a_binary_refuses_is_refused_in_its_words(flags: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        validate_settings(resolve_configuration(flags, {}))
    assert str(caught.value) == message


def test_a_ga_gate_that_is_set_is_noticed() -> None:
    notices = map(str, validate_settings(resolve_configuration({"feature_gates": "SidecarContainers=true"}, {})))
    assert any('featureGate="SidecarContainers"' in notice for notice in notices)


def test_a_release_train_takes_a_gate_further_than_the_releases_go() -> None:
    train = f'[{{"gate": "{CEL}", "stages": [{{"version": "1.38", "maturity": "Beta"}}]}}]'
    configuration = resolve_configuration({"version": "1.38"}, {"MOCKKUBE_RELEASE_TRAINS": train})
    assert resolve_settings(configuration, "kube-apiserver").capabilities().enabled(CEL)
    with pytest.raises(
        ConfigurationError, match=r"--version: version 1\.39 is not supported: give one from 1\.33 to 1\.38"
    ):
        resolve_configuration({"version": "1.39"}, {"MOCKKUBE_RELEASE_TRAINS": train})


def test_kubelets_of_single_nodes_share_their_gates() -> None:
    configuration = ClusterConfiguration()
    states = [resolve_settings(configuration, f"kubelet.node-{number}").gate_states() for number in range(1000)]
    before = component_settings._states.cache_info().currsize
    assert all(one == states[0] for one in states)
    resolve_settings(configuration, "kubelet.another").gate_states()
    assert component_settings._states.cache_info().currsize == before
