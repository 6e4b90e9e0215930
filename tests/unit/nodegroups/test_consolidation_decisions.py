"""Decisions of consolidation that depend on nothing but their arguments."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mockkube.nodegroups.consolidation import (
    FOREVER,
    DisruptionCandidate,
    find_eviction_cost,
    find_pod_blocker,
    find_protected_until,
    has_to_move,
)
from mockkube.nodegroups.disruption_policy import EMPTY, UNDERUTILIZED, DisruptionPolicy
from mockkube.nodegroups.node_group import InstanceType, NodeGroup

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def pod(owner: str = "ReplicaSet", annotations: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "p", "namespace": "default", "uid": "p", "annotations": annotations or {}}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "name": "o", "uid": "o", "controller": True}]
    if fields.pop("terminating", False):
        metadata["deletionTimestamp"] = "2026-03-02T12:00:30Z"
    return {"metadata": metadata, "spec": fields, "status": {"phase": "Running", "startTime": "2026-03-02T11:55:00Z"}}


def budget(name: str, allowed: int = 1) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"metadata": metadata, "spec": {"selector": {}}, "status": {"disruptionsAllowed": allowed}}


def test_a_policy_has_karpenters_defaults() -> None:
    policy = DisruptionPolicy.from_spec({})
    assert (policy.removes_underutilized, policy.consolidate_after) == (True, 0.0)
    # Percentages are rounded up.
    assert [policy.count_allowed(nodes, EMPTY, NOON) for nodes in (0, 1, 10, 11)] == [0, 1, 1, 2]
    assert DisruptionPolicy.from_spec({"consolidateAfter": "1h30m"}).consolidate_after == 5400.0
    assert DisruptionPolicy.from_spec({"consolidateAfter": "Never"}).consolidate_after is None


def test_the_strictest_budget_that_applies_counts() -> None:
    budgets = [{"nodes": "20%"}, {"nodes": "1", "reasons": ["Underutilized"]}]
    policy = DisruptionPolicy.from_spec({"budgets": budgets})
    assert policy.count_allowed(20, EMPTY, NOON) == 4
    assert policy.count_allowed(20, UNDERUTILIZED, NOON) == 1


def test_a_budget_with_a_schedule_applies_for_its_duration() -> None:
    closed = {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}
    policy = DisruptionPolicy.from_spec({"budgets": [{"nodes": "5"}, closed]})
    hours = [hour for hour in range(24) if not policy.count_allowed(9, EMPTY, NOON.replace(hour=hour))]
    assert hours == list(range(9, 17))
    # The last of these days is a Saturday.
    assert [policy.count_allowed(9, EMPTY, NOON + timedelta(days=days)) for days in range(6)] == [0, 0, 0, 0, 0, 5]
    assert min(policy.find_changes(NOON)) == NOON.replace(hour=17)


@pytest.mark.parametrize(
    ("given", "cost"),
    [
        (pod(), 1.0),
        (pod(annotations={"controller.kubernetes.io/pod-deletion-cost": str(2**27)}), 2.0),
        (pod(annotations={"controller.kubernetes.io/pod-deletion-cost": "much"}), 1.0),
        (pod(priority=2**26), 3.0),
        (pod(priority=-2_000_000_000), -10.0),
    ],
)
def test_pods_cost_more_or_less_to_move(given: dict[str, Any], cost: float) -> None:
    assert find_eviction_cost(given) == cost


def test_a_node_whose_pods_cost_nothing_counts_as_empty() -> None:
    group = NodeGroup("g", 0, 9, (InstanceType("small", {}),), disruption=DisruptionPolicy())
    node = {"metadata": {"name": "n"}}
    free = pod(annotations={"controller.kubernetes.io/pod-deletion-cost": str(-(2**27))})
    assert DisruptionCandidate(node, group, 1.0, (free,)).is_empty
    used = DisruptionCandidate(node, group, 1.0, (pod(), free))
    assert (used.is_empty, used.is_underutilized, used.order) == (False, True, (-0.5, "n"))


@pytest.mark.parametrize(
    ("given", "moves"),
    [
        (pod(), True),
        (pod(owner=""), True),
        (pod(owner="DaemonSet"), False),
        (pod(terminating=True), False),
        (pod(owner="StatefulSet", terminating=True), True),
    ],
)
def test_pods_that_are_created_again_need_room(given: dict[str, Any], moves: bool) -> None:
    assert has_to_move(given) is moves


@pytest.mark.parametrize(
    ("annotation", "until"),
    [
        ("true", FOREVER),
        ("10m", NOON + timedelta(minutes=5)),
        ("5m", None),
        ("-1h", None),
        ("false", None),
        ("soon", None),
    ],
)
def test_a_pod_is_protected_for_ever_or_for_a_while(annotation: str, until: datetime | None) -> None:
    assert find_protected_until(pod(annotations={"karpenter.sh/do-not-disrupt": annotation}), NOON) == until


def test_budgets_block_unless_the_pod_tolerates_disruption() -> None:
    assert find_pod_blocker(pod(), [budget("a")], NOON) == ""
    blocked = "Pdb prevents pod evictions (PodDisruptionBudget=[default/a])"
    assert find_pod_blocker(pod(), [budget("a", 0)], NOON) == blocked
    assert find_pod_blocker(pod(), [budget("a"), budget("b")], NOON).startswith("Eviction does not support multiple")
    tolerating = pod(tolerations=[{"key": "karpenter.sh/disrupted", "operator": "Exists"}])
    assert find_pod_blocker(tolerating, [budget("a", 0)], NOON) == ""
