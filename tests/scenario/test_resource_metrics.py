"""Usage of pods in virtual time, as components of the cluster read it."""

from typing import Any

import pytest

from mockkube.api.errors import Forbidden, NotFound
from mockkube.client.identity import ClientIdentity
from mockkube.client.protocol import Key, Selection
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig

METRICS = "PodMetrics.metrics.k8s.io"


def deployment(replicas: int, load: str) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "x"}]}}
    return {
        "metadata": {"name": "web", "namespace": "default", "annotations": {"mockkube.dev/load-cpu": load}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


async def cpu_of(cluster: SimulatedCluster) -> list[str]:
    listed = await cluster.client().list(METRICS, Selection("default", "app=web"))
    return [one["containers"][0]["usage"]["cpu"] for one in listed.items]


async def test_usage_follows_the_load_and_the_number_of_pods() -> None:
    config = SimulatedClusterConfig(configuration=ClusterConfiguration(nodes=2))
    async with SimulatedCluster(config) as cluster:
        client = cluster.client()
        await client.create("Deployment", deployment(2, "1@0s 1@2m 4@4m"))
        await cluster.settle()
        assert await cpu_of(cluster) == []  # nothing has been measured yet
        await cluster.advance(30)
        assert await cpu_of(cluster) == ["500m", "500m"]
        await client.patch("Deployment", Key("default", "web"), {"spec": {"replicas": 4}})
        await cluster.advance(30)
        assert await cpu_of(cluster) == ["250m"] * 4
        await cluster.advance(300)
        assert await cpu_of(cluster) == ["1"] * 4
        nodes = await client.list("NodeMetrics", Selection())
        assert {one["metadata"]["name"]: one["usage"]["cpu"] for one in nodes.items} == {"node-1": "2", "node-2": "2"}


async def test_usage_is_read_with_the_rights_of_the_user() -> None:
    config = SimulatedClusterConfig(configuration=ClusterConfiguration(nodes=1))
    async with SimulatedCluster(config) as cluster:
        stranger = cluster.client(ClientIdentity("stranger", (), "test"))
        with pytest.raises(Forbidden, match=r"cannot list resource \"pods\" in API group \"metrics.k8s.io\""):
            await stranger.list(METRICS, Selection("default"))
        with pytest.raises(NotFound, match='pods "p" not found'):
            await cluster.client().get(METRICS, Key("default", "p"))


async def test_without_the_metrics_api_there_is_no_such_kind() -> None:
    config = SimulatedClusterConfig(configuration=ClusterConfiguration(nodes=1, metrics_api="off"))
    async with SimulatedCluster(config) as cluster:
        with pytest.raises(NotFound):
            await cluster.client().list(METRICS, Selection("default"))
