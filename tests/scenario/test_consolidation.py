"""Consolidation of node groups in virtual time: nodes whose pods fit elsewhere, or on a cheaper node, go."""

from itertools import pairwise
from typing import Any

import pytest

from mockkube.api.errors import Invalid
from mockkube.client.protocol import Key, Selection
from mockkube.cluster.simulated_cluster import SimulatedCluster
from tests.scenario.node_group_cluster import (
    LARGE,
    SMALL,
    add_group,
    count_running,
    deployment,
    events,
    nodes,
    scale,
    start_cluster,
    status,
)

__all__ = ["start_cluster"]

ALL_AT_ONCE = [{"nodes": "100%"}]


async def start_workload(cluster: SimulatedCluster, replicas: int = 12, cpu: str = "500m", **pod: Any) -> None:
    await cluster.client().create("Deployment", deployment("web", replicas, cpu=cpu, **pod))
    await cluster.advance(120)


async def keep_pods_of_each_node(cluster: SimulatedCluster, count: int) -> None:
    """Let so many pods of each node stay, and the workload want no others."""
    left: dict[str, int] = {}
    pods = (await cluster.client().list("Pod", Selection("default", "app=web"))).items
    for pod in pods:
        node = pod["spec"]["nodeName"]
        left[node] = left.get(node, 0) + 1
        cost = "0" if left[node] > count else "100"
        annotations = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": cost}}}
        await cluster.client().patch("Pod", Key("default", pod["metadata"]["name"]), annotations)
    await scale(cluster, "web", count * len(left))
    await cluster.settle()


async def types(cluster: SimulatedCluster) -> list[str]:
    found = (await nodes(cluster)).values()
    return sorted(node["metadata"]["labels"]["node.kubernetes.io/instance-type"] for node in found)


async def test_little_used_nodes_are_packed_together(cluster: SimulatedCluster) -> None:
    await add_group(cluster, disruption={"budgets": ALL_AT_ONCE})
    await start_workload(cluster)
    assert len(await nodes(cluster)) == 3
    await keep_pods_of_each_node(cluster, 1)
    await cluster.advance(12)
    assert len(await nodes(cluster)) == 3
    assert (await status(cluster))["unneeded"] == 2
    await cluster.advance(60)
    assert len(await nodes(cluster)) == 1
    assert await count_running(cluster, "web") == 3
    assert {"size": 1, "consolidated": 2, "pricePerHour": "0.1"}.items() <= (await status(cluster)).items()
    assert await events(cluster, "DisruptionTerminating") == {"Disrupting Node: Underutilized"}
    assert await events(cluster, "Evicted") == {"Evicted pod: Underutilized"}
    assert await events(cluster, "ScaleDown") == set()


async def test_a_node_is_replaced_by_a_cheaper_one_before_it_goes(cluster: SimulatedCluster) -> None:
    await add_group(cluster, "big", instanceTypes=[LARGE], disruption={})
    await start_workload(cluster)
    await add_group(cluster, "tiny", instanceTypes=[SMALL], disruption={})
    await keep_pods_of_each_node(cluster, 2)
    await cluster.advance(45)
    (node,) = (await nodes(cluster)).values()
    assert [taint["key"] for taint in node["spec"]["taints"]] == ["karpenter.sh/disrupted"]
    assert await count_running(cluster, "web") == 2
    assert (await status(cluster, "tiny"))["coming"] == 1
    assert await events(cluster, "DisruptionLaunching") == {"Launching node tiny-1 of type small: Underutilized"}
    await cluster.advance(100)
    assert list(await nodes(cluster)) == ["tiny-1"]
    assert await count_running(cluster, "web") == 2
    assert await events(cluster, "TriggeredScaleUp") == {"pod triggered scale-up: [{big 0->1 (max: 5)}]"}


