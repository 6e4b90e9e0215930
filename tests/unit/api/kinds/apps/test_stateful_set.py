import pytest

from mockkube.api.kinds.apps.stateful_set import StatefulSetStrategy

STRATEGY = StatefulSetStrategy()


def stateful_set(mounts=(), **spec):
    container = {
        "name": "c",
        "image": "i",
        "imagePullPolicy": "Always",
        "terminationMessagePolicy": "File",
        "resources": {},
    }
    if mounts:
        container["volumeMounts"] = [{"name": name, "mountPath": f"/{name}"} for name in mounts]
    pod = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "containers": [container]}
    pod["terminationGracePeriodSeconds"] = 30
    fields = {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
    }
    return {"metadata": {"name": "s", "namespace": "n"}, "spec": {**fields, **spec}, "status": {}}


def claim(name="data", **spec):
    fields = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeMode": "Filesystem",
    }
    return {"metadata": {"name": name}, "spec": {**fields, **spec}}


def test_volumes_of_claims_may_be_mounted(judge):
    assert STRATEGY.validate(stateful_set(["data"], volumeClaimTemplates=[claim()]), judge()) == []
    (error,) = STRATEGY.validate(stateful_set(["data"]), judge())
    assert str(error) == 'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"'


@pytest.mark.parametrize(
    ("spec", "complaints"),
    [
        pytest.param(
            {"podManagementPolicy": "Odd"},
            ["spec.podManagementPolicy: Invalid value: \"Odd\": must be 'OrderedReady' or 'Parallel'"],
            id="policy",
        ),
        pytest.param(
            {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
            [
                'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: only allowed '
                "for updateStrategy 'RollingUpdate'"
            ],
            id="rolling when deleted",
        ),
        pytest.param(
            {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Odd"}},
            [
                'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Odd": supported values: '
                '"Retain", "Delete"'
            ],
            id="retention",
        ),
        pytest.param(
            {"ordinals": {"start": -1}},
            ["spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"],
            id="ordinals",
        ),
    ],
)
def test_fields_are_judged(judge, spec, complaints):
    assert [str(error) for error in STRATEGY.validate(stateful_set(**spec), judge())] == complaints


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        pytest.param({"replicas": 3}, False, id="replicas"),
        pytest.param({"ordinals": {"start": 1}}, False, id="ordinals"),
        pytest.param({"serviceName": "other"}, True, id="service"),
        pytest.param({"volumeClaimTemplates": [claim()]}, True, id="claims"),
    ],
)
def test_most_of_the_spec_never_changes(judge, spec, refused):
    errors = STRATEGY.validate_update(stateful_set(**spec), stateful_set(), judge())
    assert bool(errors) is refused
    assert all(error.field == "spec" for error in errors)


def test_a_set_that_was_invalid_may_stay_so(judge):
    broken = stateful_set(["nowhere"])
    assert STRATEGY.validate_update(stateful_set(["nowhere"], replicas=2), broken, judge()) == []


@pytest.mark.parametrize(("gates", "kept"), [((), False), (("MaxUnavailableStatefulSet",), True)])
def test_more_than_one_pod_may_be_missing_behind_a_gate(judge, gates, kept):
    obj = stateful_set(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}})
    STRATEGY.prepare_for_create(obj, judge(*gates))
    assert ("maxUnavailable" in obj["spec"]["updateStrategy"]["rollingUpdate"]) is kept
