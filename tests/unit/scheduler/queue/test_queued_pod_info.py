"""Backoff: how long a pod waits between attempts."""

import pytest

from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.queue.queued_pod_info import Backoff, QueuedPodInfo

POD = PodInfo({"metadata": {"name": "p", "namespace": "a"}, "spec": {}})


@pytest.mark.parametrize(
    ("refusals", "errors", "ends"),
    [
        pytest.param(0, 0, 0, id="never tried, never waits"),
        pytest.param(1, 0, 101, id="a second, to the whole second"),
        pytest.param(2, 0, 102, id="twice as long each time"),
        pytest.param(4, 0, 108, id="eight"),
        pytest.param(5, 0, 110, id="ten at most"),
        pytest.param(5, 1, 101, id="errors count by themselves"),
    ],
)
def test_the_pause_grows(refusals, errors, ends):
    assert (
        Backoff().window_of_end(
            QueuedPodInfo(POD, 100.7, unschedulable_count=refusals, consecutive_errors_count=errors)
        )
        == ends
    )


def test_the_second_in_which_it_ends_is_still_waited():
    backoff, queued = Backoff(), QueuedPodInfo(POD, 100.7, unschedulable_count=1)
    assert backoff.is_backing_off(queued, 101.9)
    assert not backoff.is_backing_off(queued, 102.0)
    assert backoff.ends_at(queued) == 102.0


def test_without_alignment_the_pause_is_exact():
    backoff, queued = Backoff(aligned=False), QueuedPodInfo(POD, 100.5, unschedulable_count=1)
    assert backoff.is_backing_off(queued, 101.4)
    # At this moment the queue is flushed; a pod that still waited would be flushed again and again.
    assert not backoff.is_backing_off(queued, backoff.ends_at(queued))


def test_a_longest_pause_of_nothing_means_none():
    assert not Backoff(seconds_max=0.0).is_backing_off(QueuedPodInfo(POD, 100.0, unschedulable_count=3), 100.0)
