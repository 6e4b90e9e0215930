"""Which pods of a stateful set an update takes away, and which of those beyond its size may go."""

from datetime import UTC, datetime

import pytest

from mockkube.controllers.statefulset.stateful_set_plan import (
    BURST_MAX,
    PodNeed,
    RevisionedSets,
    StatefulSetFeatures,
    StatefulSetPlan,
    plan_stateful_set,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)
ONE_BY_ONE, SEVERAL = StatefulSetFeatures(True, False), StatefulSetFeatures(True, True)


def pod(ordinal, revision="old", *, phase="Running", ready=True, going=False):
    metadata = {"name": f"s-{ordinal}", "labels": {"controller-revision-hash": revision}}
    if going:
        metadata["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    since = "2029-12-31T23:59:50Z"
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": since}
    return {"metadata": metadata, "spec": {}, "status": {"phase": phase, "conditions": [condition]}}


def roster(replicas=(), condemned=(), rules=ONE_BY_ONE, policy="OrderedReady", seconds=0, **rolling):
    spec = {
        "replicas": len(replicas),
        "podManagementPolicy": policy,
        "minReadySeconds": seconds,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, **rolling}},
    }
    owner = {"metadata": {"name": "s", "generation": 1}, "spec": spec}
    return StatefulSetPlan(owner, "old", "new", replicas, condemned, NOW, rules)


def names(pods):
    return [one["metadata"]["name"] for one in pods]


@pytest.mark.parametrize(
    ("replicas", "rolling", "expected"),
    [
        pytest.param([pod(0), pod(1), pod(2)], {}, ["s-2"], id="the highest first"),
        pytest.param([pod(0), pod(1), pod(2, "new")], {}, ["s-1"], id="then the next"),
        pytest.param([pod(0), pod(1), pod(2, "new", ready=False)], {}, [], id="not while a new one is missed"),
        pytest.param([pod(0), pod(1), pod(2, going=True)], {}, [], id="not while an old one goes"),
        pytest.param([pod(0), pod(1, ready=False), pod(2)], {}, ["s-2"], id="whatever is below"),
        pytest.param([pod(0), pod(1), pod(2, "new")], {"partition": 2}, [], id="none below the partition"),
        pytest.param([pod(0), pod(1), pod(2)], {"maxUnavailable": 2}, ["s-2"], id="one only, without the gate"),
    ],
)
def test_one_pod_at_a_time_is_replaced(replicas, rolling, expected):
    assert names(roster(replicas, **rolling).pods_to_update()) == expected


@pytest.mark.parametrize(
    ("replicas", "rolling", "expected"),
    [
        pytest.param([pod(0), pod(1), pod(2)], {}, ["s-2"], id="one unless told otherwise"),
        pytest.param([pod(0), pod(1), pod(2)], {"maxUnavailable": 2}, ["s-2", "s-1"], id="as many as may be missed"),
        pytest.param([pod(0, ready=False), pod(1), pod(2)], {"maxUnavailable": 2}, ["s-2"], id="less those missed"),
        pytest.param([pod(0), pod(1), pod(2)], {"maxUnavailable": "10%"}, ["s-2"], id="at least one"),
        pytest.param([pod(0), pod(1), pod(2)], {"maxUnavailable": "70%"}, ["s-2", "s-1"], id="a share rounded down"),
        pytest.param(
            [pod(0), pod(1), pod(2)], {"maxUnavailable": 3, "partition": 2}, ["s-2"], id="above the partition"
        ),
    ],
)
def test_with_the_gate_several_pods_are_replaced_at_a_time(replicas, rolling, expected):
    assert names(roster(replicas, rules=SEVERAL, **rolling).pods_to_update()) == expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [pytest.param(StatefulSetFeatures(False, False), ["s-1"], id="1.33"), pytest.param(ONE_BY_ONE, [], id="1.34")],
)
def test_since_1_34_a_pod_that_is_ready_too_short_holds_up_the_update(rules, expected):
    assert names(roster([pod(0), pod(1), pod(2, "new")], rules=rules, seconds=60).pods_to_update()) == expected


