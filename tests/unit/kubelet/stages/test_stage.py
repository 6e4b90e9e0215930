"""Stages: which objects they select, how long they wait, what they write."""

from datetime import UTC, datetime
from textwrap import dedent

import pytest

from mockkube.kubelet.stages.stage import StageError, apply_finalizers, parse_stage
from mockkube.kubelet.stages.stage_controller import choose_stage
from mockkube.kubelet.stages.template_functions import TemplateDependencies, TemplateFactory
from mockkube.runtime.random import Random

NOW = datetime(2030, 1, 1, tzinfo=UTC)
MACHINE = TemplateDependencies(
    lambda: NOW, lambda node: f"ip of {node}", lambda node, uid: f"ip of {uid} on {node}", "1.36.4"
)
POD = {
    "metadata": {"name": "p", "uid": "u1", "labels": {"app": "web"}, "annotations": {"delay": "3s", "weight": "7"}},
    "spec": {"nodeName": "n1"},
    "status": {"phase": "Pending"},
}


def stage(name="s", selector=None, **spec):
    made = {"selector": {} if selector is None else selector, "resourceRef": {"kind": "Pod"}, **spec}
    return parse_stage({"metadata": {"name": name}, "spec": made}, TemplateFactory(MACHINE))


def seconds(share=0.0, **delay):
    return stage(delay=delay).delay.compute_seconds(POD, NOW, lambda: share)


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        pytest.param({}, True, id="everything"),
        pytest.param({"matchLabels": {"app": "web"}}, True, id="a label"),
        pytest.param({"matchLabels": {"app": "db"}}, False, id="another label"),
        pytest.param({"matchAnnotations": {"delay": "3s"}}, True, id="an annotation"),
        pytest.param({"matchExpressions": [{"key": ".status.phase", "operator": "In", "values": ["Pending"]}]},
                     True, id="an expression"),
        pytest.param({"matchExpressions": [{"key": ".status.podIP", "operator": "DoesNotExist"}]}, True, id="absent"),
        pytest.param({"matchExpressions": [{"key": ".status.phase[]", "operator": "NotIn", "values": ["x"]}]},
                     True, id="what fails is not in"),
        pytest.param({"matchExpressions": [{"jq": {"key": ".status.phase", "operator": "Exists"}}]}, True, id="jq"),
        pytest.param({"matchExpressions": [{"cel": {"expression": "self.status.phase == 'Pending'"}}]}, True, id="cel"),
        pytest.param({"matchExpressions": [{"cel": {"expression": "self.status.nothing == 'a'"}}]}, False,
                     id="cel that fails"),
    ],
)  # fmt: skip
def test_a_stage_selects(selector, selected):
    assert stage(selector=selector).selects(POD) is selected


def test_a_stage_without_a_selector_is_for_nothing():
    assert parse_stage({"metadata": {"name": "s"}, "spec": {}}, TemplateFactory(MACHINE)) is None


@pytest.mark.parametrize("selector", [
    {"matchExpressions": [{"key": ".a", "operator": "Near"}]},
    {"matchExpressions": [{"key": ".a", "operator": "In"}]},
    {"matchExpressions": [{"key": ".a |", "operator": "Exists"}]},
    {"matchExpressions": [{"cel": {"expression": "self."}}]},
])  # fmt: skip
def test_a_stage_that_is_not_understood_says_so(selector):
    with pytest.raises(StageError):
        stage(selector=selector)


@pytest.mark.parametrize(
    ("delay", "share", "waits"),
    [
        pytest.param({}, 0.5, 0.0, id="none"),
        pytest.param({"durationMilliseconds": 1000}, 0.5, 1.0, id="fixed"),
        pytest.param({"durationMilliseconds": 1000, "jitterDurationMilliseconds": 5000}, 0.5, 3.0, id="between"),
        pytest.param({"durationMilliseconds": 5000, "jitterDurationMilliseconds": 1000}, 0.5, 1.0, id="the shorter"),
        pytest.param({"durationMilliseconds": 1000, "durationFrom": {"expressionFrom": ".metadata.annotations.delay"}},
                     0.5, 3.0, id="as the object says"),
        pytest.param({"durationMilliseconds": 1000, "durationFrom": {"jq": {"expression": ".metadata.nothing"}}},
                     0.5, 1.0, id="as nobody says"),
        pytest.param({"durationFrom": {"jq": {"expression": '"2030-01-01T00:01:00Z"'}}}, 0.5, 60.0, id="until"),
        pytest.param({"durationFrom": {"jq": {"expression": '"2029-01-01T00:00:00Z"'}}}, 0.5, 0.0, id="long ago"),
    ],
)  # fmt: skip
def test_a_stage_waits(delay, share, waits):
    assert seconds(share, **delay) == waits


def test_weights_decide_among_stages():
    chance = Random.from_seed(1, "test")
    stages = [stage("never", weight=0), stage("always", weight=1)]
    assert {choose_stage(stages, POD, chance).name for _ in range(20)} == {"always"}
    equal = [stage("a"), stage("b")]
    assert {choose_stage(equal, POD, chance).name for _ in range(50)} == {"a", "b"}


def test_an_object_may_give_the_weight():
    weighty = stage(weight=1, weightFrom={"expressionFrom": ".metadata.annotations.weight"})
    assert weighty.find_weight(POD) == 7
    vague = stage(weight=1, weightFrom={"expressionFrom": ".status.phase"})
    assert vague.find_weight(POD) is None


def test_a_status_template_is_a_patch_of_the_status():
    text = """
      podIP: {{ PodIPWith .spec.nodeName false .metadata.uid .metadata.name "" | Quote }}
      hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
      startTime: {{ Now | Quote }}
      {{ range NodeConditions }}{{ if eq .type "Ready" }}
      reason: {{ .reason }}
      {{ end }}{{ end }}
    """
    made = stage(next={"statusTemplate": dedent(text)})
    [first, second] = made.steps
    assert first.patch is None
    assert second.patch.subresource == "status"
    assert made.render(second.patch, POD) == {
        "status": {
            "podIP": "ip of u1 on n1", "hostIP": "ip of n1", "startTime": "2030-01-01T00:00:00Z",
            "reason": "KubeletReady",
        }
    }  # fmt: skip


def test_roots_lead_the_paths_of_json_patches():
    steps = [{"patch": {"type": "json", "root": "metadata", "template": '[{"op": "remove", "path": "/labels"}]'}}]
    made = stage(steps=steps)
    assert made.render(made.steps[0].patch, POD) == [{"op": "remove", "path": "/metadata/labels"}]


def test_what_is_no_yaml_is_told():
    made = stage(next={"statusTemplate": "a: [}"})
    with pytest.raises(StageError):
        made.render(made.steps[1].patch, POD)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        pytest.param({"empty": True}, [], id="none"),
        pytest.param({"remove": [{"value": "a"}]}, ["b"], id="one less"),
        pytest.param({"add": [{"value": "c"}, {"value": "a"}]}, ["a", "b", "c"], id="one more"),
        pytest.param({"empty": True, "add": [{"value": "c"}]}, ["c"], id="another"),
        pytest.param({"remove": [{"value": "x"}]}, None, id="no change"),
    ],
)
def test_finalizers_come_and_go(change, left):
    assert apply_finalizers({"metadata": {"finalizers": ["a", "b"]}}, change) == left
