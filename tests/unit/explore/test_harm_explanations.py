"""Explanations of harm ask the scheduler as it is configured."""

from mockkube.client.protocol import Key
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.explore.harm_explanations import STUCK, explain_harm
from mockkube.explore.path_runner import PathRunner
from mockkube.explore.plans.loading import parse
from mockkube.features.components import SCHEDULER

PLAN = """\
apiVersion: mockkube.dev/v1alpha1
kind: RolloutPlan
metadata: {name: configured}
spec:
  change:
    kube-scheduler: {gates: {TaintTolerationComparisonOperators: true}}
  workload:
    - apiVersion: v1
      kind: Pod
      metadata: {name: web}
      spec: {containers: [{name: main, image: i}]}
"""
FAST_DISKS = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["fast"]}]}]}
AFFINITY = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": FAST_DISKS}}
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {"schedulerName": "default-scheduler", "pluginConfig": [{"name": "NodeAffinity", "args": AFFINITY}]},
    ],
}


async def test_a_pod_that_the_configured_profile_places_nowhere_is_explained_by_the_profile() -> None:
    runner = PathRunner(parse(PLAN))
    flags = {SCHEDULER: {"config": CONFIGURATION}}
    configuration = ClusterConfiguration(nodes=1)
    async with SimulatedCluster(SimulatedClusterConfig(configuration, flags=flags)) as cluster:
        await cluster.client().create(
            "Pod", {**runner.plan.workload[0], "metadata": {"name": "web", "namespace": "default"}}
        )
        await cluster.settle()
        assert not (await cluster.client().get("Pod", Key("default", "web")))["spec"].get("nodeName")
        runner.stored.apply_steps(cluster.trace.steps)
        (found,) = await explain_harm(cluster, runner.intent, runner.stored, ())
    assert (found.pod, found.harm) == ("default/web", STUCK)
    (rejected,) = found.explanation["nodes"]
    assert rejected["reasons"] == ["node(s) didn't match scheduler-enforced node affinity"]