async def test_a_node_is_used_again_if_its_replacement_does_not_come(cluster: SimulatedCluster) -> None:
    await add_group(cluster, "big", instanceTypes=[LARGE], disruption={})
    await start_workload(cluster, 2)
    await add_group(cluster, "tiny", instanceTypes=[SMALL], disruption={})
    await cluster.advance(45)
    assert "taints" in (await nodes(cluster))["big-1"]["spec"]
    await cluster.client().delete("NodeGroup", Key("", "tiny"))
    await cluster.advance(30)
    assert "taints" not in (await nodes(cluster))["big-1"]["spec"]
    assert await count_running(cluster, "web") == 2


async def test_pods_do_not_move_to_a_node_before_it_is_ready(cluster: SimulatedCluster) -> None:
    await add_group(cluster, maxSize=1, disruption={})
    await start_workload(cluster, 1)
    await add_group(cluster, "new", instanceTypes=[LARGE])
    await cluster.client().create("Deployment", deployment("next", 1, cpu="3"))
    await cluster.advance(60)
    assert "taints" not in (await nodes(cluster))["web-1"]["spec"]
    await cluster.advance(90)
    assert list(await nodes(cluster)) == ["new-1"]


async def test_several_nodes_are_replaced_by_one(cluster: SimulatedCluster) -> None:
    middle = {"name": "middle", "capacity": {"cpu": "4", "memory": "16Gi"}, "pricePerHour": 0.15}
    await add_group(cluster, disruption={"budgets": ALL_AT_ONCE})
    await start_workload(cluster, 6)
    await add_group(cluster, "other", instanceTypes=[middle, LARGE])
    await scale(cluster, "web", 8)
    await cluster.advance(140)
    assert await types(cluster) == ["middle"]
    assert await count_running(cluster, "web") == 8


@pytest.mark.slow
async def test_pods_are_moved_within_disruption_budgets(cluster: SimulatedCluster) -> None:
    await add_group(cluster, disruption={"budgets": ALL_AT_ONCE})
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    stored = {"metadata": {"name": "web", "namespace": "default"}, "spec": budget}
    await cluster.client().create("PodDisruptionBudget", stored)
    await start_workload(cluster)
    await keep_pods_of_each_node(cluster, 1)
    missing = 0
    for _ in range(15):
        await cluster.advance(10)
        missing = max(missing, 3 - await count_running(cluster, "web"))
    assert len(await nodes(cluster)) == 1
    assert missing <= 1


async def test_a_budget_without_disruptions_keeps_nodes(cluster: SimulatedCluster) -> None:
    await add_group(cluster, disruption={"budgets": ALL_AT_ONCE})
    await start_workload(cluster)
    await keep_pods_of_each_node(cluster, 1)
    budget = {"minAvailable": "100%", "selector": {"matchLabels": {"app": "web"}}}
    stored = {"metadata": {"name": "all", "namespace": "default"}, "spec": budget}
    await cluster.client().create("PodDisruptionBudget", stored)
    await cluster.advance(300)
    assert len(await nodes(cluster)) == 3
    blocked = "Pdb prevents pod evictions (PodDisruptionBudget=[default/all])"
    assert await events(cluster, "DisruptionBlocked") == {blocked}
    await cluster.client().delete("PodDisruptionBudget", Key("default", "all"))
    await cluster.advance(60)
    assert len(await nodes(cluster)) == 1


