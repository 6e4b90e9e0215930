import pytest

from mockkube.api.kinds.apps import daemon_set, deployment, replica_set, stateful_set
from mockkube.features.capabilities import Capabilities


def defaulted(default, spec, *gates):
    obj = {"metadata": {"name": "w"}, "spec": {"template": {"metadata": {}, "spec": {}}, **spec}, "status": {}}
    default(obj, Capabilities(gates=frozenset(gates)))
    return obj["spec"]


@pytest.mark.parametrize(
    "default",
    [
        deployment.default_deployment,
        replica_set.default_replica_set,
        daemon_set.default_daemon_set,
        stateful_set.default_stateful_set,
    ],
)
def test_templates_are_filled_in_as_templates(default):
    template = {"metadata": {}, "spec": {"containers": [{"name": "c", "image": "app"}]}}
    spec = defaulted(default, {"template": template})["template"]["spec"]
    assert spec["restartPolicy"] == "Always"
    assert spec["containers"][0]["imagePullPolicy"] == "Always"
    assert "enableServiceLinks" not in spec


@pytest.mark.parametrize(
    "default", [deployment.default_deployment, replica_set.default_replica_set, stateful_set.default_stateful_set]
)
@pytest.mark.parametrize(("given", "kept"), [({}, 1), ({"replicas": 0}, 0)])
def test_one_pod_runs_unless_none_was_asked_for(default, given, kept):
    assert defaulted(default, given)["replicas"] == kept


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        pytest.param(
            {},
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
            id="a quarter at a time",
        ),
        pytest.param(
            {"rollingUpdate": {"maxSurge": 0}},
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0}},
            id="one bound given",
        ),
        pytest.param({"type": "Recreate"}, {"type": "Recreate"}, id="all at once"),
    ],
)
def test_deployments_replace_in_steps(given, filled):
    spec = defaulted(deployment.default_deployment, {"strategy": given})
    assert spec["strategy"] == filled
    assert (spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (10, 600)


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        pytest.param({}, {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}, id="one"),
        pytest.param({"type": "OnDelete"}, {"type": "OnDelete"}, id="by hand"),
    ],
)
def test_daemon_sets_replace_one_by_one(given, filled):
    spec = defaulted(daemon_set.default_daemon_set, {"updateStrategy": given})
    assert spec["updateStrategy"] == filled
    assert spec["revisionHistoryLimit"] == 10
    assert "replicas" not in spec


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        pytest.param({}, {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}, id="all in order"),
        pytest.param({"type": "RollingUpdate"}, {"type": "RollingUpdate"}, id="named, not described"),
        pytest.param(
            {"type": "RollingUpdate", "rollingUpdate": {}},
            {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            id="named and begun",
        ),
        pytest.param({"type": "OnDelete"}, {"type": "OnDelete"}, id="by hand"),
    ],
)
def test_stateful_sets_replace_in_order(given, filled):
    spec = defaulted(stateful_set.default_stateful_set, {"updateStrategy": given})
    assert spec["updateStrategy"] == filled
    assert spec["podManagementPolicy"] == "OrderedReady"
    assert spec["revisionHistoryLimit"] == 10


def test_with_the_gate_a_stateful_set_misses_one_pod_at_a_time():
    spec = defaulted(stateful_set.default_stateful_set, {}, "MaxUnavailableStatefulSet")
    assert spec["updateStrategy"]["rollingUpdate"] == {"partition": 0, "maxUnavailable": 1}


def test_claims_of_a_stateful_set_are_kept_and_filled_in():
    spec = defaulted(
        stateful_set.default_stateful_set,
        {
            "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}, "status": {}}],
        },
    )
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Delete"}
    assert spec["volumeClaimTemplates"] == [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {"volumeMode": "Filesystem"},
            "status": {"phase": "Pending"},
        }
    ]
