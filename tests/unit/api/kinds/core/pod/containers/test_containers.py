"""Containers: ordinary, init and ephemeral."""

import pytest

from mockkube.api.kinds.core.pod.containers.containers import (
    ContainerValidationContext,
    ContainerValidationOptions,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from mockkube.api.kinds.core.pod.containers.probes import HandlerValidationContext

GOOD = {"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File", "resources": {}}


def around(restart_policy="Always", **rules):
    return ContainerValidationContext(
        ContainerValidationOptions(**rules), {}, (), HandlerValidationContext(30, None), restart_policy, True
    )


def ordinary(*containers, **kwargs):
    return [str(error) for error in validate_containers(containers, "c", around(**kwargs))]


def init(container, **kwargs):
    return [str(error) for error in validate_init_containers([container], "i", around(**kwargs), [GOOD])]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param({}, [], id="in order"),
        pytest.param({"name": "A"}, ["c[0].name"], id="bad name"),
        pytest.param({"name": "", "image": ""}, ["c[0].name", "c[0].image"], id="neither name nor image"),
        pytest.param({"imagePullPolicy": "Odd"}, ["c[0].imagePullPolicy"], id="unknown pull policy"),
        pytest.param({"terminationMessagePolicy": ""}, ["c[0].terminationMessagePolicy"], id="no message policy"),
        pytest.param({"ports": [{"containerPort": 80, "protocol": "TCP"}]}, [], id="port"),
        pytest.param(
            {"ports": [{"protocol": "Odd", "name": "a--b", "hostPort": 70000}]},
            ["c[0].ports[0].name", "c[0].ports[0].containerPort", "c[0].ports[0].hostPort", "c[0].ports[0].protocol"],
            id="everything wrong with a port",
        ),
        pytest.param(
            {"ports": [{"containerPort": 1, "protocol": "TCP", "name": "a"}] * 2},
            ["c[0].ports[1].name"],
            id="port names twice",
        ),
        pytest.param(
            {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2},
            ["c[0].resizePolicy[1]"],
            id="resource resized twice",
        ),
        pytest.param(
            {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]},
            ["c[0].restartPolicy"],
            id="rules without a policy",
        ),
        pytest.param(
            {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Odd"}]},
            ["c[0].restartPolicyRules[0].action", "c[0].restartPolicyRules[0].exitCodes"],
            id="odd rule",
        ),
    ],
)
def test_an_ordinary_container(change, says):
    errors = validate_containers([{**GOOD, **change}], "c", around())
    assert [error.field for error in errors] == says


def test_there_is_a_container():
    assert ordinary() == ["c: Required value"]


def test_names_of_containers_differ():
    assert ordinary(GOOD, GOOD) == ['c[1].name: Duplicate value: "c"']


def test_ports_of_the_host_are_used_once():
    port = {"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}
    other = {**GOOD, "name": "d", "ports": [port, {**port, "hostIP": "10.0.0.1"}]}
    assert ordinary({**GOOD, "ports": [port]}, other) == ['c[1].ports[0].hostPort: Duplicate value: "TCP//8080"']


def test_a_restart_policy_of_its_own_waits_for_its_gate():
    assert ordinary({**GOOD, "restartPolicy": "Never"}, restart_rules=False) == [
        "c[0].restartPolicy: Forbidden: may not be set for non-init containers"
    ]


def test_nothing_restarts_on_resize_in_a_pod_that_never_restarts():
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    assert ordinary({**GOOD, "resizePolicy": policy}, restart_policy="Never") == [
        'c[0].resizePolicy: Invalid value: "RestartContainer": '
        "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
    ]


PROBE = {"tcpSocket": {"port": 80}, "successThreshold": 1}


def test_only_sidecars_have_probes_before_the_pod_runs():
    container = {**GOOD, "name": "i", "livenessProbe": PROBE}
    assert init(container) == [
        "i[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always"
    ]
    assert init({**container, "restartPolicy": "Always"}) == []


def test_an_init_container_is_not_called_like_an_ordinary_one():
    assert init(GOOD) == ['i[0].name: Duplicate value: "c"']


@pytest.mark.parametrize(
    ("rules", "policy", "says"),
    [
        pytest.param({}, "OnFailure", [], id="any policy"),
        pytest.param(
            {"restart_rules": False},
            "OnFailure",
            ['i[0].restartPolicy: Unsupported value: "OnFailure": supported values: "Always"'],
            id="only sidecars are known yet",
        ),
    ],
)
def test_restart_policies_of_init_containers(rules, policy, says):
    assert init({**GOOD, "name": "i", "restartPolicy": policy}, **rules) == says


def test_only_sidecars_restart_on_resize_unless_stored_otherwise():
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    container = {**GOOD, "name": "i", "resizePolicy": policy}
    assert init(container) == [
        'i[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": '
        "must not be set to 'RestartContainer' for non-sidecar initContainers"
    ]
    assert init(container, init_restart_on_resize=True) == []


def test_an_ephemeral_container_has_little():
    container = {**GOOD, "name": "e", "image": " i", "lifecycle": {}, "restartPolicy": "", "targetContainerName": "x"}
    mount = {"name": "v", "mountPath": "/a", "subPath": "b"}
    errors = validate_ephemeral_containers([{**container, "volumeMounts": [mount]}], "e", around(), {"c"})
    assert [str(error) for error in errors] == [
        'e[0].volumeMounts[0].name: Not found: "v"',
        'e[0].image: Invalid value: " i": must not have leading or trailing whitespace',
        'e[0].targetContainerName: Not found: "x"',
        "e[0].restartPolicy: Forbidden: cannot be set for an Ephemeral Container",
        "e[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container",
        "e[0].volumeMounts[0].subPath: Forbidden: cannot be set for an Ephemeral Container",
    ]