@pytest.mark.parametrize(
    "annotations",
    [
        pytest.param({"karpenter.sh/do-not-disrupt": "true"}, id="do not disrupt"),
        pytest.param({"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}, id="not safe to evict"),
    ],
)
async def test_annotated_pods_keep_their_node(cluster: SimulatedCluster, annotations: dict[str, str]) -> None:
    await add_group(cluster, disruption={"budgets": ALL_AT_ONCE})
    await start_workload(cluster, 4)
    await cluster.client().create("Deployment", deployment("kept", 1, annotations=annotations))
    await cluster.advance(90)
    await scale(cluster, "web", 1)
    await cluster.advance(60)
    # The pod of the other node has moved to the kept one.
    assert list(await nodes(cluster)) == ["web-2"]
    assert f'Pod has "{next(iter(annotations))}" annotation' in next(iter(await events(cluster, "DisruptionBlocked")))


async def test_a_pod_may_be_protected_for_a_while_and_a_node_for_ever(cluster: SimulatedCluster) -> None:
    await add_group(cluster, disruption={"budgets": ALL_AT_ONCE})
    await start_workload(cluster, annotations={"karpenter.sh/do-not-disrupt": "10m"})
    protected = {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}
    await cluster.client().patch("Node", Key("", "web-2"), protected)
    await keep_pods_of_each_node(cluster, 1)
    await cluster.advance(400)
    assert len(await nodes(cluster)) == 3
    await cluster.advance(300)
    assert list(await nodes(cluster)) == ["web-2"]


async def test_pods_that_fit_nowhere_else_keep_their_nodes(cluster: SimulatedCluster) -> None:
    apart = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    await add_group(cluster, disruption={"budgets": ALL_AT_ONCE})
    await start_workload(cluster, 3, affinity=affinity)
    await cluster.advance(600)
    assert len(await nodes(cluster)) == 3
    assert (await status(cluster))["consolidated"] == 0
    assert await events(cluster, "Unconsolidatable") == {"Can't replace with a cheaper node"}


async def test_so_many_nodes_as_the_budget_allows_are_disrupted_at_a_time(cluster: SimulatedCluster) -> None:
    await add_group(
        cluster, maxSize=9, disruption={"budgets": [{"nodes": "90%"}, {"nodes": "1", "reasons": ["Empty"]}]}
    )
    await start_workload(cluster, 24)
    await scale(cluster, "web", 0)
    sizes = []
    for _ in range(20):
        await cluster.advance(10)
        sizes.append(len(await nodes(cluster)))
    assert sizes[-1] == 0
    assert {before - after for before, after in pairwise(sizes)} == {0, 1}


async def test_a_budget_may_apply_at_some_times_only(cluster: SimulatedCluster) -> None:
    # The cluster's clock starts at midnight.
    closed = {"nodes": "0", "schedule": "0 0 * * *", "duration": "1h"}
    await add_group(cluster, disruption={"budgets": [{"nodes": "100%"}, closed]})
    await start_workload(cluster)
    await scale(cluster, "web", 0)
    await cluster.advance(3000)
    assert len(await nodes(cluster)) == 3
    text = "No allowed disruptions for disruption reason Empty due to blocking budget"
    assert text in await events(cluster, "DisruptionBlocked")
    await cluster.advance(600)
    assert await nodes(cluster) == {}


@pytest.mark.parametrize(
    ("disruption", "left"),
    [
        ({"consolidationPolicy": "WhenEmpty", "budgets": ALL_AT_ONCE}, 2),
        ({"consolidateAfter": "Never", "budgets": ALL_AT_ONCE}, 3),
        ({"consolidateAfter": "1h", "budgets": ALL_AT_ONCE}, 3),
    ],
    ids=["empty", "never", "later"],
)
async def test_the_policy_says_which_nodes_go(cluster: SimulatedCluster, disruption: dict[str, Any], left: int) -> None:
    await add_group(cluster, disruption=disruption)
    await start_workload(cluster)
    await keep_pods_of_each_node(cluster, 1)
    await scale(cluster, "web", 2)
    await cluster.advance(120)
    assert len(await nodes(cluster)) == left


async def test_the_smallest_size_of_a_group_is_kept(cluster: SimulatedCluster) -> None:
    await add_group(cluster, minSize=2, disruption={"budgets": ALL_AT_ONCE})
    await start_workload(cluster)
    await keep_pods_of_each_node(cluster, 1)
    await cluster.advance(120)
    assert len(await nodes(cluster)) == 2
    await scale(cluster, "web", 0)
    await cluster.advance(120)
    assert len(await nodes(cluster)) == 2


async def test_a_group_of_its_smallest_size_may_become_cheaper(cluster: SimulatedCluster) -> None:
    await add_group(cluster, minSize=1, maxSize=1, instanceTypes=[LARGE, SMALL], disruption={})
    await start_workload(cluster, 1)
    assert await types(cluster) == ["large"]
    await cluster.advance(120)
    assert await types(cluster) == ["small"]


@pytest.mark.slow
async def test_a_consolidated_cluster_comes_to_rest(cluster: SimulatedCluster) -> None:
    """Nodes that scale-up adds are not removed again, and what was removed does not come back."""

    async def count_consolidated() -> int:
        return sum([(await status(cluster, name))["consolidated"] for name in ("web", "other")])

    await add_group(cluster, maxSize=20, instanceTypes=[SMALL, LARGE], disruption={})
    await add_group(cluster, "other", instanceTypes=[{**LARGE, "pricePerHour": 0.29}], disruption={})
    await start_workload(cluster, 40, cpu="700m")
    for replicas in (40, 7, 25, 3):
        await scale(cluster, "web", replicas)
        await cluster.advance(900)
        before, removed = await nodes(cluster), await count_consolidated()
        assert await count_running(cluster, "web") == replicas
        await cluster.advance(3600)
        assert list(await nodes(cluster)) == list(before)
        assert await count_consolidated() == removed
    assert removed >= 4


async def test_what_an_interrupted_command_left_is_undone(cluster: SimulatedCluster) -> None:
    await add_group(cluster, disruption={})
    await start_workload(cluster, 4)
    taints = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
    await cluster.client().patch("Node", Key("", "web-1"), {"spec": {"taints": taints}})
    await cluster.advance(30)
    assert "taints" not in (await nodes(cluster))["web-1"]["spec"]


async def test_pods_of_daemon_sets_are_evicted_last(cluster: SimulatedCluster) -> None:
    daemon = deployment("agent", 1, cpu="100m")
    del daemon["spec"]["replicas"]
    await cluster.client().create("DaemonSet", daemon)
    await add_group(cluster, disruption={"budgets": ALL_AT_ONCE})
    await start_workload(cluster, 6)
    await keep_pods_of_each_node(cluster, 1)
    await cluster.advance(60)
    assert len(await nodes(cluster)) == 1
    found = sorted(
        (await cluster.client().list("Event")).items, key=lambda one: int(one["metadata"]["resourceVersion"])
    )
    evicted = [event["involvedObject"]["name"] for event in found if event["reason"] == "Evicted"]
    assert [name.partition("-")[0] for name in evicted] == ["web", "agent"]


async def test_disruption_is_validated(cluster: SimulatedCluster) -> None:
    budgets = [
        {"nodes": "110%"},
        {"nodes": "1", "reasons": ["Idle"]},
        {"schedule": "often", "duration": "8h"},
        {"schedule": "0 9 * * *"},
        {"schedule": "TZ=Europe/Berlin 0 9 * * *", "duration": "3 days"},
    ]
    disruption = {"consolidationPolicy": "Always", "consolidateAfter": "soon", "budgets": budgets}
    with pytest.raises(Invalid) as refused:
        await add_group(cluster, scaleDown={"unneededSeconds": 5}, disruption=disruption)
    assert [error.field for error in refused.value.errors] == [
        "spec.scaleDown",
        "spec.disruption.consolidationPolicy",
        "spec.disruption.consolidateAfter",
        "spec.disruption.budgets[0].nodes",
        "spec.disruption.budgets[1].reasons[0]",
        "spec.disruption.budgets[2].schedule",
        "spec.disruption.budgets[3].duration",
        "spec.disruption.budgets[4].schedule",
        "spec.disruption.budgets[4].duration",
    ]
    with pytest.raises(Invalid, match="Too many"):
        await add_group(cluster, disruption={"budgets": [{"nodes": "1"}] * 51})
