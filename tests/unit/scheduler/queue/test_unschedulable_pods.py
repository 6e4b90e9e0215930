"""Pods that wait are kept by why they wait, in the order in which they came."""

import pytest

from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.queue.queued_pod_info import QueuedPodInfo
from mockkube.scheduler.queue.unschedulable_pods import UnschedulablePods


def waiting(name, *refused_by, gate=""):
    pod = PodInfo({"metadata": {"name": name, "namespace": "a", "uid": name}, "spec": {}})
    return QueuedPodInfo(pod, 0.0, unschedulable_plugins=set(refused_by), gating_plugin=gate)


@pytest.fixture
def aside():
    return UnschedulablePods()


def names(waiting):
    return [queued.pod.name for queued in waiting]


def test_pods_that_wait_for_the_same_are_together(aside):
    for queued in (waiting("a", "Fit"), waiting("b", "Taints"), waiting("c", "Fit"), waiting("d", "Fit", gate="Gates")):
        aside.put(queued)
    assert [(reason.gating_plugin, names(group.values())) for reason, group in aside.by_reason()] == [
        ("", ["a", "c"]),
        ("", ["b"]),
        ("Gates", ["d"]),
    ]


def test_a_pod_that_waits_for_something_else_keeps_its_place(aside):
    first, second = waiting("a", "Fit"), waiting("b", "Fit")
    aside.put(first)
    aside.put(second)
    first.gating_plugin = "Gates"
    aside.put(first)
    assert names(aside) == ["b", "a"]
    assert names(aside.sort_by_arrival(list(aside))) == ["a", "b"]


def test_a_pod_is_gone_from_where_it_was_whatever_has_become_of_it(aside):
    queued = waiting("a", gate="Gates")
    aside.put(queued)
    queued.gating_plugin = ""
    aside.delete("a")
    aside.delete("a")
    assert (len(aside), "a" in aside, aside.get("a"), aside.by_reason()) == (0, False, None, [])
