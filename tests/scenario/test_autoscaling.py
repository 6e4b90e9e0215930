"""Autoscaling of a whole cluster in virtual time: load, metrics, autoscaler, workload, pods."""

from typing import Any

from mockkube.client.protocol import Key
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig

WEB = Key("default", "web")


def deployment(load: str, **spec: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    resources = {"requests": {"cpu": "500m", "memory": "128Mi"}}
    containers = [{"name": "app", "image": "x", "resources": resources}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    return {
        "metadata": {"name": "web", "namespace": "default", "annotations": {"mockkube.dev/load-cpu": load}},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template, **spec},
    }


def autoscaler(percent: int, **spec: Any) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2,
            "maxReplicas": 10,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
            **spec,
        },
    }


async def test_replicas_follow_the_load_up_and_down() -> None:
    config = SimulatedClusterConfig(configuration=ClusterConfiguration(nodes=3))
    async with SimulatedCluster(config) as cluster:
        client = cluster.client()

        async def replicas() -> int:
            scale = await client.get("Deployment", WEB, subresource="scale")
            count: int = scale["spec"]["replicas"]
            return count

        # Half a core for three minutes, then three cores for nine, then half a core again.
        await client.create("Deployment", deployment("500m@0s 500m@3m 3@4m 3@13m 500m@14m"))
        await client.create("HorizontalPodAutoscaler", autoscaler(60))
        await cluster.advance(170)
        assert await replicas() == 2
        await cluster.advance(600)
        # 3 cores at 60 % of 500m are 10 replicas.
        assert await replicas() == 10
        stored = await client.get("HorizontalPodAutoscaler", WEB)
        assert stored["status"]["currentMetrics"][0]["resource"]["current"] == {
            "averageUtilization": 60,
            "averageValue": "300m",
        }
        # The stabilization window of five minutes holds the replicas for a while.
        await cluster.advance(15 * 60 - 770)
        assert await replicas() == 10
        await cluster.advance(420)
        assert await replicas() == 2
        pods = await client.list("Pod")
        assert len(pods.items) == 2


async def test_an_autoscaler_of_an_unscalable_object_changes_nothing() -> None:
    config = SimulatedClusterConfig(configuration=ClusterConfiguration(nodes=1))
    async with SimulatedCluster(config) as cluster:
        client = cluster.client()
        await client.create("ConfigMap", {"metadata": {"name": "web", "namespace": "default"}})
        reference = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "web"}
        await client.create("HorizontalPodAutoscaler", autoscaler(60, scaleTargetRef=reference))
        await cluster.advance(30)
        [condition] = (await client.get("HorizontalPodAutoscaler", WEB))["status"]["conditions"]
        text = "the server could not find the requested resource"
        assert condition["message"] == f"the HPA controller was unable to get the target's current scale: {text}"
