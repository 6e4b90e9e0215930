"""Warnings about pods and their volumes."""

from datetime import UTC, datetime

import pytest

from mockkube.api.kinds.core.pod.volumes.warnings import claim_spec_warnings
from mockkube.api.kinds.core.pod.warnings import pod_warnings
from mockkube.api.strategy import StrategyContext
from mockkube.features.capabilities import Capabilities

JUDGE = StrategyContext(Capabilities(), datetime(2026, 1, 1, tzinfo=UTC))


def warn(spec, annotations=None, at=""):
    return pod_warnings({"annotations": annotations or {}}, spec, JUDGE, at)


def ports(*given):
    return {"containers": [{"name": "c", "ports": list(given)}]}


PORT = {"containerPort": 80, "protocol": "TCP"}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param({"containers": [{"name": "c"}]}, [], id="nothing to warn of"),
        pytest.param(
            {"nodeSelector": {"beta.kubernetes.io/arch": "x"}},
            ['spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch" instead'],
            id="deprecated label",
        ),
        pytest.param(
            {"topologySpreadConstraints": [{"topologyKey": "failure-domain.beta.kubernetes.io/zone"}]},
            [
                "spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is "
                'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
                "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
            ],
            id="deprecated topology, no selector",
        ),
        pytest.param(
            {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}},
            [
                "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm."
                "labelSelector: a null labelSelector results in matching no pod"
            ],
            id="affinity to no pod",
        ),
        pytest.param(
            {"containers": [{"resources": {"limits": {"memory": "100m"}}}]},
            [
                'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is '
                "invalid, must be an integer"
            ],
            id="part of a byte",
        ),
        pytest.param(
            {"containers": [{"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}]},
            ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'],
            id="hidden variable",
        ),
        pytest.param(
            {"containers": [{"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A):2"}]}]},
            [],
            id="variable made of itself",
        ),
        pytest.param(
            {"hostAliases": [{"ip": "010.0.0.1"}, {"ip": "010.0.0.1"}]},
            [
                'spec.hostAliases[1].ip: duplicate ip "010.0.0.1"',
                'spec.hostAliases[0].ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"',
                'spec.hostAliases[1].ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"',
            ],
            id="aliases",
        ),
        pytest.param(
            {"imagePullSecrets": [{}, {"name": "a"}, {"name": "a"}]},
            [
                'spec.imagePullSecrets[2].name: duplicate name "a"',
                'spec.imagePullSecrets[0].name: invalid empty name ""',
            ],
            id="pull secrets",
        ),
        pytest.param(
            {"terminationGracePeriodSeconds": -1},
            ["spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"],
            id="negative grace",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "gitRepo": {}}, {"name": "w", "storageos": {}}]},
            [
                "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
                "spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+",
            ],
            id="volumes of old",
        ),
    ],
)
def test_a_pod_is_warned(spec, says):
    assert warn(spec) == says


@pytest.mark.parametrize(
    ("second", "says"),
    [
        pytest.param(PORT, "duplicate port definition", id="the same"),
        pytest.param({**PORT, "hostPort": 80}, "overlapping port definition", id="one on the host"),
    ],
)
def test_two_definitions_of_a_port(second, says):
    assert warn(ports(PORT, second)) == [f"spec.containers[0].ports[1]: {says} with spec.containers[0].ports[0]"]


def test_a_port_on_every_address_of_the_host_and_on_one():
    host = {**PORT, "hostPort": 80}
    (text,) = warn(ports(host, {**host, "hostIP": "10.0.0.1"}))
    assert text.startswith("spec.containers[0].ports[1]: dangerously ambiguous port definition")


def test_an_address_of_the_host_without_a_port_is_shown_whole():
    assert warn(ports({**PORT, "hostIP": "1.2.3.4"})) == [
        "spec.containers[0].ports[0]: hostIP set without hostPort: "
        "{Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.2.3.4}"
    ]


def test_the_first_of_two_ports_of_a_name_is_found():
    (text,) = warn(ports({**PORT, "name": "a"}, {**PORT, "containerPort": 81, "name": "a"}))
    first = "spec.containers[0].ports[0]"
    assert text == (
        f'spec.containers[0].ports[1]: duplicate port name "a" with {first}, '
        f"services and probes that select ports by name will use {first}"
    )


def test_annotations_of_old():
    spec = {"containers": [{"name": "c"}]}
    annotations = {
        "scheduler.alpha.kubernetes.io/critical-pod": "",
        "seccomp.security.alpha.kubernetes.io/pod": "runtime/default",
        "container.apparmor.security.beta.kubernetes.io/c": "runtime/default",
    }
    at = "spec.template.metadata.annotations"
    assert warn(spec, annotations, "spec.template") == [
        f"{at}[scheduler.alpha.kubernetes.io/critical-pod]: "
        'non-functional in v1.16+; use the "priorityClassName" field instead',
        f"{at}[seccomp.security.alpha.kubernetes.io/pod]: "
        'non-functional in v1.27+; use the "seccompProfile" field instead',
        f"{at}[container.apparmor.security.beta.kubernetes.io/c]: "
        'deprecated since v1.30; use the "appArmorProfile" field instead',
    ]


def volumes(**source):
    return {"volumes": [{"name": "v", **source}]}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param(
            volumes(configMap={"name": "m", "items": [{"key": "a", "path": "x/"}, {"key": "b", "path": "x/y"}]}),
            'volume "v" (ConfigMap "m"): overlapping paths: "x/y" with "x"',
            id="in a config map",
        ),
        pytest.param(
            volumes(
                projected={
                    "sources": [
                        {"secret": {"name": "s", "items": [{"key": "a", "path": "t"}]}},
                        {"serviceAccountToken": {"path": "t"}},
                    ]
                }
            ),
            'volume "v" (Projected): overlapping paths: "t" (ServiceAccountToken) with "t" (Secret "s")',
            id="between two sources",
        ),
        pytest.param(volumes(projected={"sources": [{}]}), 'volume "v" (Projected) has no sources provided', id="none"),
    ],
)
def test_files_that_hide_one_another(spec, says):
    assert warn(spec) == [says]


def test_a_claim_of_part_of_a_byte():
    spec = {"resources": {"requests": {"storage": "1500m"}}}
    assert list(claim_spec_warnings(spec, "spec")) == [
        'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer'
    ]
