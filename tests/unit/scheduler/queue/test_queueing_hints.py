"""Which events help a pod, by what the plugins that refused it say."""

import pytest

from mockkube.runtime.virtual import VirtualClock
from mockkube.scheduler.framework.events import Action, ClusterEvent, ClusterEventWithHint, Subject
from mockkube.scheduler.framework.interface import Plugin
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.metrics import Metrics
from mockkube.scheduler.queue.queued_pod_info import QueuedPodInfo
from mockkube.scheduler.queue.queueing_hints import QueueingHints, QueueingStrategy, label, matches

POD = PodInfo({"metadata": {"name": "p", "namespace": "a"}, "spec": {}})
ADDED = ClusterEvent(Subject.NODE, Action.ADD)
TAINTED = ClusterEvent(Subject.NODE, Action.NODE_TAINT)
LABELLED = ClusterEvent(Subject.NODE, Action.NODE_LABEL)
CLAIMED = ClusterEvent(Subject.PVC, Action.UPDATE)


class Asking(Plugin):
    """A plugin with the interests it is given."""

    name = "Asking"

    def __init__(self, *interests: ClusterEventWithHint) -> None:
        self._interests = interests

    def interests(self):
        return self._interests


def hints(*interests: ClusterEventWithHint, asked: bool = True) -> QueueingHints:
    return QueueingHints([Asking(*interests)], VirtualClock(), Metrics(), asked=asked)


def refused(*, pending: bool = False) -> QueuedPodInfo:
    return QueuedPodInfo(POD, 0.0, **{"pending_by" if pending else "refused_by": {"Asking"}})


@pytest.mark.parametrize(
    ("interest", "event", "expected"),
    [
        pytest.param(ClusterEventWithHint(Subject.NODE, Action.ADD), ADDED, True, id="the same"),
        pytest.param(
            ClusterEventWithHint(Subject.NODE, Action.ADD | Action.NODE_LABEL), LABELLED, True, id="one of several"
        ),
        pytest.param(ClusterEventWithHint(Subject.NODE, Action.UPDATE), LABELLED, True, id="any update"),
        pytest.param(ClusterEventWithHint(Subject.NODE, Action.UPDATE), ADDED, False, id="new is no update"),
        pytest.param(ClusterEventWithHint(Subject.NODE, Action.NODE_LABEL), TAINTED, False, id="another update"),
        pytest.param(ClusterEventWithHint(Subject.PVC, Action.UPDATE), LABELLED, False, id="another subject"),
        pytest.param(ClusterEventWithHint(Subject.WILDCARD, Action.ADD), CLAIMED, True, id="anything"),
    ],
)
def test_interests_match_events(interest, event, expected):
    assert matches(interest, event) is expected


def test_a_hint_decides():
    by_hint = hints(ClusterEventWithHint(Subject.NODE, Action.ADD, lambda pod, event: event.new is not None))
    assert by_hint.worth(refused(), ADDED) is QueueingStrategy.NOTHING
    assert by_hint.worth(refused(), ClusterEvent(Subject.NODE, Action.ADD, new={})) is QueueingStrategy.AFTER_BACKOFF


def test_hints_are_not_asked_where_the_gate_is_off():
    assert hints(ClusterEventWithHint(Subject.NODE, Action.ADD, lambda pod, event: False), asked=False).worth(
        refused(), ADDED
    )


def test_a_hint_that_fails_does_not_leave_the_pod_waiting(caplog):
    def fail(pod, event):
        raise KeyError("no")

    assert (
        hints(ClusterEventWithHint(Subject.NODE, Action.ADD, fail)).worth(refused(), ADDED)
        is QueueingStrategy.AFTER_BACKOFF
    )
    assert "hint of Asking for pod a/p" in caplog.text


def test_what_a_pending_plugin_waited_for_brings_the_pod_back_at_once():
    assert (
        hints(ClusterEventWithHint(Subject.NODE, Action.ADD)).worth(refused(pending=True), ADDED)
        is QueueingStrategy.AT_ONCE
    )


def test_who_refused_nothing_is_helped_by_anything():
    assert (
        hints(ClusterEventWithHint(Subject.PVC, Action.ADD)).worth(QueuedPodInfo(POD, 0.0), ADDED)
        is QueueingStrategy.AFTER_BACKOFF
    )


def test_who_asks_for_new_nodes_hears_of_taints_too():
    found = hints(ClusterEventWithHint(Subject.NODE, Action.ADD, lambda pod, event: False))
    assert found.worth(refused(), TAINTED) is QueueingStrategy.AFTER_BACKOFF
    assert found.worth(refused(), LABELLED) is QueueingStrategy.NOTHING


def test_a_plugin_without_interests_is_interested_in_everything():
    assert hints().worth(refused(), CLAIMED) is QueueingStrategy.AFTER_BACKOFF
    assert Subject.RESOURCE_SLICE in hints().subjects


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(ADDED, "NodeAdd", id="of nodes"),
        pytest.param(TAINTED, "NodeUpdateNodeTaint", id="of taints"),
        pytest.param(ClusterEvent(Subject.CSI_NODE, Action.DELETE), "storage.k8s.io/CSINodeDelete", id="with a group"),
        pytest.param(ClusterEvent(Subject.WILDCARD, Action.UPDATE, label="ForceActivate"), "ForceActivate", id="own"),
    ],
)
def test_metrics_call_events_as_upstream_does(event, expected):
    assert label(event) == expected
