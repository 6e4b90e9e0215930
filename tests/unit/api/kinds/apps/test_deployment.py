import copy

import pytest

from mockkube.api.kinds.apps.deployment import DeploymentStrategy

STRATEGY = DeploymentStrategy()


def deployment(**spec):
    fields = {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": template(),
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "progressDeadlineSeconds": 600,
    }
    spec = {name: value for name, value in {**fields, **spec}.items() if value is not None}
    return {"metadata": {"name": "d", "namespace": "n", "generation": 1}, "spec": spec, "status": {}}


def template(labels=None, **spec):
    container = {
        "name": "c",
        "image": "i",
        "imagePullPolicy": "Always",
        "terminationMessagePolicy": "File",
        "resources": {},
    }
    fields = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "containers": [container], "securityContext": {}}
    fields["terminationGracePeriodSeconds"] = 30
    return {"metadata": {"labels": {"a": "b"} if labels is None else labels}, "spec": {**fields, **spec}}


def test_a_whole_deployment_is_fine(judge):
    assert STRATEGY.validate(deployment(), judge()) == []


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(
            deployment(selector=None),
            [
                "spec.selector: Required value",
                'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
            ],
            id="no selector",
        ),
        pytest.param(
            deployment(selector={}),
            ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
            id="all",
        ),
        pytest.param(
            deployment(template=template(restartPolicy="Never")),
            ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
            id="pods that end",
        ),
        pytest.param(
            deployment(strategy={"type": "Recreate", "rollingUpdate": {}}),
            ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
            id="rolling while recreating",
        ),
        pytest.param(
            deployment(strategy={"type": "Odd"}),
            [
                'spec.strategy: Unsupported value: {"Type":"Odd","RollingUpdate":null}: supported values: "Recreate", '
                '"RollingUpdate"'
            ],
            id="unknown strategy",
        ),
        pytest.param(
            deployment(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}),
            ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
            id="no room to move",
        ),
        pytest.param(
            deployment(progressDeadlineSeconds=5, minReadySeconds=5),
            ["spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds"],
            id="late before ready",
        ),
    ],
)
def test_fields_are_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


def test_the_selector_never_changes(judge):
    new = deployment(selector={"matchLabels": {"a": "c"}}, template=template({"a": "c"}))
    errors = STRATEGY.validate_update(new, deployment(), judge())
    assert [str(error) for error in errors] == [
        'spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable'
    ]


@pytest.mark.parametrize(
    ("change", "generation"),
    [
        pytest.param({}, 1, id="nothing"),
        pytest.param({"spec": {"replicas": 2}}, 2, id="spec"),
        pytest.param({"metadata": {"annotations": {"a": "b"}}}, 2, id="annotations"),
        pytest.param({"metadata": {"labels": {"a": "b"}}}, 1, id="labels"),
    ],
)
def test_annotations_count_as_changes(judge, change, generation):
    new, old = deployment(), deployment()
    for part, fields in change.items():
        new[part].update(fields)
    STRATEGY.prepare_for_update(new, old, judge())
    assert new["metadata"]["generation"] == generation


def test_a_write_of_the_status_changes_neither_spec_nor_labels(judge):
    old = deployment()
    new = deployment(replicas=7)
    new["metadata"]["labels"] = {"a": "b"}
    new["status"] = {"replicas": 3, "terminatingReplicas": 1}
    before = copy.deepcopy(old)
    STRATEGY.prepare_for_update(new, old, judge(subresource="status"))
    assert new["spec"] == old["spec"] == before["spec"]
    assert "labels" not in new["metadata"]
    assert new["status"] == {"replicas": 3}


def test_counts_fit_together(judge):
    new, old = deployment(), deployment()
    new["status"] = {"replicas": 1, "readyReplicas": 2, "collisionCount": 1}
    old["status"] = {"collisionCount": 2}
    assert [str(error) for error in STRATEGY.validate_update(new, old, judge(subresource="status"))] == [
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.collisionCount: Invalid value: 1: cannot be decremented",
    ]


def test_a_name_that_pods_cannot_have_earns_a_warning(judge):
    obj = deployment()
    obj["metadata"]["name"] = "a.b"
    assert STRATEGY.warnings_on_create(obj, judge())[0].startswith(
        "metadata.name: this is used in Pod names and hostnames"
    )
