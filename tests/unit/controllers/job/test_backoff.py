"""How long jobs wait after failures."""

from datetime import UTC, datetime, timedelta

import pytest

from mockkube.controllers.job.backoff import BackoffRecord, finished_at, index_remaining_backoff_seconds

START = datetime(2030, 1, 1, tzinfo=UTC)


def at(seconds):
    return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def ended(*seconds, created=0, init=(), sidecars=(), conditions=(), **metadata):
    def status(name, end):
        return {"name": name, "state": {"running": {}} if end is None else {"terminated": {"finishedAt": at(end)}}}

    return {
        "metadata": {"name": "p", "creationTimestamp": at(created), **metadata},
        "spec": {"initContainers": [{"name": name, "restartPolicy": "Always"} for name in sidecars]},
        "status": {
            "conditions": list(conditions),
            "containerStatuses": [status(f"c{index}", end) for index, end in enumerate(seconds)],
            "initContainerStatuses": [status(name, end) for name, end in init],
        },
    }


NOT_READY = {"type": "Ready", "status": "False", "lastTransitionTime": at(7)}


@pytest.mark.parametrize(
    ("pod", "seconds"),
    [
        pytest.param(ended(3, 5), 5, id="with its last container"),
        pytest.param(ended(3, init=[("s", 6)], sidecars=["s"]), 6, id="with its last sidecar"),
        pytest.param(ended(3, init=[("i", 9)]), 3, id="init containers do not count"),
        pytest.param(ended(3, None, conditions=[NOT_READY]), 7, id="when it was not ready any more"),
        pytest.param(ended(3, init=[("s", None)], sidecars=["s"], conditions=[NOT_READY]), 7, id="a sidecar runs"),
        pytest.param(ended(deletionTimestamp=at(40), deletionGracePeriodSeconds=30), 10, id="when it was deleted"),
        pytest.param(ended(created=2), 2, id="at the least when it was made"),
    ],
)
def test_when_a_pod_has_ended(pod, seconds):
    assert finished_at(pod) == START + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (8, 600), (1000, 600)]
)
def test_the_wait_doubles_up_to_ten_minutes(failures, seconds):
    assert BackoffRecord(failures, START).remaining_seconds(START) == seconds


def test_a_success_ends_the_streak_but_for_what_failed_after_it():
    streak = BackoffRecord(5, START).with_finished_pods([ended(20)], [ended(10), ended(20), ended(30)])
    assert streak == BackoffRecord(1, START + timedelta(seconds=30))


def test_failures_prolong_the_streak_from_the_last_of_them():
    assert BackoffRecord(1, START).with_finished_pods([], [ended(30), ended(10)]) == BackoffRecord(
        3, START + timedelta(seconds=30)
    )


def test_an_index_waits_by_its_own_failures_counted_or_not():
    annotations = {"batch.kubernetes.io/job-index-failure-count": "1"}
    annotations["batch.kubernetes.io/job-index-ignored-failure-count"] = "1"
    assert index_remaining_backoff_seconds(ended(5, annotations=annotations), START + timedelta(seconds=15)) == 30
    assert index_remaining_backoff_seconds(None, START) == 0
