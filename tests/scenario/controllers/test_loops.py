"""Controllers that get nowhere are named."""

TEMPLATE = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0},
}


def shown(sim):
    found = {}
    for family in sim.metrics.collect():
        if family.name == "mockkube_controller_loop_rate":
            for sample in family.samples:
                labels = sample.labels
                found[labels["controller"], labels["object"], labels["cause"]] = sample.value
    return found


async def replicas(sim, count):
    spec = {"replicas": count, "selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE}
    await sim.create("ReplicaSet", "r", spec=spec)


async def test_pods_that_are_evicted_and_made_again_are_a_loop(sim):
    await sim.start("replicaset-controller", "taint-eviction-controller")
    await sim.node("n1", taints=[{"key": "broken", "effect": "NoExecute"}])
    await replicas(sim, 1)
    for _ in range(6):
        (name,) = await sim.names("Pod")
        binding = {"target": {"kind": "Node", "name": "n1"}, "metadata": {"name": name, "namespace": "default"}}
        await sim.client.create("Pod", binding, subresource="binding", name=name)
        await sim.settle()
    assert shown(sim) == {("replicaset-controller", "default/r", "churning"): 6}


async def test_old_pods_that_are_replaced_are_no_loop(sim):
    await sim.start("replicaset-controller")
    await replicas(sim, 10)
    await sim.advance(60)
    for name in await sim.names("Pod"):
        await sim.delete("Pod", name)
    assert len(await sim.names("Pod")) == 10
    assert shown(sim) == {}


async def test_pods_that_are_refused_again_and_again_are_a_loop(sim):
    await sim.create("ResourceQuota", "q", spec={"hard": {"pods": "0"}})
    await sim.status("ResourceQuota", "q", {"hard": {"pods": "0"}, "used": {"pods": "0"}})
    await sim.start("replicaset-controller")
    await replicas(sim, 1)
    await sim.advance(1)
    ((pair, rate),) = shown(sim).items()
    assert pair == ("replicaset-controller", "default/r", "failing")
    assert rate == 8
