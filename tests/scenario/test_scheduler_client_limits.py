"""Limits of the scheduler's client in virtual time: those of upstream, unless its configuration has others."""

from typing import Any

import pytest

from mockkube.client.protocol import Key
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig

PODS, CHANGES, SECONDS = 60, 20, 0.1


def make_pod(number: int) -> dict[str, Any]:
    """A pod that needs more than a node has."""
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1000"}}}]
    return {"metadata": {"name": f"pod-{number}", "namespace": "default"}, "spec": {"containers": containers}}


async def count_attempts(**connection: Any) -> int:
    """Return how often the scheduler reports pods as unschedulable while taints of a node change for two seconds."""
    scheduler = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": connection,
    }
    configuration = ClusterConfiguration(nodes=2, scheduler_config=scheduler)
    async with SimulatedCluster(SimulatedClusterConfig(configuration)) as cluster:
        client = cluster.client()
        for number in range(PODS):
            await client.create("Pod", make_pod(number))
        for number in range(CHANGES):
            # The message of the condition differs each time, so each attempt writes it.
            taints = [{"key": "example.com/maintenance", "effect": "NoSchedule"}] if number % 2 else []
            await client.patch("Node", Key("", "node-1"), {"spec": {"taints": taints}})
            await cluster.advance(SECONDS)
        return sum(
            step.worker.startswith("kube-scheduler") and write.resource == "core/pods" and write.verb == "update"
            for step in cluster.trace
            for write in step.writes
        )


@pytest.mark.parametrize(
    ("connection", "least", "most"),
    [
        pytest.param({}, 150, 201, id="upstream's 50 a second after 100, and one"),
        pytest.param({"qps": 5, "burst": 10}, 15, 21, id="5 a second after 10, and one"),
        pytest.param({"qps": -1}, 600, PODS * CHANGES, id="none"),
    ],
)
async def test_pods_that_do_not_fit_are_tried_as_often_as_the_client_may_write(
    connection: dict[str, Any], least: int, most: int
) -> None:
    assert least <= await count_attempts(**connection) <= most


async def test_pods_that_fit_are_bound_at_once() -> None:
    async with SimulatedCluster(SimulatedClusterConfig(ClusterConfiguration(nodes=3))) as cluster:
        client = cluster.client()
        for number in range(300):
            containers = [{"name": "c", "image": "i"}]
            metadata = {"name": f"pod-{number}", "namespace": "default"}
            await client.create("Pod", {"metadata": metadata, "spec": {"containers": containers}})
        await cluster.settle()
        assert all(pod["spec"].get("nodeName") for pod in (await client.list("Pod")).items)
        # The bindings have used the tokens of four seconds, so the next pod waits.
        await client.create("Pod", {"metadata": {**metadata, "name": "late"}, "spec": {"containers": containers}})
        await cluster.advance(3.9)
        assert "nodeName" not in (await client.get("Pod", Key("default", "late")))["spec"]
        await cluster.advance(0.2)
        assert "nodeName" in (await client.get("Pod", Key("default", "late")))["spec"]
