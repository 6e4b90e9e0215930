"""The arithmetic of preemption: importance, and the cheapest node."""

import pytest

from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.preemption.candidates import (
    Candidate,
    importance_key,
    is_being_preempted,
    pick_one_node_for_preemption,
    sort_by_importance,
)


def pod(name, priority=0, started="", **fields):
    metadata = {"name": name, "namespace": "a", "uid": name, "labels": {"app": name}, **fields.pop("metadata", {})}
    status = {**({"startTime": started} if started else {}), **fields.pop("status", {})}
    return PodInfo({"metadata": metadata, "spec": {"priority": priority}, "status": status})


EARLY, LATE = "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"


def test_priority_counts_before_age_and_age_before_none():
    pods = [pod("new", 1), pod("late", 1, LATE), pod("early", 1, EARLY), pod("high", 2)]
    assert [one.name for one in sorted(pods, key=importance_key)] == ["high", "early", "late", "new"]


def test_of_pods_that_have_not_started_the_last_to_arrive_stays_longest():
    pods = [pod("first", 1), pod("early", 1, EARLY), pod("second", 1), pod("also early", 1, EARLY), pod("third", 1)]
    assert [one.name for one in sort_by_importance(pods)] == ["early", "also early", "third", "second", "first"]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        pytest.param(([pod("a", 9)], 0), ([pod("b", 1)], 1), id="no budget violated"),
        pytest.param(([pod("a", 1), pod("b", 1)], 0), ([pod("c", 2)], 0), id="less important victims"),
        pytest.param(([pod("a", 2), pod("b", 0)], 0), ([pod("c", 2), pod("d", 1)], 0), id="a lesser sum"),
        pytest.param(([pod("a", -5)], 0), ([pod("b", -5), pod("c", -9)], 0), id="negative priorities add up too"),
        pytest.param(([pod("a", 1, LATE)], 0), ([pod("b", 1, EARLY)], 0), id="who started last"),
        pytest.param(([pod("a", 1)], 0), ([pod("b", 1, LATE)], 0), id="who has not started"),
    ],
)
def test_the_cheapest_node_is_chosen(better, worse):
    candidates = [Candidate.from_victims("worse", *worse), Candidate.from_victims("better", *better)]
    assert pick_one_node_for_preemption(candidates).node_name == "better"


@pytest.mark.parametrize(
    ("metadata", "condition", "going"),
    [
        pytest.param({}, "PreemptionByScheduler", False, id="not deleted"),
        pytest.param({"deletionTimestamp": EARLY}, "PreemptionByScheduler", True, id="preempted"),
        pytest.param({"deletionTimestamp": EARLY}, "DeletionByTaintManager", False, id="for another reason"),
    ],
)
def test_pods_on_their_way_out_are_known(metadata, condition, going):
    conditions = [{"type": "DisruptionTarget", "status": "True", "reason": condition}]
    assert is_being_preempted(pod("x", metadata=metadata, status={"conditions": conditions})) is going
