import asyncio

import pytest

from mockkube.api.errors import AlreadyExists, Internal, Invalid
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import creation, deletion
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.resource import RequestScope
from mockkube.apiserver.registry.service_ip_allocator import ServiceIpAllocator

CALL = RequestScope(User("somebody"), "ns")


def decoded(registry, name="s", **spec):
    spec = {"ports": [{"port": 80}], **spec}
    home = registry.find_storage_resource("", "services")
    return home.decode({"metadata": {"name": name, "namespace": "ns"}, "spec": spec}, CALL, "Strict")


def reserve(registry, new, old=None, **options):
    return registry.dependencies.service_ip_allocator.allocate(
        registry.find_storage_resource("", "services"), new, old, **options
    )


def taken(registry, **spec):
    """The spec of a service that has been given what it needs."""
    service = decoded(registry, **spec)
    reserve(registry, service)
    return service["spec"]


async def stored(registry, name="s", **spec):
    home = registry.find_storage_resource("", "services")
    record = await creation.create(home, CALL, decoded(registry, name, **spec), WriteOptions())
    return record.load()


def refusal(registry, kind=Invalid, old=None, **spec):
    with pytest.raises(kind) as caught:
        reserve(registry, decoded(registry, **spec), old)
    return caught.value.message


async def test_a_service_gets_an_address_of_the_range(registry):
    spec = taken(registry)
    assert spec["clusterIP"].startswith("10.0.0.")
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert spec["ipFamilies"] == ["IPv4"]
    assert spec["ipFamilyPolicy"] == "SingleStack"


async def test_every_service_gets_another_address_until_there_is_none(registry):
    addresses = {taken(registry)["clusterIP"] for _ in range(254)}
    assert len(addresses) == 254
    assert addresses.isdisjoint({"10.0.0.0", "10.0.0.255"})
    assert refusal(registry, Internal) == (
        'Internal error occurred: failed to allocate a serviceIP for Service "s": range is full'
    )


async def test_addresses_at_the_start_of_the_range_are_left_for_those_who_ask(registry):
    numbers = [int(taken(registry)["clusterIP"].rpartition(".")[2]) for _ in range(200)]
    assert min(numbers) > 16


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"clusterIP": "None"}, id="headless"),
        pytest.param({"type": "ExternalName", "externalName": "a.b"}, id="an external name"),
    ],
)
async def test_some_services_need_no_address(registry, spec):
    assert taken(registry, **spec).get("clusterIP") == spec.get("clusterIP")


async def test_a_service_may_ask_for_an_address(registry):
    assert taken(registry, clusterIP="10.0.0.7")["clusterIPs"] == ["10.0.0.7"]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        pytest.param("10.0.0.7", "provided IP is already allocated", id="taken"),
        pytest.param("10.1.0.7", "the provided network does not match the current range", id="out of range"),
        pytest.param("10.0.0.255", "the provided network does not match the current range", id="everybody's"),
    ],
)
async def test_an_address_may_be_refused(registry, address, why):
    taken(registry, clusterIP="10.0.0.7")
    assert refusal(registry, clusterIP=address) == (
        f'Service "s" is invalid: spec.clusterIPs: Invalid value: ["{address}"]: failed to allocate IP {address}: {why}'
    )


async def test_two_families_are_refused_by_a_cluster_of_one(registry):
    assert refusal(registry, ipFamilyPolicy="RequireDualStack") == (
        'Service "s" is invalid: spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
        "this cluster is not configured for dual-stack services"
    )
    assert taken(registry, ipFamilyPolicy="PreferDualStack")["ipFamilies"] == ["IPv4"]


async def test_a_cluster_of_two_families_gives_an_address_of_each(registry):
    registry.dependencies.service_ip_allocator = ServiceIpAllocator(("10.0.0.0/24", "fd00::/112"))
    spec = taken(registry, ipFamilyPolicy="RequireDualStack")
    assert spec["ipFamilies"] == ["IPv4", "IPv6"]
    assert [":" in ip for ip in spec["clusterIPs"]] == [False, True]


