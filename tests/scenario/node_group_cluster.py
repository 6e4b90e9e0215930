"""A simulated cluster with node groups: workloads, and what became of nodes, pods and events."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from mockkube.client.protocol import Key, Selection
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig

SMALL = {"name": "small", "capacity": {"cpu": "2", "memory": "8Gi"}, "pricePerHour": 0.1}
LARGE = {"name": "large", "capacity": {"cpu": "8", "memory": "32Gi"}, "pricePerHour": 0.3}


@pytest.fixture(name="cluster")
async def start_cluster() -> AsyncIterator[SimulatedCluster]:
    async with SimulatedCluster(SimulatedClusterConfig(configuration=ClusterConfiguration(nodes=0))) as cluster:
        yield cluster


def deployment(name: str, replicas: int, cpu: str = "500m", **pod: Any) -> dict[str, Any]:
    labels = {"app": name}
    annotations = pod.pop("annotations", {})
    containers = [{"name": "app", "image": "x", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}]
    spec = {"containers": containers, "terminationGracePeriodSeconds": 0, **pod}
    template = {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


async def add_group(cluster: SimulatedCluster, name: str = "web", **spec: Any) -> None:
    given = {"maxSize": 5, "instanceTypes": [SMALL], **spec}
    await cluster.client().create("NodeGroup", {"metadata": {"name": name}, "spec": given})
    await cluster.settle()


async def scale(cluster: SimulatedCluster, name: str, replicas: int) -> None:
    await cluster.client().patch("Deployment", Key("default", name), {"spec": {"replicas": replicas}})


async def nodes(cluster: SimulatedCluster) -> dict[str, Any]:
    return {node["metadata"]["name"]: node for node in (await cluster.client().list("Node")).items}


async def count_running(cluster: SimulatedCluster, name: str) -> int:
    pods = (await cluster.client().list("Pod", Selection("default", f"app={name}"))).items
    return sum(pod["status"]["phase"] == "Running" for pod in pods)


async def events(cluster: SimulatedCluster, reason: str) -> set[str]:
    found = (await cluster.client().list("Event")).items
    return {event["message"] for event in found if event["reason"] == reason}


async def status(cluster: SimulatedCluster, name: str = "web") -> dict[str, Any]:
    stored = await cluster.client().get("NodeGroup", Key("", name))
    return dict(stored["status"])
