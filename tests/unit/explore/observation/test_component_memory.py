"""Memory that decides what happens next: states that differ in it are told apart."""

from typing import Any

import pytest

from mockkube.client.protocol import Key
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.explore.observation.component_memory import MemoryItem, read_memory
from mockkube.explore.observation.stored_objects import StoredObjects

STEP_SECONDS = 20.0
GATE = {"TaintTolerationComparisonOperators": True}
TAINT = {"key": "sla", "value": "950", "effect": "NoExecute"}
Document = dict[str, Any]


def cluster() -> SimulatedCluster:
    return SimulatedCluster(SimulatedClusterConfig(ClusterConfiguration(nodes=1)))


def stored(laboratory: SimulatedCluster) -> StoredObjects:
    objects = StoredObjects()
    objects.apply_steps(laboratory.trace.steps)
    return objects


def memory(laboratory: SimulatedCluster, worker: str) -> list[MemoryItem]:
    return [one for one in read_memory(laboratory, stored(laboratory), STEP_SECONDS) if one[0].endswith(worker)]


def template(**spec: Any) -> Document:
    return {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "i"}], **spec},
    }


async def test_the_backoff_of_failed_daemon_pods() -> None:
    tolerations = [{"key": "sla", "operator": "Gt", "value": "900"}]
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template(tolerations=tolerations)}
    async with cluster() as laboratory:
        for name in ("kube-apiserver", "kube-scheduler", "kube-controller-manager"):
            await laboratory.change_component(name, gates=GATE)
        client = laboratory.client()
        await client.patch("Node", Key("", "node-1"), {"spec": {"taints": [TAINT]}})
        await client.create(
            "DaemonSet",
            {
                "apiVersion": "apps/v1",
                "kind": "DaemonSet",
                "metadata": {"name": "d", "namespace": "default"},
                "spec": spec,
            },
        )
        # The kubelet knows no Gt: it rejects each pod, and the controller waits twice as long before the next one.
        found = []
        for _ in range(3):
            await laboratory.advance(STEP_SECONDS)
            found.append([one for one in memory(laboratory, "/daemonset-controller") if one[1] == "backoff"])
    backoffs = [following for items in found for _, _, _, _, following in items]
    assert backoffs == sorted(backoffs)
    assert backoffs[0] < backoffs[-1]


async def test_the_backoff_of_a_job_whose_pods_fail() -> None:
    failing = {"restartPolicy": "Never", "containers": [{"name": "m", "image": "busybox", "command": ["false"]}]}
    async with cluster() as laboratory:
        await laboratory.client().create(
            "Job",
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "j", "namespace": "default"},
                "spec": {"template": {"spec": failing}},
            },
        )
        await laboratory.advance(2 * STEP_SECONDS)
        [first] = [one for one in memory(laboratory, "/job-controller") if one[1] == "backoff"]
        await laboratory.advance(3 * STEP_SECONDS)
        [second] = [one for one in memory(laboratory, "/job-controller") if one[1] == "backoff"]
        [job] = stored(laboratory).list_objects("batch/jobs").values()
        digests = set()
        for failed in (1, 2):  # after the seventh failure the job would be over
            objects = StoredObjects()
            objects._objects = {"batch/jobs": {"j": {**job, "status": {"failed": failed, "ready": failed}}}}
            digests.add(objects.compute_digest({}, []))
    assert second[4] > first[4] > 1
    assert len(digests) == 2


async def test_every_key_that_waits_not_only_the_first() -> None:
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{seconds}", "namespace": "default"},
            "spec": template(tolerations=[{"operator": "Exists", "tolerationSeconds": seconds, "effect": "NoExecute"}])[
                "spec"
            ],
        }
        for seconds in (30, 70)
    ]
    async with cluster() as laboratory:
        for pod in pods:
            await laboratory.client().create("Pod", pod)
        await laboratory.advance(1)
        await laboratory.client().patch("Node", Key("", "node-1"), {"spec": {"taints": [TAINT]}})
        await laboratory.advance(1)
        waiting = [one[2:] for one in memory(laboratory, "/taint-eviction-controller") if one[1] == "delayed"]
    assert waiting == [("p30 node-1", 2), ("p70 node-1", 4)]


@pytest.mark.parametrize("seconds", [2, 20])
async def test_how_often_an_informer_has_failed(seconds: int) -> None:
    async with cluster() as laboratory:
        await laboratory.change_component("kube-apiserver", running=False)
        await laboratory.advance(seconds)
        failures = {one[2] for one in memory(laboratory, "kube-scheduler/cache/Pod") if one[1] == "failures"}
    # 0.8 s after the first failure, then twice as long each time
    assert failures == {2 if seconds == 2 else 5}
