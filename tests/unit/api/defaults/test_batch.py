import pytest

from mockkube.api.kinds.batch.cron_job import default_cron_job
from mockkube.api.kinds.batch.job import default_job
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import DEFAULT, Version

REPLACEMENT = "JobPodReplacementPolicy"


def job(version=DEFAULT, gates=(REPLACEMENT,), labels=None, **spec):
    template = {"metadata": {"labels": labels} if labels else {}, "spec": {}}
    obj = {"metadata": {"name": "j"}, "spec": {"template": template, **spec}, "status": {}}
    default_job(obj, Capabilities(version, frozenset(gates)))
    return obj


@pytest.mark.parametrize(
    ("given", "completions", "parallelism"),
    [
        pytest.param({}, 1, 1, id="a single pod"),
        pytest.param({"completions": 5}, 5, 1, id="one after another"),
        pytest.param({"parallelism": 3}, None, 3, id="a queue of work"),
        pytest.param({"parallelism": 0}, None, 0, id="none yet"),
    ],
)
def test_completions_follow_from_parallelism(given, completions, parallelism):
    spec = job(**given)["spec"]
    assert (spec.get("completions"), spec["parallelism"]) == (completions, parallelism)


def test_a_job_gets_what_every_job_has():
    spec = job()["spec"]
    del spec["template"]
    assert spec == {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }


def test_with_a_limit_per_index_there_is_none_for_the_job():
    assert job(backoffLimitPerIndex=0)["spec"]["backoffLimit"] == 2147483647


def test_with_a_failure_policy_pods_are_replaced_only_once_they_failed():
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": ""}]}]
    spec = job(podFailurePolicy={"rules": rules})["spec"]
    assert spec["podReplacementPolicy"] == "Failed"
    assert rules[0]["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]


@pytest.mark.parametrize(
    ("version", "gates", "says"),
    [
        pytest.param(Version(1, 36), (REPLACEMENT,), True, id="with the gate"),
        pytest.param(Version(1, 33), (), False, id="without the gate"),
        pytest.param(Version(1, 37), (), True, id="after the gate"),
    ],
)
def test_the_replacement_policy_had_a_gate(version, gates, says):
    assert ("podReplacementPolicy" in job(version, gates)["spec"]) is says


def test_labels_come_from_the_template():
    obj = job(labels={"app": "a"})
    assert obj["metadata"]["labels"] == {"app": "a"}
    assert obj["metadata"]["labels"] is obj["spec"]["template"]["metadata"]["labels"]  # so that it gets what they get


def test_a_cron_job_allows_overlaps_and_leaves_its_jobs_alone():
    patterns = [{"type": "DisruptionTarget", "status": ""}]
    inner = {
        "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": patterns}]},
        "template": {"metadata": {}, "spec": {"restartPolicy": "Never"}},
    }
    obj = {"metadata": {}, "spec": {"schedule": "* * * * *", "jobTemplate": {"metadata": {}, "spec": inner}}}
    default_cron_job(obj, Capabilities(gates=frozenset({REPLACEMENT})))
    spec = obj["spec"]
    assert spec["concurrencyPolicy"] == "Allow"
    assert (spec["suspend"], spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (False, 3, 1)
    assert set(inner) == {"podFailurePolicy", "template"}
    assert patterns[0]["status"] == "True"
    assert inner["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
