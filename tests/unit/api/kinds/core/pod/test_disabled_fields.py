"""Fields and reports that wait for a gate."""

from copy import deepcopy

import pytest

from mockkube.api.kinds.core.pod.disabled_fields import drop_disabled_pod_fields
from mockkube.api.kinds.core.pod.disabled_status_fields import drop_disabled_pod_status
from mockkube.features.capabilities import Capabilities
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version

OFF = Capabilities(Version(1, 33))


@pytest.mark.parametrize(
    ("gate", "spec", "rest"),
    [
        pytest.param("UserNamespacesSupport", {"hostUsers": False}, {}, id="own users"),
        pytest.param("PodLevelResources", {"resources": {}}, {}, id="resources of the pod"),
        pytest.param("HostnameOverride", {"hostnameOverride": "a"}, {}, id="host name"),
        pytest.param("GenericWorkload", {"schedulingGroup": {}}, {}, id="scheduling group"),
        pytest.param(
            "SELinuxChangePolicy",
            {"securityContext": {"seLinuxChangePolicy": "Recursive"}},
            {"securityContext": {}},
            id="labels",
        ),
        pytest.param(
            "EmptyDirVolumeMode",
            {"volumes": [{"emptyDir": {"mode": 448}}]},
            {"volumes": [{"emptyDir": {}}]},
            id="mode of empty directories",
        ),
        pytest.param(
            "AtomicWriteVolumeUserFields",
            {
                "volumes": [
                    {"secret": {"defaultUser": 1, "items": [{"key": "a", "user": 2}]}},
                    {"projected": {"sources": [{"serviceAccountToken": {"user": 3}}, {"configMap": {"items": [{}]}}]}},
                ]
            },
            {
                "volumes": [
                    {"secret": {"items": [{"key": "a"}]}},
                    {"projected": {"sources": [{"serviceAccountToken": {}}, {"configMap": {"items": [{}]}}]}},
                ]
            },
            id="users of files",
        ),
        pytest.param(
            "VolumeBindMountOptions",
            {"containers": [{"volumeMounts": [{"bindMountOptions": ["noexec"]}]}]},
            {"containers": [{"volumeMounts": [{}]}]},
            id="mount options",
        ),
        pytest.param(
            "H2CContainerProbe",
            {
                "containers": [
                    {"readinessProbe": {"httpGet": {"protocol": "HTTP2"}}, "startupProbe": {"grpc": {"port": 1}}},
                    {"lifecycle": {"preStop": {"httpGet": {"protocol": "HTTP1"}}}},
                ]
            },
            {
                "containers": [
                    {"readinessProbe": {"httpGet": {}}, "startupProbe": {"grpc": {"port": 1}}},
                    {"lifecycle": {"preStop": {"httpGet": {}}}},
                ]
            },
            id="protocol of probes and handlers",
        ),
        pytest.param(
            "GRPCContainerProbeTLS",
            {"initContainers": [{"livenessProbe": {"grpc": {"mode": "TLS"}}}]},
            {"initContainers": [{"livenessProbe": {"grpc": {}}}]},
            id="encryption of probes",
        ),
        pytest.param("EvictionRequestAPI", {"evictionResponders": [{"name": "a"}]}, {}, id="who is asked to leave"),
        pytest.param(
            "ProcMountType",
            {"containers": [{"securityContext": {"procMount": "Unmasked"}}]},
            {"containers": [{"securityContext": {"procMount": "Default"}}]},
            id="/proc falls back to the default",
        ),
        pytest.param(
            "DynamicResourceAllocation",
            {"resourceClaims": [{}], "containers": [{"resources": {"claims": [{}]}}]},
            {"containers": [{"resources": {}}]},
            id="claims of pod and containers",
        ),
        pytest.param(
            "ContainerRestartRules",
            {"initContainers": [{"restartPolicy": "Always"}], "containers": [{"restartPolicy": "Never"}]},
            {"initContainers": [{"restartPolicy": "Always"}], "containers": [{}]},
            id="restart policies, but of sidecars",
        ),
        pytest.param(
            "ContainerStopSignals",
            {"containers": [{"lifecycle": {"stopSignal": "SIGTERM"}}]},
            {"containers": [{}]},
            id="stop signal, and the lifecycle with it",
        ),
        pytest.param(
            "PodLifecycleSleepAction",
            {"containers": [{"lifecycle": {"preStop": {"sleep": {"seconds": 1}}, "postStart": {"exec": {}}}}]},
            {"containers": [{"lifecycle": {"postStart": {"exec": {}}}}]},
            id="sleep, and the handler with it",
        ),
        pytest.param(
            "ImageVolume",
            {
                "volumes": [{"name": "v", "image": {}}, {"name": "w"}],
                "containers": [{"volumeMounts": [{"name": "v"}]}],
            },
            {"volumes": [{"name": "w"}], "containers": [{}]},
            id="image volumes, and their mounts",
        ),
        pytest.param(
            "ClusterTrustBundleProjection",
            {"volumes": [{"projected": {"sources": [{"clusterTrustBundle": {}}]}}]},
            {"volumes": [{"projected": {"sources": [{}]}}]},
            id="trust bundle",
        ),
        pytest.param(
            "EnvFiles",
            {"containers": [{"env": [{"valueFrom": {"fileKeyRef": {}}}]}]},
            {"containers": [{"env": [{"valueFrom": {}}]}]},
            id="variables from files",
        ),
    ],
)
def test_a_field_is_dropped_unless_its_gate_is_on_or_it_was_there_before(gate, spec, rest):
    fresh, gated, kept = deepcopy(spec), deepcopy(spec), deepcopy(spec)
    drop_disabled_pod_fields(fresh, None, OFF)
    assert fresh == rest
    drop_disabled_pod_fields(gated, None, Capabilities(Version(1, 33), frozenset({gate})))
    assert gated == spec
    drop_disabled_pod_fields(kept, spec, OFF)
    assert kept == spec


