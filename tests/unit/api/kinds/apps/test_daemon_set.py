import pytest

from mockkube.api.kinds.apps.daemon_set import TEMPLATE_GENERATION_ANNOTATION, DaemonSetStrategy

STRATEGY = DaemonSetStrategy()


def daemon_set(image="i", rolling=None, **spec):
    container = {
        "name": "c",
        "image": image,
        "imagePullPolicy": "Always",
        "terminationMessagePolicy": "File",
        "resources": {},
    }
    pod = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "containers": [container]}
    pod["terminationGracePeriodSeconds"] = 30
    fields = {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling or {"maxUnavailable": 1, "maxSurge": 0}},
    }
    return {"metadata": {"name": "d"}, "spec": {**fields, **spec}, "status": {}}


def test_versions_of_the_template_are_counted_in_an_annotation(judge):
    old = daemon_set()
    STRATEGY.prepare_for_create(old, judge())
    assert old["metadata"]["annotations"] == {TEMPLATE_GENERATION_ANNOTATION: "1"}
    new = daemon_set(image="j")
    STRATEGY.prepare_for_update(new, old, judge())
    assert new["metadata"]["annotations"] == {TEMPLATE_GENERATION_ANNOTATION: "2"}
    assert new["metadata"]["generation"] == 2


def test_a_write_of_the_status_keeps_the_version(judge):
    old = daemon_set()
    STRATEGY.prepare_for_create(old, judge())
    new = daemon_set(image="j")
    STRATEGY.prepare_for_update(new, old, judge(subresource="status"))
    assert new["metadata"]["annotations"] == {TEMPLATE_GENERATION_ANNOTATION: "1"}


@pytest.mark.parametrize(
    ("rolling", "complaints"),
    [
        pytest.param({"maxUnavailable": 1, "maxSurge": 0}, [], id="one missing"),
        pytest.param({"maxUnavailable": 0, "maxSurge": "10%"}, [], id="some more"),
        pytest.param(
            {"maxUnavailable": 1, "maxSurge": 1},
            [
                "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is "
                "non-zero"
            ],
            id="both",
        ),
        pytest.param(
            {"maxUnavailable": 0, "maxSurge": 0},
            ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
            id="neither",
        ),
    ],
)
def test_nodes_miss_a_pod_or_have_one_more(judge, rolling, complaints):
    assert [str(error) for error in STRATEGY.validate(daemon_set(rolling=rolling), judge())] == complaints


def test_an_empty_selector_is_refused(judge):
    (error,) = STRATEGY.validate(daemon_set(selector={}), judge())
    assert str(error) == "spec.selector: Invalid value: {}: empty selector is invalid for daemonset"


def test_the_selector_never_changes(judge):
    new = daemon_set(selector={"matchExpressions": [{"key": "a", "operator": "Exists"}]})
    (error,) = STRATEGY.validate_update(new, daemon_set(), judge())
    assert error.detail == "field is immutable"
