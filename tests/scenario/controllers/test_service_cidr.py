"""Ranges of service addresses: ready, and kept while they are needed."""

import pytest

NAME = "service-cidr-controller"
KIND, ADDRESS = "ServiceCIDR", "IPAddress"
MANAGED = {"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io", "ipaddress.kubernetes.io/ip-family": "IPv4"}


async def condition(sim, name):
    stored = await sim.get(KIND, name, "")
    [ready] = stored["status"]["conditions"]
    return ready["status"], ready["reason"]


@pytest.fixture
async def more(sim):
    await sim.start(NAME)
    await sim.create(KIND, "more", "", spec={"cidrs": ["10.9.0.0/24"]})


async def address(sim, ip, labels=None):
    reference = {"resource": "services", "namespace": "default", "name": "s"}
    await sim.create(
        ADDRESS, ip, "", spec={"parentRef": reference}, metadata={"labels": MANAGED if labels is None else labels}
    )


async def test_a_range_is_ready_and_held(sim, more):
    assert await condition(sim, "more") == ("True", "")
    held = (await sim.get(KIND, "more", ""))["metadata"]["finalizers"]
    assert held == ["networking.k8s.io/service-cidr-finalizer"]


async def test_it_goes_ten_seconds_after_it_was_deleted(sim, more):
    await sim.delete(KIND, "more", "")
    await sim.advance(9)
    assert await sim.get(KIND, "more", "") is not None
    await sim.advance(1)
    assert await sim.get(KIND, "more", "") is None


async def test_it_stays_while_a_service_has_an_address_of_it(sim, more):
    await address(sim, "10.9.0.5")
    await sim.delete(KIND, "more", "")
    await sim.advance(20)
    assert await condition(sim, "more") == ("False", "Terminating")
    await sim.delete(ADDRESS, "10.9.0.5", "")
    assert await sim.get(KIND, "more", "") is None


async def test_an_address_of_somebody_else_holds_nothing(sim, more):
    await address(sim, "10.9.0.5", {})
    await sim.delete(KIND, "more", "")
    await sim.advance(10)
    assert await sim.get(KIND, "more", "") is None


@pytest.mark.parametrize("cidr", ["10.9.0.0/24", "10.0.0.0/8"])
async def test_another_range_may_take_its_place(sim, more, cidr):
    await address(sim, "10.9.0.5")
    await sim.delete(KIND, "more", "")
    await sim.create(KIND, "instead", "", spec={"cidrs": [cidr]})
    await sim.advance(10)
    assert await sim.get(KIND, "more", "") is None
