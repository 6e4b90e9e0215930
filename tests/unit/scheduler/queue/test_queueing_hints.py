"""Which events help a pod, by what the plugins that refused it say."""

import pytest

from mockkube.runtime.virtual_time import VirtualClock
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from mockkube.scheduler.framework.interface import Plugin
from mockkube.scheduler.framework.metrics import SchedulerMetrics
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.queue.queued_pod_info import QueuedPodInfo
from mockkube.scheduler.queue.queueing_hints import QueueingHints, QueueingStrategy, event_label, match_event

POD = PodInfo({"metadata": {"name": "p", "namespace": "a"}, "spec": {}})
ADDED = ClusterEvent(EventResource.NODE, ActionType.ADD)
TAINTED = ClusterEvent(EventResource.NODE, ActionType.NODE_TAINT)
LABELLED = ClusterEvent(EventResource.NODE, ActionType.NODE_LABEL)
CLAIMED = ClusterEvent(EventResource.PVC, ActionType.UPDATE)


class Asking(Plugin):
    """A plugin with the interests it is given."""

    name = "Asking"

    def __init__(self, *interests: ClusterEventWithHint) -> None:
        self._interests = interests

    def events_to_register(self):
        return self._interests


def hints(*interests: ClusterEventWithHint, asked: bool = True) -> QueueingHints:
    return QueueingHints([Asking(*interests)], VirtualClock(), SchedulerMetrics(), hints_enabled=asked)


def refused(*, pending: bool = False) -> QueuedPodInfo:
    return QueuedPodInfo(POD, 0.0, **{"pending_plugins" if pending else "unschedulable_plugins": {"Asking"}})


@pytest.mark.parametrize(
    ("interest", "event", "expected"),
    [
        pytest.param(ClusterEventWithHint(EventResource.NODE, ActionType.ADD), ADDED, True, id="the same"),
        pytest.param(
            ClusterEventWithHint(EventResource.NODE, ActionType.ADD | ActionType.NODE_LABEL),
            LABELLED,
            True,
            id="one of several",
        ),
        pytest.param(ClusterEventWithHint(EventResource.NODE, ActionType.UPDATE), LABELLED, True, id="any update"),
        pytest.param(ClusterEventWithHint(EventResource.NODE, ActionType.UPDATE), ADDED, False, id="new is no update"),
        pytest.param(
            ClusterEventWithHint(EventResource.NODE, ActionType.NODE_LABEL), TAINTED, False, id="another update"
        ),
        pytest.param(ClusterEventWithHint(EventResource.PVC, ActionType.UPDATE), LABELLED, False, id="another subject"),
        pytest.param(ClusterEventWithHint(EventResource.WILDCARD, ActionType.ADD), CLAIMED, True, id="anything"),
    ],
)
def test_interests_match_events(interest, event, expected):
    assert match_event(interest, event) is expected


def test_a_hint_decides():
    by_hint = hints(ClusterEventWithHint(EventResource.NODE, ActionType.ADD, lambda pod, event: event.new is not None))
    assert by_hint.is_pod_worth_requeuing(refused(), ADDED) is QueueingStrategy.SKIP
    assert (
        by_hint.is_pod_worth_requeuing(refused(), ClusterEvent(EventResource.NODE, ActionType.ADD, new={}))
        is QueueingStrategy.AFTER_BACKOFF
    )


def test_hints_are_not_asked_where_the_gate_is_off():
    assert hints(
        ClusterEventWithHint(EventResource.NODE, ActionType.ADD, lambda pod, event: False), asked=False
    ).is_pod_worth_requeuing(refused(), ADDED)


def test_a_hint_that_fails_does_not_leave_the_pod_waiting(caplog):
    def fail(pod, event):
        raise KeyError("no")

    assert (
        hints(ClusterEventWithHint(EventResource.NODE, ActionType.ADD, fail)).is_pod_worth_requeuing(refused(), ADDED)
        is QueueingStrategy.AFTER_BACKOFF
    )
    assert "hint of Asking for pod a/p" in caplog.text


def test_what_a_pending_plugin_waited_for_brings_the_pod_back_at_once():
    assert (
        hints(ClusterEventWithHint(EventResource.NODE, ActionType.ADD)).is_pod_worth_requeuing(
            refused(pending=True), ADDED
        )
        is QueueingStrategy.IMMEDIATELY
    )


def test_who_refused_nothing_is_helped_by_anything():
    assert (
        hints(ClusterEventWithHint(EventResource.PVC, ActionType.ADD)).is_pod_worth_requeuing(
            QueuedPodInfo(POD, 0.0), ADDED
        )
        is QueueingStrategy.AFTER_BACKOFF
    )


def test_who_asks_for_new_nodes_hears_of_taints_too():
    found = hints(ClusterEventWithHint(EventResource.NODE, ActionType.ADD, lambda pod, event: False))
    assert found.is_pod_worth_requeuing(refused(), TAINTED) is QueueingStrategy.AFTER_BACKOFF
    assert found.is_pod_worth_requeuing(refused(), LABELLED) is QueueingStrategy.SKIP


def test_a_plugin_without_interests_is_interested_in_everything():
    assert hints().is_pod_worth_requeuing(refused(), CLAIMED) is QueueingStrategy.AFTER_BACKOFF
    assert EventResource.RESOURCE_SLICE in hints().resources


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(ADDED, "NodeAdd", id="of nodes"),
        pytest.param(TAINTED, "NodeUpdateNodeTaint", id="of taints"),
        pytest.param(
            ClusterEvent(EventResource.CSI_NODE, ActionType.DELETE), "storage.k8s.io/CSINodeDelete", id="with a group"
        ),
        pytest.param(
            ClusterEvent(EventResource.WILDCARD, ActionType.UPDATE, label="ForceActivate"), "ForceActivate", id="own"
        ),
    ],
)
def test_metrics_call_events_as_upstream_does(event, expected):
    assert event_label(event) == expected
