"""Node groups of a whole cluster in virtual time: nodes come with pods and go when they are idle."""

from typing import Any

import pytest

from mockkube.api.errors import Invalid
from mockkube.client.protocol import Key
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


async def test_nodes_come_for_pods_that_fit_nowhere(cluster: SimulatedCluster) -> None:
    await add_group(cluster, labels={"team": "a"}, taints=[{"key": "only", "value": "web", "effect": "NoSchedule"}])
    tolerations = [{"key": "only", "operator": "Exists"}]
    await cluster.client().create("Deployment", deployment("web", 6, tolerations=tolerations))
    await cluster.advance(15)
    assert (await status(cluster))["coming"] == 2
    assert await nodes(cluster) == {}
    await cluster.advance(70)
    found = await nodes(cluster)
    assert sorted(found) == ["web-1", "web-2"]
    assert found["web-1"]["status"]["allocatable"]["cpu"] == "2"
    assert found["web-1"]["metadata"]["labels"]["team"] == "a"
    assert await count_running(cluster, "web") == 6
    assert await events(cluster, "TriggeredScaleUp") == {"pod triggered scale-up: [{web 0->2 (max: 5)}]"}
    wanted = {"size": 2, "ready": 2, "coming": 0, "unneeded": 0, "leaving": 0, "pricePerHour": "0.2"}
    assert wanted.items() <= (await status(cluster)).items()


async def test_a_group_grows_no_further_than_its_bounds(cluster: SimulatedCluster) -> None:
    await add_group(cluster, maxSize=1)
    await add_group(cluster, "gpu", limits={"cpu": "3"}, maxSize=9)
    await cluster.client().create("Deployment", deployment("web", 12))
    await cluster.client().create("Deployment", deployment("huge", 1, cpu="3"))
    await cluster.advance(200)
    assert len(await nodes(cluster)) == 2
    assert await count_running(cluster, "web") == 8
    assert await events(cluster, "NotTriggerScaleUp") == {
        "pod didn't trigger scale-up: 1 max cluster cpu limit reached, 1 max node group size reached"
    }


async def test_a_pod_that_no_node_helps_triggers_nothing(cluster: SimulatedCluster) -> None:
    await add_group(cluster)
    await cluster.client().create("Deployment", deployment("huge", 1, cpu="3"))
    await cluster.client().create("Deployment", deployment("far", 1, nodeSelector={"team": "b"}))
    await cluster.advance(60)
    assert await nodes(cluster) == {}
    assert await events(cluster, "NotTriggerScaleUp") == {
        "pod didn't trigger scale-up: 1 Insufficient cpu",
        "pod didn't trigger scale-up: 1 node(s) didn't match Pod's node affinity/selector",
    }


async def test_the_cheapest_type_that_helps_is_chosen(cluster: SimulatedCluster) -> None:
    await add_group(cluster, instanceTypes=[SMALL, LARGE])
    await cluster.client().create("Deployment", deployment("web", 14))
    await cluster.advance(120)
    types = [node["metadata"]["labels"]["node.kubernetes.io/instance-type"] for node in (await nodes(cluster)).values()]
    assert types == ["large"]
    await scale(cluster, "web", 16)
    await cluster.advance(120)
    assert (await status(cluster))["pricePerHour"] == "0.3"


async def test_nodes_are_spread_over_zones(cluster: SimulatedCluster) -> None:
    await add_group(cluster, zones=["a", "b", "c"], maxSize=9)
    await cluster.client().create("Deployment", deployment("web", 12))
    await cluster.advance(120)
    zones = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in (await nodes(cluster)).values()]
    assert sorted(zones) == ["a", "b", "c"]


@pytest.mark.slow
async def test_daemon_pods_take_their_part_of_new_nodes(cluster: SimulatedCluster) -> None:
    daemon = deployment("agent", 1, cpu="1")
    del daemon["spec"]["replicas"]
    await cluster.client().create("DaemonSet", daemon)
    await add_group(cluster)
    await cluster.client().create("Deployment", deployment("web", 4))
    await cluster.advance(120)
    assert len(await nodes(cluster)) == 2
    assert await count_running(cluster, "agent") == 2


@pytest.mark.slow
async def test_idle_nodes_go_after_a_while(cluster: SimulatedCluster) -> None:
    await add_group(cluster, minSize=1, scaleDown={"unneededSeconds": 300, "delayAfterAddSeconds": 0})
    await cluster.client().create("Deployment", deployment("web", 12))
    await cluster.advance(120)
    assert len(await nodes(cluster)) == 3
    await scale(cluster, "web", 0)
    await cluster.advance(290)
    assert len(await nodes(cluster)) == 3
    assert (await status(cluster))["unneeded"] == 2
    await cluster.advance(60)
    assert len(await nodes(cluster)) == 1
    assert "nodes removed by cluster autoscaler" in await events(cluster, "ScaleDown")