async def test_a_range_may_be_added(registry):
    home = registry.find_storage_resource("networking.k8s.io", "servicecidrs")
    added = home.decode({"metadata": {"name": "more"}, "spec": {"cidrs": ["10.9.0.0/28"]}}, CALL, "Strict")
    await creation.create(home, RequestScope(User("somebody")), added, WriteOptions())
    assert taken(registry, clusterIP="10.9.0.3")["clusterIP"] == "10.9.0.3"


async def test_node_ports_come_from_their_range(registry):
    ports = [{"port": 80, "name": "a"}, {"port": 80, "name": "b", "protocol": "UDP"}, {"port": 81, "name": "c"}]
    given = [port["nodePort"] for port in taken(registry, type="NodePort", ports=ports)["ports"]]
    assert given[0] == given[1] != given[2]
    assert all(30000 <= number <= 32767 for number in given)


@pytest.mark.parametrize(
    ("number", "why"),
    [
        pytest.param(30001, "provided port is already allocated", id="taken"),
        pytest.param(
            80,
            "provided port is not in the valid range. The range of valid ports is 30000-32767",
            id="out of range",
        ),
    ],
)
async def test_a_node_port_may_be_refused(registry, number, why):
    taken(registry, type="NodePort", ports=[{"port": 80, "nodePort": 30001}])
    message = refusal(registry, type="NodePort", ports=[{"port": 80, "nodePort": number}])
    assert message == f'Service "s" is invalid: spec.ports[0].nodePort: Invalid value: {number}: {why}'


async def test_node_ports_come_from_the_range_of_the_server(registry):
    held = await stored(registry, type="NodePort")
    registry.dependencies.service_ip_allocator = ServiceIpAllocator(node_ports=range(80, 82))
    given = {taken(registry, type="NodePort")["ports"][0]["nodePort"] for _ in range(2)}
    assert given == {80, 81}
    assert refusal(registry, Internal, type="NodePort").endswith("failed to allocate a nodePort: range is full")
    # A port of a former range is out of range, although a service still uses it.
    number = held["spec"]["ports"][0]["nodePort"]
    message = refusal(registry, type="NodePort", ports=[{"port": 80, "nodePort": number}])
    assert message.endswith("provided port is not in the valid range. The range of valid ports is 80-81")


@pytest.mark.parametrize(
    ("ports", "static"),
    [
        pytest.param(range(100, 116), 0, id="a small range has no band of static ports"),
        pytest.param(range(100, 140), 16, id="its minimum"),
        pytest.param(range(1, 65536), 128, id="its maximum"),
    ],
)
async def test_ports_at_the_start_of_the_range_are_chosen_last(registry, ports, static):
    registry.dependencies.service_ip_allocator = allocator = ServiceIpAllocator(node_ports=ports)
    given = [taken(registry, type="NodePort")["ports"][0]["nodePort"] for _ in range(min(len(ports) - static, 200))]
    assert min(given) >= ports[static]
    assert not any(allocator.is_in_use(number) for number in ports[:static])


async def test_a_local_load_balancer_gets_a_port_for_health_checks(registry):
    spec = taken(registry, type="LoadBalancer", externalTrafficPolicy="Local")
    assert 30000 <= spec["healthCheckNodePort"] <= 32767
    assert refusal(
        registry,
        Internal,
        type="LoadBalancer",
        externalTrafficPolicy="Local",
        healthCheckNodePort=spec["healthCheckNodePort"],
    ).endswith("provided port is already allocated")


async def test_a_load_balancer_may_do_without_node_ports(registry):
    spec = taken(registry, type="LoadBalancer", allocateLoadBalancerNodePorts=False)
    assert "nodePort" not in spec["ports"][0]


