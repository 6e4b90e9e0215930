import asyncio
import contextlib

import pytest

from mockkube.apiserver.aggregation.availability_controller import AvailabilityController
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.post_start_hooks.api_service_registration import API_SERVICES
from mockkube.apiserver.registry import creation, updating
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import RequestScope

USER = User("somebody")
NAME = "v1.ext.example.com"
LONG_AGO = "2001-01-01T00:00:00Z"
SERVICE = ("", "services")
SLICE = ("discovery.k8s.io", "endpointslices")


async def create(registry, kind, obj, namespace=""):
    home, call = registry.find_storage_resource(*kind), RequestScope(USER, namespace)
    await creation.create(home, call, home.decode(obj, call, "Strict"), WriteOptions())


async def make_service(registry, name):
    await create(registry, SERVICE, {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}, "ns")


async def make_slice(registry, service):
    labels = {"kubernetes.io/service-name": service}
    obj = {"metadata": {"name": f"{service}-1", "labels": labels}, "addressType": "IPv4", "endpoints": [], "ports": []}
    await create(registry, SLICE, obj, "ns")


def available(registry):
    [condition] = registry.find_storage_resource(*API_SERVICES).get_cached("", NAME).load()["status"]["conditions"]
    return condition


async def doubt(registry, status="Unknown"):
    """Write a condition that the next look will correct."""
    told = {"type": "Available", "status": status, "lastTransitionTime": LONG_AGO, "reason": "Doubt"}
    home, call = registry.find_storage_resource(*API_SERVICES), RequestScope(USER, name=NAME, subresource="status")
    await updating.update(home, call, lambda now: {**now, "status": {"conditions": [told]}}, WriteOptions())


@pytest.fixture
async def rest(registry):
    """What to wait for until every look is over, while an APIService leads to the service `s`."""
    backends = AvailabilityController(registry, None)
    backends.start()
    task = asyncio.create_task(backends.queue.run())

    async def wait():
        for _ in range(100):
            await asyncio.sleep(0)
        assert not backends.queue.is_busy, "it does not come to rest"

    service = {"namespace": "ns", "name": "s"}
    spec = {"group": "ext.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    await create(registry, API_SERVICES, {"metadata": {"name": NAME}, "spec": {**spec, "service": service}})
    await wait()
    yield wait
    backends.stop()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("make", [make_service, make_slice], ids=["services", "slices"])
async def test_a_server_is_looked_at_when_what_leads_to_it_changes_and_only_then(registry, rest, make):
    assert available(registry)["reason"] == "ServiceNotFound"
    await doubt(registry)
    await make(registry, "other")
    await rest()
    assert available(registry)["reason"] == "Doubt"
    await make(registry, "s")
    await rest()
    assert available(registry)["reason"] in ("ServiceNotFound", "ServicePortError")


@pytest.mark.parametrize(("before", "stays"), [("False", True), ("Unknown", False)])
async def test_a_condition_keeps_its_time_while_its_status_stays(registry, rest, before, stays):
    await doubt(registry, before)
    await make_service(registry, "s")
    await rest()
    found = available(registry)
    assert (found["status"], found["reason"]) == ("False", "ServicePortError")
    assert (found["lastTransitionTime"] == LONG_AGO) is stays
