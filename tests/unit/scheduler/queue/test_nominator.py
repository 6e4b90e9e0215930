"""Nominations: who waits for room on which node."""

import pytest

from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.queue.nominator import Nominator


def pod(uid, nominated=""):
    status = {"nominatedNodeName": nominated} if nominated else {}
    return PodInfo({"metadata": {"name": uid, "namespace": "a", "uid": uid}, "spec": {}, "status": status})


@pytest.fixture
def nominations():
    return Nominator(lambda one: one)


def names(nominations, node):
    return [one.name for one in nominations.nominated_pods_for_node(node)]


def test_a_pod_is_nominated_to_one_node_at_a_time(nominations):
    nominations.add_nominated_pod(pod("p"), "n1")
    nominations.add_nominated_pod(pod("p"), "n2")
    assert (names(nominations, "n1"), names(nominations, "n2"), nominations.nominated_node_of("p")) == ([], ["p"], "n2")


def test_a_status_names_the_node_when_nobody_else_does(nominations):
    nominations.add_nominated_pod(pod("p", "n1"))
    assert names(nominations, "n1") == ["p"]
    nominations.add_nominated_pod(pod("p", "n1"), "")
    assert not nominations


def test_a_revision_that_does_not_know_of_it_yet_keeps_the_nomination(nominations):
    nominations.add_nominated_pod(pod("p"), "n1")
    nominations.update_nominated_pod(pod("p"), pod("p"))
    assert names(nominations, "n1") == ["p"]


def test_a_nomination_that_was_taken_back_is_gone(nominations):
    nominations.add_nominated_pod(pod("p", "n1"))
    nominations.update_nominated_pod(pod("p", "n1"), pod("p"))
    assert not nominations


def test_a_pod_that_is_gone_or_bound_is_not_nominated():
    nominations = Nominator(lambda one: None)
    nominations.add_nominated_pod(pod("p"), "n1")
    assert "n1" not in nominations