async def test_what_a_failed_write_had_reserved_is_free_again(registry):
    reservation = reserve(registry, decoded(registry, clusterIP="10.0.0.7"))
    reservation.release()
    taken(registry, clusterIP="10.0.0.7")


async def test_a_refused_service_keeps_nothing(registry):
    refusal(registry, type="NodePort", clusterIP="10.0.0.7", ports=[{"port": 80, "nodePort": 1}])
    taken(registry, clusterIP="10.0.0.7")


async def test_releasing_late_does_not_free_what_has_been_stored(registry):
    reservation = reserve(registry, decoded(registry, clusterIP="10.0.0.7"))
    reservation.release()
    await stored(registry, clusterIP="10.0.0.7")
    reservation.release()
    assert "already allocated" in refusal(registry, clusterIP="10.0.0.7")


async def test_of_two_creations_of_one_name_the_loser_gives_its_address_back(registry):
    results = await asyncio.gather(
        stored(registry, clusterIP="10.0.0.7"), stored(registry, clusterIP="10.0.0.8"), return_exceptions=True
    )
    lost = next(index for index, one in enumerate(results) if isinstance(one, AlreadyExists))
    taken(registry, clusterIP=["10.0.0.7", "10.0.0.8"][lost])


async def test_a_deleted_service_frees_what_it_held(registry):
    held = await stored(registry, type="NodePort")
    ports = [{"port": 80, "nodePort": held["spec"]["ports"][0]["nodePort"]}]
    home = registry.find_storage_resource("", "services")
    await deletion.delete(home, RequestScope(User("somebody"), "ns", "s"), DeleteOptions())
    again = taken(registry, type="NodePort", clusterIP=held["spec"]["clusterIP"], ports=ports)
    assert again["ports"][0]["nodePort"] == ports[0]["nodePort"]


async def test_what_was_stored_before_the_start_is_taken(registry):
    held = await stored(registry)
    registry.dependencies.service_ip_allocator = ServiceIpAllocator()
    assert "already allocated" in refusal(registry, clusterIP=held["spec"]["clusterIP"])


async def test_a_dry_run_takes_nothing(registry):
    service = decoded(registry, type="NodePort", ports=[{"port": 80, "name": "a"}, {"port": 81, "name": "b"}])
    reserve(registry, service, dry_run=True)
    assert service["spec"]["clusterIP"] == "10.0.0.0"
    assert [port["nodePort"] for port in service["spec"]["ports"]] == [32769, 32770]
    again = decoded(registry, clusterIP="10.0.0.7")
    reserve(registry, again, dry_run=True)
    taken(registry, clusterIP="10.0.0.7")


async def test_an_update_keeps_what_it_leaves_out(registry):
    old = await stored(registry, type="NodePort")
    new = decoded(registry, type="NodePort")
    reserve(registry, new, old)
    for field in ("clusterIP", "clusterIPs", "ipFamilies", "ports"):
        assert new["spec"][field] == old["spec"][field]


async def test_a_service_that_was_an_external_name_gets_an_address(registry):
    old = await stored(registry, type="ExternalName", externalName="a.b")
    new = decoded(registry)
    reserve(registry, new, old)
    assert new["spec"]["clusterIP"].startswith("10.0.0.")


async def test_a_service_that_becomes_a_node_port_keeps_its_address(registry):
    old = await stored(registry)
    new = decoded(registry, type="NodePort")
    reserve(registry, new, old)
    assert new["spec"]["clusterIP"] == old["spec"]["clusterIP"]
    assert new["spec"]["ports"][0]["nodePort"] >= 30000


async def test_other_kinds_need_nothing(registry):
    config_map = {"metadata": {"name": "a"}}
    registry.dependencies.service_ip_allocator.allocate(
        registry.find_storage_resource("", "configmaps"), config_map, None
    ).release()
    assert config_map == {"metadata": {"name": "a"}}