@pytest.mark.parametrize(
    ("one", "need"),
    [
        pytest.param(pod(0), PodNeed.NOTHING, id="serves"),
        pytest.param(pod(0, phase=""), PodNeed.CREATION, id="is not there"),
        pytest.param(pod(0, phase="Failed"), PodNeed.DELETION, id="failed"),
        pytest.param(pod(0, phase="Succeeded"), PodNeed.DELETION, id="succeeded"),
        pytest.param(pod(0, phase="Failed", going=True), PodNeed.WAIT, id="failed and goes"),
        pytest.param(pod(0, phase="Pending", ready=False), PodNeed.WAIT, id="does not run yet"),
        pytest.param(pod(0, ready=False), PodNeed.WAIT, id="is not ready"),
        pytest.param(pod(0, going=True), PodNeed.WAIT, id="goes"),
    ],
)
def test_what_a_pod_needs_first(one, need):
    assert roster([one]).find_need(one) is need


@pytest.mark.parametrize(
    ("replicas", "condemned", "policy", "may"),
    [
        pytest.param([pod(0)], pod(1), "OrderedReady", True, id="it serves and all others do"),
        pytest.param([pod(0)], pod(1, ready=False), "OrderedReady", True, id="it is the only one missed"),
        pytest.param([pod(0, ready=False)], pod(1, ready=False), "OrderedReady", False, id="a lower one is missed too"),
        pytest.param([pod(0, ready=False)], pod(1, ready=False), "Parallel", True, id="nobody waits"),
        pytest.param([pod(0)], pod(1, going=True), "Parallel", False, id="it goes already"),
    ],
)
def test_when_a_pod_beyond_the_size_may_go(replicas, condemned, policy, may):
    assert roster(replicas, [condemned], policy=policy).may_delete_condemned(condemned) is may


def planned(present, *, replicas, policy="Parallel", start=0):
    template = {"metadata": {"labels": {"app": "s"}}, "spec": {"containers": []}}
    spec = {
        "replicas": replicas,
        "podManagementPolicy": policy,
        "ordinals": {"start": start},
        "template": template,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
    }
    owner = {"metadata": {"name": "s", "namespace": "default", "uid": "u", "generation": 1}, "spec": spec}
    return plan_stateful_set(owner, RevisionedSets(owner, "old", owner, "new"), present, NOW, ONE_BY_ONE)


def test_the_largest_set_is_planned_in_slices():
    plan = planned([pod(0), pod(3)], replicas=2**31 - 1)
    assert len(plan.replicas) == BURST_MAX + 2
    assert names(plan.replicas)[:4] == ["s-0", "s-1", "s-2", "s-3"]
    assert plan.missing == 2**31 - 1 - len(plan.replicas)
    assert plan.highest_missing == 2**31 - 2


def test_an_ordered_set_plans_the_next_pod_alone():
    assert names(planned([pod(0)], replicas=2**31 - 1, policy="OrderedReady").replicas) == ["s-0", "s-1"]


def test_a_set_that_is_whole_misses_nothing():
    plan = planned([pod(7), pod(5), pod(6)], replicas=3, start=5)
    assert (names(plan.replicas), plan.missing, plan.highest_missing) == (["s-5", "s-6", "s-7"], 0, -1)
    assert names(plan.pods_to_update()) == ["s-7"]


def test_pods_yet_to_be_planned_hold_up_an_update_as_those_planned_do():
    assert planned([pod(0)], replicas=2**31 - 1).pods_to_update() == []
    assert names(planned([pod(0), pod(2 * BURST_MAX)], replicas=2 * BURST_MAX + 1).pods_to_update()) == [
        f"s-{2 * BURST_MAX}"
    ]