def test_a_sidecar_is_one_since_its_gate_was_locked():
    spec = {"initContainers": [{"restartPolicy": "Always"}]}
    drop_disabled_pod_fields(spec, None, OFF)
    assert spec == {"initContainers": [{"restartPolicy": "Always"}]}


@pytest.mark.parametrize(
    ("gate", "status", "rest"),
    [
        pytest.param("InPlacePodLevelResourcesVerticalScaling", {"resources": {}}, {}, id="resources of the pod"),
        pytest.param("CSIVolumeHealth", {"volumeHealth": [{"name": "v"}]}, {}, id="health of volumes"),
        pytest.param("DRAExtendedResource", {"extendedResourceClaimStatus": {}}, {}, id="extended claim"),
        pytest.param(
            "ResourceHealthStatusMessage",
            {"containerStatuses": [{"user": {}, "allocatedResourcesStatus": [{"resources": [{"message": "m"}]}]}]},
            {"containerStatuses": [{}]},
            id="health, and its message",
        ),
        pytest.param(
            "PodObservedGenerationTracking",
            {"observedGeneration": 2, "conditions": [{"type": "Ready", "observedGeneration": 2}]},
            {"conditions": [{"type": "Ready"}]},
            id="observed generation",
        ),
    ],
)
def test_a_report_is_dropped_unless_it_was_there_before(gate, status, rest):
    fresh = {"spec": {}, "status": deepcopy(status)}
    drop_disabled_pod_status(fresh, {"spec": {}, "status": {}}, OFF)
    assert fresh["status"] == rest
    every = Capabilities(Version(1, 36), frozenset({gate, "ResourceHealthStatus"}))
    gated = {"spec": {}, "status": deepcopy(status)}
    drop_disabled_pod_status(gated, {"spec": {}, "status": {}}, every)
    assert gated["status"] == status


def test_reports_about_claims_stay_with_a_pod_that_has_claims():
    status = {"resourceClaimStatuses": [{"name": "a"}]}
    new = {"spec": {}, "status": deepcopy(status)}
    drop_disabled_pod_status(new, {"spec": {"resourceClaims": [{"name": "a"}]}, "status": {}}, OFF)
    assert new["status"] == status


def test_a_gate_that_is_locked_in_the_releases_counts_again_on_another_train():
    spec = {"topologySpreadConstraints": [{"nodeTaintsPolicy": "Honor"}]}
    gate = "NodeInclusionPolicyInPodTopologySpread"
    kept, dropped = deepcopy(spec), deepcopy(spec)
    drop_disabled_pod_fields(kept, None, OFF)
    drop_disabled_pod_fields(dropped, None, Capabilities(Version(1, 33), trains=(ReleaseTrain(gate),)))
    assert (kept, dropped) == (spec, {"topologySpreadConstraints": [{}]})
