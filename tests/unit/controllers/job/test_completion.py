"""How jobs end, by their pods and their gates."""

from datetime import UTC, datetime

import pytest

from mockkube.controllers.job.completion import (
    completed_condition,
    enact_job_finished,
    final_condition,
    find_finished_condition,
    select_pods_to_untrack,
)
from mockkube.controllers.job.job_properties import JobFeatures
from mockkube.controllers.job.pod_counts import count_job_pods

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LATE, AT_ONCE = JobFeatures(True, True, True), JobFeatures(False, False, False)
TRACKED = ["batch.kubernetes.io/job-tracking"]


def job(conditions=(), **spec):
    template = {"spec": {"restartPolicy": "Never"}}
    spec = {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": template, **spec}
    status = {"conditions": [{"status": "True", **one} for one in conditions]}
    return {"metadata": {"name": "j", "namespace": "d", "uid": "u"}, "spec": spec, "status": status}


def pod(uid, phase="Running", index=None, **metadata):
    annotations = {} if index is None else {"batch.kubernetes.io/job-completion-index": str(index)}
    fields = {"name": uid, "namespace": "d", "uid": uid, "finalizers": TRACKED, "annotations": annotations}
    born = {"creationTimestamp": "2030-01-01T00:00:00Z"}
    return {"metadata": {**born, **fields, **metadata}, "spec": {}, "status": {"phase": phase}}


def kind_of(condition):
    return None if condition is None else (condition["type"], condition["reason"])


@pytest.mark.parametrize(
    ("given", "pods", "expected"),
    [
        pytest.param(job(), [pod("a"), pod("b", "Succeeded")], None, id="goes on"),
        pytest.param(job(), [pod("a", "Failed")], ("FailureTarget", "BackoffLimitExceeded"), id="failed too often"),
        pytest.param(
            job([{"type": "SuccessCriteriaMet", "reason": "SuccessPolicy"}]),
            [pod("a", "Failed")],
            ("SuccessCriteriaMet", "SuccessPolicy"),
            id="has succeeded before",
        ),
        pytest.param(
            job([{"type": "FailureTarget", "reason": "DeadlineExceeded"}]),
            [],
            ("Failed", "DeadlineExceeded"),
            id="was to fail before",
        ),
    ],
)
def test_a_job_is_to_end(given, pods, expected):
    assert kind_of(find_finished_condition(count_job_pods(given, pods, LATE, ()), NOW)) == expected


def test_without_the_gates_a_job_has_failed_or_succeeded_at_once():
    failed = count_job_pods(job(), [pod("a", "Failed")], AT_ONCE, ())
    assert kind_of(find_finished_condition(failed, NOW)) == ("Failed", "BackoffLimitExceeded")
    assert completed_condition(AT_ONCE, NOW)["type"] == "Complete"
    assert final_condition(completed_condition(LATE, NOW), NOW)["type"] == "Complete"


def test_pods_that_ended_are_noted_once_and_let_go():
    tally = count_job_pods(job(), [pod("a", "Failed"), pod("b", "Succeeded"), pod("c")], LATE, ())
    done = select_pods_to_untrack(tally, None)
    assert ([one["metadata"]["uid"] for one in done.pods], done.changed) == (["a", "b"], True)
    assert tally.status["uncountedTerminatedPods"] == {"succeeded": ["b"], "failed": ["a"]}
    assert select_pods_to_untrack(tally, None).changed is False
    assert tally.clean_uncounted_pods(()) is True
    assert (tally.status["succeeded"], tally.status["failed"]) == (1, 1)


def test_pods_known_to_be_let_go_are_not_noted_again():
    tally = count_job_pods(job(), [pod("a", "Failed")], LATE, ("a",))
    assert (tally.failed, select_pods_to_untrack(tally, None).pods) == (0, [])


def test_when_a_job_fails_whatever_has_not_succeeded_has_failed():
    tally = count_job_pods(job(), [pod("a"), pod("b", "Succeeded")], LATE, ())
    select_pods_to_untrack(tally, {"type": "FailureTarget"})
    assert tally.uncounted_uids("failed") == ["a"]
    other = count_job_pods(job(), [pod("a"), pod("b", "Succeeded")], LATE, ())
    select_pods_to_untrack(other, {"type": "SuccessCriteriaMet"})
    assert other.uncounted_uids("failed") == []


def test_a_job_has_not_ended_while_pods_go_or_wait_to_be_counted():
    end = final_condition(completed_condition(LATE, NOW), NOW)
    going = count_job_pods(job(), [pod("a", deletionTimestamp="2030-01-01T00:00:30Z", finalizers=[])], LATE, ())
    assert enact_job_finished(going, end, NOW) is False
    uncounted = count_job_pods(job(), [], LATE, ())
    uncounted.uncounted_uids("failed").append("a")
    assert enact_job_finished(uncounted, end, NOW) is False
    gone = count_job_pods(job(), [], LATE, ())
    assert enact_job_finished(gone, end, NOW) is True
    assert gone.status["completionTime"] == "2030-01-01T00:00:00Z"


def test_a_failed_pod_of_an_index_stays_until_another_has_taken_over():
    given = job(completionMode="Indexed", backoffLimitPerIndex=3, backoffLimit=100)
    waiting = count_job_pods(given, [pod("a", "Failed", 0), pod("b", "Running", 1)], LATE, ())
    assert (list(waiting.delayed_deletion_by_index), select_pods_to_untrack(waiting, None).pods) == ([0], [])
    replaced = count_job_pods(given, [pod("a", "Failed", 0), pod("c", "Running", 0)], LATE, ())
    assert [one["metadata"]["uid"] for one in select_pods_to_untrack(replaced, None).pods] == ["a"]
