from copy import deepcopy

import pytest

from mockkube.apiserver.admission import catalogue
from mockkube.apiserver.admission.chain import AdmissionChain
from mockkube.apiserver.registry.admission import AdmissionPlugin, Operation

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "ns"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


class Noting(AdmissionPlugin):
    """Writes down what it is asked."""

    def __init__(self, name, heard):
        self.name = name
        self.heard = heard

    def admit(self, request):
        self.heard.append(f"admit {self.name}")

    def validate(self, request):
        self.heard.append(f"validate {self.name}")

    async def validate_async(self, request):
        self.heard.append(f"settle {self.name}")


async def test_plugins_are_asked_in_order(world):
    heard = []
    chain = AdmissionChain([Noting("a", heard), Noting("b", heard)])
    request = world.creation(POD)
    chain.admit(request)
    chain.validate(request)
    await chain.validate_async(request)
    assert heard == ["admit a", "admit b", "validate a", "validate b", "settle a", "settle b"]


async def test_a_plugin_is_asked_about_its_operations_alone(world):
    heard = []
    chain = AdmissionChain([Noting("a", heard)])
    chain.admit(world.deletion(POD))
    assert Operation.DELETE not in Noting.operations
    assert heard == []


@pytest.mark.parametrize("entry", [one for one in catalogue.PLUGINS if one.make and one.name != "AlwaysDeny"])
async def test_a_plugin_modifies_nothing_in_a_pod_that_is_bound(world, entry):
    await world.put(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "z"}}},
    )
    request = world.update(POD, POD, "binding")
    before = deepcopy(request.old)
    # As binding.py makes it: what it does not change is that of the old pod.
    request.obj = {
        **request.old,
        "metadata": {**request.old["metadata"]},
        "spec": {**request.old["spec"], "nodeName": "n"},
    }
    chain = AdmissionChain([entry.make()])
    chain.admit(request)
    await chain.admit_async(request)
    chain.validate(request)
    await chain.validate_async(request)
    assert request.old == before


async def test_every_plugin_copes_with_a_deletion(world):
    await world.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}})
    chain = AdmissionChain([entry.make() for entry in catalogue.PLUGINS if entry.make and entry.name != "AlwaysDeny"])
    request = world.deletion(POD)
    chain.admit(request)
    chain.validate(request)
    await chain.validate_async(request)
    assert request.obj is None
