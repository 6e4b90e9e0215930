"""The endpoints of the service `kubernetes` are the API servers that live."""

import asyncio

from mockkube.apiserver.post_start_hooks.kubernetes_endpoints import KubernetesEndpointsController, ServerAddress
from tests.contract.replication.conftest import Member, Object, Start
from tests.contract.replication.test_several_servers import watch

ENDPOINTS = "/api/v1/namespaces/default/endpoints"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
SECONDS_MAX = 30.0


async def list_slices(member: Member) -> dict[str, tuple[str, int, list[str]]]:
    found = (await member.get(SLICES))["items"]
    return {
        one["metadata"]["name"]: (
            one["addressType"],
            one["ports"][0]["port"],
            [address for endpoint in one["endpoints"] for address in endpoint["addresses"]],
        )
        for one in found
    }


def list_addresses(endpoints: Object) -> set[tuple[str, int]]:
    return {
        (address["ip"], subset["ports"][0]["port"])
        for subset in endpoints["subsets"]
        for address in subset["addresses"]
    }


def port_of(member: Member) -> int:
    return int(member.running.url.rpartition(":")[2])


async def test_servers_announce_themselves(start: Start) -> None:
    async with start("one", advertise_address="10.1.0.1") as one, start("two", advertise_address="10.1.0.2") as two:
        expected = {("10.1.0.1", port_of(one)), ("10.1.0.2", port_of(two))}
        async with asyncio.timeout(SECONDS_MAX), watch(one, f"{ENDPOINTS}?watch=true") as events:
            async for event in events:
                if list_addresses(event["object"]) == expected:
                    return


async def test_endpoints_and_slices_follow_the_servers(start: Start) -> None:
    async with start("one") as one:
        (server,) = one.cluster.control_plane.component_controller.get_api_servers()
        live: list[ServerAddress] = []

        async def find_servers() -> list[ServerAddress]:
            return live

        controller = KubernetesEndpointsController(server.registry, find_servers)
        before = await one.get(f"{ENDPOINTS}/kubernetes")
        live[:] = [ServerAddress("127.0.0.1", 6443)]  # endpoints may not name it
        await controller.reconcile()
        assert await one.get(f"{ENDPOINTS}/kubernetes") == before
        live[:] = [ServerAddress("10.1.0.2", 6443), ServerAddress("10.1.0.1", 6443)]
        await controller.reconcile()
        endpoints = await one.get(f"{ENDPOINTS}/kubernetes")
        assert endpoints["subsets"][0]["addresses"] == [{"ip": "10.1.0.1"}, {"ip": "10.1.0.2"}]
        assert await list_slices(one) == {"kubernetes": ("IPv4", 6443, ["10.1.0.1", "10.1.0.2"])}
        await controller.reconcile()
        assert await one.get(f"{ENDPOINTS}/kubernetes") == endpoints
        live[:] = [ServerAddress("10.1.0.1", 6443), ServerAddress("10.1.0.1", 7443)]
        await controller.reconcile()
        slices = await list_slices(one)
        assert slices["kubernetes"] == ("IPv4", 6443, ["10.1.0.1"])
        assert slices["kubernetes-7443"] == ("IPv4", 7443, ["10.1.0.1"])
        live[:] = [ServerAddress.from_url("https://[2001:db8::1]:6443")]
        await controller.reconcile()
        assert await list_slices(one) == {"kubernetes": ("IPv6", 6443, ["2001:db8::1"])}
        assert list_addresses(await one.get(f"{ENDPOINTS}/kubernetes")) == {("2001:db8::1", 6443)}
