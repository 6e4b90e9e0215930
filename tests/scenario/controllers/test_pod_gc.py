"""Pods that nobody looks after any more, in virtual time."""

from dataclasses import replace

from mockkube.client.protocol import DELETE_DEFAULT, Key
from mockkube.controllers.framework.options import Options

GC = "pod-garbage-collector-controller"


async def test_pods_of_a_node_that_stays_missing_fail_and_go(sim):
    await sim.start(GC)
    await sim.node("n1")
    await sim.pod("p", on="n1", metadata={"finalizers": ["example.com/held"]})
    await sim.delete("Node", "n1", "")
    await sim.advance(59)
    assert (await sim.get("Pod", "p"))["status"]["phase"] == "Pending"
    await sim.advance(21)
    pod = await sim.get("Pod", "p")
    assert pod["status"]["phase"] == "Failed"
    (condition,) = (one for one in pod["status"]["conditions"] if one["type"] == "DisruptionTarget")
    assert (condition["reason"], condition["message"]) == ("DeletionByPodGC", "PodGC: node no longer exists")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 0


async def test_a_node_that_comes_back_in_time_keeps_its_pods(sim):
    await sim.start(GC)
    await sim.pod("p", on="n1")
    await sim.advance(50)
    await sim.node("n1")
    await sim.advance(100)
    assert "deletionTimestamp" not in (await sim.get("Pod", "p"))["metadata"]


async def test_terminating_pods_of_a_node_out_of_service_are_removed_and_others_stay(sim):
    await sim.start(GC)
    await sim.node("n1", taints=[{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}], ready="False")
    await sim.pod("going", on="n1")
    await sim.pod("staying", on="n1")
    await sim.client.delete("Pod", Key("default", "going"), DELETE_DEFAULT)
    await sim.advance(20)
    assert await sim.names("Pod") == ["staying"]


async def test_the_oldest_finished_pods_go_when_there_are_too_many(sim):
    await sim.node("n1")
    for name in ("a", "b", "c"):
        await sim.pod(name, on="n1")
        await sim.status("Pod", name, {"phase": "Succeeded"})
        await sim.advance(1)
    await sim.start(GC, options=replace(Options(), terminated_pods_max=2))
    assert await sim.names("Pod") == ["b", "c"]