@pytest.mark.slow
async def test_little_used_nodes_are_drained_within_budgets(cluster: SimulatedCluster) -> None:
    await add_group(cluster, scaleDown={"unneededSeconds": 60, "delayAfterAddSeconds": 0})
    client = cluster.client()
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    await client.create("PodDisruptionBudget", {"metadata": {"name": "web", "namespace": "default"}, "spec": budget})
    await client.create("Deployment", deployment("web", 12))
    await cluster.advance(120)
    await scale(cluster, "web", 3)
    unavailable = 0
    for _ in range(30):
        await cluster.advance(10)
        unavailable = max(unavailable, 3 - await count_running(cluster, "web"))
    assert len(await nodes(cluster)) == 1
    assert await count_running(cluster, "web") == 3
    assert unavailable <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param({"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}}, id="not safe"),
        pytest.param({"volumes": [{"name": "data", "emptyDir": {}}]}, id="local storage"),
    ],
)
async def test_pods_that_must_stay_keep_their_node(cluster: SimulatedCluster, pod: dict[str, Any]) -> None:
    await add_group(cluster, scaleDown={"unneededSeconds": 60, "delayAfterAddSeconds": 0})
    client = cluster.client()
    await client.create("Deployment", deployment("web", 4))
    await cluster.advance(90)
    await client.create("Deployment", deployment("pinned", 1, **pod))
    await cluster.advance(90)
    assert len(await nodes(cluster)) == 2
    await scale(cluster, "web", 1)
    await cluster.advance(300)
    # The other node is removed: its pod may move.
    assert list(await nodes(cluster)) == ["web-2"]


async def test_the_smallest_size_is_kept_and_balanced(cluster: SimulatedCluster) -> None:
    await add_group(cluster, minSize=3, zones=["a", "b"], provisionSeconds=5)
    await cluster.advance(30)
    zones = {
        name: node["metadata"]["labels"]["topology.kubernetes.io/zone"] for name, node in (await nodes(cluster)).items()
    }
    assert sorted(zones.values()) == ["a", "a", "b"]
    await cluster.client().delete("Node", Key("", next(name for name, zone in zones.items() if zone == "b")))
    await cluster.advance(30)
    found = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in (await nodes(cluster)).values()]
    assert sorted(found) == ["a", "a", "b"]


async def test_a_restored_snapshot_leaves_the_autoscaler_at_work(cluster: SimulatedCluster) -> None:
    await add_group(cluster, provisionSeconds=5)
    await cluster.save_snapshot("empty")
    await cluster.client().create("Deployment", deployment("web", 4))
    await cluster.advance(40)
    assert await count_running(cluster, "web") == 4
    await cluster.restore_snapshot("empty")
    assert await nodes(cluster) == {}
    await cluster.client().create("Deployment", deployment("web", 8))
    await cluster.advance(60)
    assert await count_running(cluster, "web") == 8


async def test_an_unreadable_node_does_not_end_the_autoscaler(cluster: SimulatedCluster) -> None:
    await add_group(cluster, provisionSeconds=5)
    client = cluster.client()
    await client.create("Node", {"metadata": {"name": "odd", "annotations": {"mockkube.dev/price-per-hour": "x"}}})
    await client.create("Deployment", deployment("web", 12))
    await cluster.advance(60)
    assert await count_running(cluster, "web") == 12


@pytest.mark.slow
async def test_a_removed_group_leaves_its_nodes_alone(cluster: SimulatedCluster) -> None:
    await add_group(cluster, minSize=2, provisionSeconds=5)
    await cluster.advance(30)
    await cluster.client().delete("NodeGroup", Key("", "web"))
    await cluster.advance(1300)
    assert len(await nodes(cluster)) == 2


async def test_a_group_is_validated(cluster: SimulatedCluster) -> None:
    wrong: dict[str, Any] = {
        "minSize": 3,
        "maxSize": 2,
        "instanceTypes": [{"name": "x", "capacity": {"cpu": "viele"}, "pricePerHour": -1}],
        "taints": [{"key": "a", "effect": "Never"}],
        "zones": ["a", "a"],
        "limits": {"cpu": "-1"},
        "scaleDown": {"utilizationThreshold": 2},
    }
    with pytest.raises(Invalid) as refused:
        await add_group(cluster, **wrong)
    assert [error.field for error in refused.value.errors] == [
        "spec.minSize",
        "spec.instanceTypes[0].capacity.memory",
        "spec.instanceTypes[0].capacity.cpu",
        "spec.instanceTypes[0].pricePerHour",
        "spec.taints[0].effect",
        "spec.zones[1]",
        "spec.limits.cpu",
        "spec.scaleDown.utilizationThreshold",
    ]
    capacity = {"cpu": "1", "memory": "1Gi", "example.com/gpu": "0.5", "a b": "1"}
    wrong = {
        "instanceTypes": [{"name": "x" * 64, "capacity": capacity}],
        "labels": {"!!": "??"},
        "zones": [f"z{number}" for number in range(101)],
    }
    with pytest.raises(Invalid) as refused:
        await add_group(cluster, "g" * 60, **wrong)
    assert [error.field for error in refused.value.errors] == [
        "metadata.name",
        "spec.instanceTypes[0].name",
        "spec.instanceTypes[0].capacity.example.com/gpu",
        "spec.instanceTypes[0].capacity",
        "spec.labels",
        "spec.labels",
        "spec.zones",
    ]
