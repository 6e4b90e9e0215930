"""Pods that wait are tried again after what concerns those who refused them, or keep them out."""

import pytest

from mockkube.runtime.virtual_time import VirtualClock
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from mockkube.scheduler.framework.interface import PreEnqueuePlugin
from mockkube.scheduler.framework.metrics import SchedulerMetrics
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SUCCESS, Status
from mockkube.scheduler.queue.queueing_hints import QueueingHints
from mockkube.scheduler.queue.scheduling_queue import SchedulingQueue, SchedulingQueueConfig

NAME = "default-scheduler"
NODE_ADDED = ClusterEvent(EventResource.NODE, ActionType.ADD)
POD_GONE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)


class Keeper(PreEnqueuePlugin):
    """Keeps out the pods that it is told to; interested in pods that go."""

    name = "Keeper"

    def __init__(self):
        self.kept, self.sure, self.asked = {}, {}, []

    def events_to_register(self):
        return (ClusterEventWithHint(EventResource.ASSIGNED_POD, ActionType.DELETE),)

    def pre_enqueue(self, pod):
        self.asked.append(pod.name)
        return Status.unresolvable("kept") if pod.uid in self.kept else SUCCESS

    def is_certain_to_reject(self, pod):
        return pod.uid in self.sure


@pytest.fixture
def keeper():
    return Keeper()


@pytest.fixture
def queue(keeper):
    clock, metrics = VirtualClock(), SchedulerMetrics()
    rules = SchedulingQueueConfig(
        sort_key=lambda waiting: (),
        pre_enqueue_plugins={NAME: [keeper]},
        hints={NAME: QueueingHints([keeper], clock, metrics)},
    )
    return SchedulingQueue(rules, clock, metrics, lambda pod: None)


def pod(name):
    return PodInfo({"metadata": {"name": name, "namespace": "a", "uid": name}, "spec": {}})


def refuse(queue, *names):
    for name in names:
        queue.add(pod(name))
        queued = queue.pop()
        queued.unschedulable_plugins = {"Keeper"}
        queue.add_unschedulable_if_not_present(queued)


def taken(queue):
    names = []
    while queue.is_ready() and (queued := queue.pop()) is not None:
        names.append(queued.pod.name)
    return names


def test_pods_are_tried_again_in_the_order_in_which_they_were_refused(queue, keeper):
    refuse(queue, "a", "b", "c")
    keeper.kept["a"] = keeper.kept["c"] = None
    queue.move_all_to_active_or_backoff_queue(POD_GONE)
    keeper.kept.clear()
    queue.move_all_to_active_or_backoff_queue(POD_GONE)
    assert taken(queue) == ["b", "a", "c"]


def test_an_event_that_concerns_nobody_who_refused_a_pod_leaves_it_waiting(queue):
    refuse(queue, "a")
    queue.move_all_to_active_or_backoff_queue(NODE_ADDED)
    assert taken(queue) == []


def test_pods_that_are_surely_kept_out_are_asked_for_when_they_are_not_any_more(queue, keeper):
    refuse(queue, "a", "b")
    for waiting in (keeper.kept, keeper.sure):
        waiting["a"] = waiting["b"] = None
    queue.move_all_to_active_or_backoff_queue(POD_GONE)
    keeper.asked.clear()
    keeper.kept.clear()
    queue.move_all_to_active_or_backoff_queue(POD_GONE)
    assert (keeper.asked, taken(queue)) == ([], [])
    del keeper.sure["b"]
    queue.recheck_gate("b")
    queue.move_all_to_active_or_backoff_queue(POD_GONE)
    assert taken(queue) == ["b"]
