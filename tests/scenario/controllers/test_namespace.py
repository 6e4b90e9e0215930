"""Namespaces that are deleted, in virtual time."""

from mockkube.client.protocol import DELETE_DEFAULT, Key


async def going(sim, *finalizers):
    await sim.create("Namespace", "n", "")
    await sim.create("ConfigMap", "c", "n", metadata={"finalizers": list(finalizers)})
    await sim.client.delete("Namespace", Key("", "n"), DELETE_DEFAULT)


async def test_a_namespace_is_left_alone_for_five_seconds_and_then_emptied(sim):
    await sim.start("namespace-controller")
    await going(sim)
    await sim.advance(4.9)
    assert await sim.get("ConfigMap", "c", "n")
    await sim.advance(0.2)
    assert await sim.get("ConfigMap", "c", "n") is None
    assert await sim.get("Namespace", "n", "") is None


async def test_a_namespace_tells_what_is_left_in_it(sim):
    await sim.start("namespace-controller")
    await going(sim, "example.com/held")
    await sim.advance(6)
    namespace = await sim.get("Namespace", "n", "")
    conditions = {one["type"]: (one["status"], one["message"]) for one in namespace["status"]["conditions"]}
    assert conditions == {
        "NamespaceDeletionDiscoveryFailure": ("False", "All resources successfully discovered"),
        "NamespaceDeletionGroupVersionParsingFailure": ("False", "All legacy kube types successfully parsed"),
        "NamespaceDeletionContentFailure": (
            "False",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": ("True", "Some resources are remaining: configmaps. has 1 resource instances"),
        "NamespaceFinalizersRemaining": (
            "True",
            "Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances",
        ),
    }


async def test_a_namespace_goes_when_what_held_it_is_gone(sim):
    await sim.start("namespace-controller")
    await going(sim, "example.com/held")
    await sim.advance(6)
    await sim.merge("ConfigMap", "c", {"metadata": {"finalizers": None}}, "n")
    await sim.advance(10)
    assert await sim.get("Namespace", "n", "") is None


async def test_pods_go_before_everything_else(sim):
    await sim.start("namespace-controller")
    await sim.node("n1")
    await sim.create("Namespace", "n", "")
    await sim.create("ConfigMap", "c", "n")
    await sim.create("Pod", "p", "n", spec={"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]})
    await sim.client.delete("Namespace", Key("", "n"), DELETE_DEFAULT)
    await sim.advance(30)
    assert await sim.get("ConfigMap", "c", "n")
    await sim.delete("Pod", "p", "n")
    await sim.advance(20)
    assert await sim.get("Namespace", "n", "") is None
