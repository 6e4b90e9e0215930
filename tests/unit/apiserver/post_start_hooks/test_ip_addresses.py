import asyncio
import contextlib
from dataclasses import replace

import pytest

from mockkube.api.errors import Invalid
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.post_start_hooks.ip_addresses import (
    ALLOCATOR,
    FAMILY_LABEL,
    GRACE_PERIOD,
    IP_ADDRESSES,
    MANAGED_BY_LABEL,
    IPAddressController,
)
from mockkube.apiserver.registry import creation, deletion, updating
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.resource import RequestScope
from mockkube.runtime.virtual_time import VirtualClock

USER = User("somebody")
SERVICES = ("", "services")
OWN = {FAMILY_LABEL: "IPv4", MANAGED_BY_LABEL: ALLOCATOR}


async def create(registry, kind, obj, **options):
    home = registry.find_storage_resource(*kind)
    call = RequestScope(USER, "ns" if home.kind.namespaced else "")
    made = await creation.create(home, call, home.decode(obj, call, "Strict"), replace(WriteOptions(), **options))
    return made.load()


async def make_service(registry, name="s", *, dry_run=False, **spec):
    obj = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
    return await create(registry, SERVICES, obj, dry_run=dry_run)


async def make_address(registry, address, labels=None, resource="services", name="s"):
    reference = {"resource": resource, "namespace": "ns", "name": name}
    await create(
        registry,
        IP_ADDRESSES,
        {"metadata": {"name": address, "labels": labels or {}}, "spec": {"parentRef": reference}},
    )


async def delete(registry, kind, name):
    home = registry.find_storage_resource(*kind)
    await deletion.delete(home, RequestScope(USER, "ns" if home.kind.namespaced else "", name), DeleteOptions())


def addresses(registry):
    records = registry.find_storage_resource(*IP_ADDRESSES).collection.objects.values()
    parents = ((record, record.load()["spec"]["parentRef"]) for record in records)
    return {record.name: (parent["resource"], parent["name"], dict(record.labels)) for record, parent in parents}


@contextlib.asynccontextmanager
async def running(registry):
    made = IPAddressController(registry)
    await made.start()
    tasks = [asyncio.create_task(one.run()) for one in (made.service_queue, made.address_queue)]
    yield made
    made.stop()
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def rest(made):
    for _ in range(100):
        await asyncio.sleep(0)
        if not made.service_queue.is_busy and not made.address_queue.is_busy:
            return
    raise AssertionError("it does not come to rest")


async def test_a_service_has_its_address_when_it_is_answered(registry):
    async with running(registry):
        await make_service(registry, clusterIP="10.0.0.50")
        assert addresses(registry) == {"10.0.0.50": ("services", "s", OWN)}
        await delete(registry, SERVICES, "s")
        assert addresses(registry) == {}


async def test_a_dry_run_and_a_service_without_address_leave_nothing(registry):
    async with running(registry):
        await make_service(registry, clusterIP="10.0.0.50", dry_run=True)
        await make_service(registry, "headless", clusterIP="None")
        await make_service(registry, "elsewhere", type="ExternalName", externalName="example.com")
        assert addresses(registry) == {}


async def test_an_update_may_bring_or_take_an_address(registry):
    async with running(registry):
        await make_service(registry, type="ExternalName", externalName="example.com")
        home, call = registry.find_storage_resource(*SERVICES), RequestScope(USER, "ns", "s")
        inside = {"type": "ClusterIP", "clusterIP": "10.0.0.50", "clusterIPs": ["10.0.0.50"]}
        for spec, expected in (
            ({**inside, "ports": [{"port": 80}]}, ["10.0.0.50"]),
            (
                {"type": "ExternalName", "externalName": "example.com"},
                [],
            ),
        ):
            wanted = home.decode({"metadata": {"name": "s"}, "spec": spec}, call, "Ignore")
            await updating.replace(home, call, wanted, WriteOptions())
            assert list(addresses(registry)) == expected


async def test_an_address_somebody_else_has_is_taken(registry):
    async with running(registry):
        await make_address(registry, "10.0.0.60", resource="gateways", name="g")
        with pytest.raises(Invalid, match="provided IP is already allocated"):
            await make_service(registry, clusterIP="10.0.0.60")


async def test_what_was_there_before_gets_its_address_at_the_start(registry):
    await make_service(registry, clusterIP="10.0.0.50")
    async with running(registry):
        assert list(addresses(registry)) == ["10.0.0.50"]


@pytest.mark.parametrize(
    ("labels", "resource", "name"),
    [
        pytest.param({}, "services", "s", id="without its labels"),
        pytest.param(OWN, "gateways", "g", id="of something else"),
        pytest.param(OWN, "services", "nobody", id="of a service that is not there"),
    ],
)
async def test_what_disagrees_with_a_service_is_mended(registry, labels, resource, name):
    async with running(registry) as made:
        await make_service(registry, clusterIP="10.0.0.50")
        made.stop()
        await delete(registry, IP_ADDRESSES, "10.0.0.50")
        await make_address(registry, "10.0.0.50", labels, resource, name)
    async with running(registry) as made:
        await rest(made)
        assert addresses(registry) == {"10.0.0.50": ("services", "s", OWN)}


async def test_what_somebody_deletes_comes_back_while_its_service_is_there(registry):
    async with running(registry) as made:
        await make_service(registry, clusterIP="10.0.0.50")
        await delete(registry, IP_ADDRESSES, "10.0.0.50")
        await rest(made)
        assert addresses(registry) == {"10.0.0.50": ("services", "s", OWN)}


async def test_an_address_without_service_goes_after_a_while(registry):
    now = registry.dependencies.clock.now()
    await make_address(registry, "10.0.0.70", OWN)
    await make_address(registry, "10.0.0.71", OWN, resource="gateways")
    await make_address(registry, "10.0.0.72")
    async with running(registry) as made:
        await rest(made)
        assert list(addresses(registry)) == ["10.0.0.70", "10.0.0.72"], "a service may be coming"
        registry.dependencies.clock = VirtualClock(now + GRACE_PERIOD + GRACE_PERIOD)
        made.address_queue.add("10.0.0.70")
        await rest(made)
        assert list(addresses(registry)) == ["10.0.0.72"], "somebody else's"
