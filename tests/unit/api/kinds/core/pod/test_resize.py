"""The resize subresource of pods."""

import pytest

from mockkube.api.kinds.core.pod.options import PodValidationOptions
from mockkube.api.kinds.core.pod.resize import validate_pod_resize
from mockkube.features.capabilities import Capabilities

CAPS = Capabilities(gates=frozenset({"PodLevelResources"}))
CONTAINER = {"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}


def pod(of_container, _status=None, **spec):
    base = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30}
    containers = [{**CONTAINER, "resources": of_container}]
    meta = {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1"}
    return {"metadata": meta, "spec": {**base, "containers": containers, **spec}, "status": _status or {}}


def cpu(amount, **more):
    return {"requests": {"cpu": amount, **more}}


def judge(new, old, rules=PodValidationOptions()):  # noqa: B008 - frozen
    return [str(error) for error in validate_pod_resize(new, old, rules, CAPS)]


ONLY = "spec: Forbidden: only cpu and memory resources are mutable"


@pytest.mark.parametrize(
    ("new", "old", "says"),
    [
        pytest.param(pod(cpu("2")), pod(cpu("1")), [], id="more"),
        pytest.param(pod(cpu("1", **{"ephemeral-storage": "1Gi"})), pod(cpu("1")), [ONLY], id="other resource"),
        pytest.param(
            pod({"requests": {"memory": "1Gi"}}),
            pod(cpu("1", memory="1Gi")),
            ["spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"],
            id="request removed",
        ),
        pytest.param(
            pod({**cpu("1"), "limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}),
            pod(cpu("1")),
            ['spec: Invalid value: "": Pod QOS Class may not change as a result of resizing'],
            id="of another quality",
        ),
        pytest.param(pod(cpu("1"), hostname="h"), pod(cpu("1")), [ONLY], id="something else"),
        pytest.param(
            pod(cpu("2")),
            pod(cpu("1"), os={"name": "windows"}),
            [": Forbidden: windows pods cannot be resized"],
            id="windows",
        ),
        pytest.param(
            pod(cpu("2")),
            pod(cpu("1"), {"containerStatuses": [{"name": "c", "state": {"running": {}}}]}),
            ["spec: Forbidden: Pod running on node without support for resize"],
            id="on an old node",
        ),
    ],
)
def test_what_a_pod_may_use_changes_and_nothing_else(new, old, says):
    assert judge(new, old) == says


def test_containers_are_not_renamed():
    new, old = pod(cpu("1")), pod(cpu("1"))
    new["spec"]["containers"] = [{**new["spec"]["containers"][0], "name": "d"}]
    assert judge(new, old) == [
        "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"
    ]


def test_the_pod_as_a_whole_is_resized_behind_a_gate():
    new = pod(cpu("1"), resources={"requests": {"cpu": "3"}})
    old = pod(cpu("1"), resources={"requests": {"cpu": "2"}})
    assert judge(new, old) == []
    (error,) = judge(new, old, PodValidationOptions(pod_level_resources_resize=False))
    assert error.startswith(": Forbidden: resize of pods with pod-level resources is forbidden")


def test_resources_of_the_pod_as_a_whole_are_not_removed():
    old = pod(cpu("1"), resources={"requests": {"cpu": "2"}})
    assert "spec.resources: Forbidden: pod-level resources cannot be removed" in judge(pod(cpu("1")), old)
