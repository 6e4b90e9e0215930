"""What may change on a live pod."""

import pytest

from mockkube.api.kinds.core.pod.affinity import REQUIRED
from mockkube.api.kinds.core.pod.options import PodValidationOptions
from mockkube.api.kinds.core.pod.validation import (
    validate_ephemeral_containers_update,
    validate_pod_create,
    validate_pod_update,
)

CONTAINER = {"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}
SPEC = {
    "containers": [CONTAINER],
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "terminationGracePeriodSeconds": 30,
    "tolerations": [{"key": "a", "operator": "Exists"}],
}
GATED = {"schedulingGates": [{"name": "a/g"}], "nodeSelector": {"x": "1"}}
FIXED = "spec: Forbidden: pod updates may not change fields other than"


def pod(_without=(), _annotations=None, **spec):
    merged = {name: value for name, value in {**SPEC, **spec}.items() if name not in _without}
    meta = {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1"}
    return {"metadata": {**meta, "annotations": _annotations} if _annotations else meta, "spec": merged}


def judge(new, old, rules=PodValidationOptions()):  # noqa: B008 - frozen
    errors = [str(error).partition("\n")[0] for error in validate_pod_update(new, old, rules)]
    return list(dict.fromkeys(errors))


def term(*values):
    return {"matchExpressions": [{"key": "a", "operator": "In", "values": list(values)}]}


def wants(*terms):
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


@pytest.mark.parametrize(
    ("new", "old"),
    [
        pytest.param(pod(), pod(), id="nothing"),
        pytest.param(pod(containers=[{**CONTAINER, "image": "j"}]), pod(), id="image"),
        pytest.param(pod(activeDeadlineSeconds=5), pod(activeDeadlineSeconds=9), id="earlier deadline"),
        pytest.param(pod(activeDeadlineSeconds=5), pod(), id="deadline added"),
        pytest.param(pod(tolerations=[*SPEC["tolerations"], {"key": "b"}]), pod(), id="toleration added"),
        pytest.param(
            pod(terminationGracePeriodSeconds=1), pod(terminationGracePeriodSeconds=-1), id="negative grace made 1"
        ),
        pytest.param(pod(("schedulingGates",), **GATED), pod(**GATED), id="gate removed"),
        pytest.param(pod(**{**GATED, "nodeSelector": {"x": "1", "y": "2"}}), pod(**GATED), id="gated: choosier"),
        pytest.param(pod(**GATED, affinity=wants(term("x"))), pod(**GATED), id="gated: affinity added"),
    ],
)
def test_this_may_change(new, old):
    assert judge(new, old) == []


@pytest.mark.parametrize(
    ("new", "old", "says"),
    [
        pytest.param(pod(nodeName="n"), pod(), [FIXED], id="node"),
        pytest.param(pod(containers=[{**CONTAINER, "command": ["a"]}]), pod(), [FIXED], id="command"),
        pytest.param(pod(nodeSelector={"a": "b"}), pod(), [FIXED], id="node selector of a pod that is not gated"),
        pytest.param(pod(terminationGracePeriodSeconds=1), pod(), [FIXED], id="grace"),
        pytest.param(
            pod(containers=[CONTAINER, {**CONTAINER, "name": "d"}]),
            pod(),
            ["spec.containers: Forbidden: pod updates may not add or remove containers"],
            id="container added",
        ),
        pytest.param(
            pod(activeDeadlineSeconds=9),
            pod(activeDeadlineSeconds=5),
            ["spec.activeDeadlineSeconds: Invalid value: 9: must be less than or equal to previous value"],
            id="later deadline",
        ),
        pytest.param(
            pod(),
            pod(activeDeadlineSeconds=5),
            ["spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"],
            id="deadline removed",
        ),
        pytest.param(
            pod(tolerations=[]),
            pod(),
            ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
            id="toleration removed",
        ),
        pytest.param(
            pod(**GATED),
            pod(("schedulingGates",), **GATED),
            ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'a/g'"],
            id="gate added",
        ),
        pytest.param(
            pod(("nodeSelector",), **GATED),
            pod(**GATED),
            [
                "spec.nodeSelector: Invalid value: null: "
                "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            ],
            id="gated: less choosy",
        ),
        pytest.param(
            pod(**GATED, affinity=wants(term("y"))),
            pod(**GATED, affinity=wants(term("x"))),
            [
                f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]: Invalid value: "
                '{"MatchExpressions":[{"Key":"a","Operator":"In","Values":["y"]}],"MatchFields":null}: '
                "only additions are allowed (no mutations or deletions)"
            ],
            id="gated: other term",
        ),
        pytest.param(
            pod(**GATED),
            pod(**GATED, affinity=wants(term("x"))),
            [
                f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms: Invalid value: null: "
                "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
            ],
            id="gated: no terms",
        ),
        pytest.param(
            pod(_annotations={"kubernetes.io/config.mirror": "b"}, nodeName="n"),
            pod(nodeName="n"),
            ["metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation"],
            id="made a mirror pod",
        ),
    ],
)
def test_this_may_not_change(new, old, says):
    found = judge(new, old)
    assert len(found) == len(says)
    assert all(error.startswith(text) for error, text in zip(found, says, strict=True)), found


def test_a_refused_change_lists_what_may_change_and_shows_the_difference():
    errors = validate_pod_update(pod(hostname="h"), pod(), PodValidationOptions())
    assert errors[-1].detail.split("\n", 1)[0].endswith("(allow it to be set to 1 if it was previously negative)")
    assert '\n- "Hostname": "",\n+ "Hostname": "h",\n' in errors[-1].detail


def test_an_image_is_not_taken_away():
    fields = [
        error.field
        for error in validate_pod_update(pod(containers=[{**CONTAINER, "image": ""}]), pod(), PodValidationOptions())
    ]
    assert fields == ["spec.containers[0].image"] * 2


@pytest.mark.parametrize(
    ("new", "says"),
    [
        pytest.param(pod(), [], id="in order"),
        pytest.param(
            pod(ephemeralContainers=[{**CONTAINER, "name": "e"}]),
            ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
            id="ephemeral container",
        ),
        pytest.param(
            pod(**GATED, nodeName="n"),
            ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
            id="gated, yet on a node",
        ),
        pytest.param(
            pod(containers=[{**CONTAINER, "image": "i "}]),
            ['spec.containers[0].image: Invalid value: "i ": must not have leading or trailing whitespace'],
            id="blank after the image",
        ),
        pytest.param(
            pod(_annotations={"controller.kubernetes.io/pod-deletion-cost": "+1"}),
            [
                'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": '
                "must be a 32bit integer"
            ],
            id="odd cost",
        ),
        pytest.param(
            pod(_annotations={"scheduler.alpha.kubernetes.io/tolerations": '[{"key": "a", "operator": "Odd"}]'}),
            [
                "metadata.annotations.scheduler.alpha.kubernetes.io/tolerations[0].operator: "
                'Unsupported value: "Odd": supported values: "Equal", "Exists"'
            ],
            id="annotated toleration",
        ),
    ],
)
def test_a_new_pod(new, says):
    assert [str(error) for error in validate_pod_create(new, PodValidationOptions())] == says


EPHEMERAL = {**CONTAINER, "name": "e"}


def test_ephemeral_containers_are_only_added_to():
    old = pod(ephemeralContainers=[EPHEMERAL])
    assert (
        validate_ephemeral_containers_update(
            pod(ephemeralContainers=[EPHEMERAL, {**EPHEMERAL, "name": "f"}]), old, PodValidationOptions()
        )
        == []
    )
    (removed,) = validate_ephemeral_containers_update(pod(), old, PodValidationOptions())
    assert removed.detail == 'existing ephemeral containers "e" may not be removed\n'
    (changed,) = validate_ephemeral_containers_update(
        pod(ephemeralContainers=[{**EPHEMERAL, "image": "x"}]), old, PodValidationOptions()
    )
    assert changed.detail.startswith('existing ephemeral containers "e" may not be changed\n@@')


def test_a_static_pod_takes_no_ephemeral_containers():
    old = pod(_annotations={"kubernetes.io/config.mirror": "x"}, nodeName="n")
    (error,) = validate_ephemeral_containers_update(old, old, PodValidationOptions())
    assert str(error) == ": Forbidden: static pods do not support ephemeral containers"
