import pytest

from mockkube.apiserver.aggregation.service_resolver import Endpoint, NoEndpoint, resolve_endpoint
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import creation
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import RequestScope

REFERENCE = {"namespace": "ns", "name": "s", "port": 443}


async def create(registry, group, plural, obj):
    home, call = registry.find_storage_resource(group, plural), RequestScope(User("somebody"), "ns")
    await creation.create(home, call, home.decode(obj, call, "Strict"), WriteOptions())


async def make_service(registry, **spec):
    await create(registry, "", "services", {"metadata": {"name": "s"}, "spec": spec})


async def make_slice(registry, *, ready=True, port="https"):
    metadata = {"name": "s-1", "labels": {"kubernetes.io/service-name": "s"}}
    endpoint = {"addresses": ["192.0.2.5"], "conditions": {"ready": ready}}
    ports = [{"name": port, "port": 8443}]
    obj = {"metadata": metadata, "addressType": "IPv4", "endpoints": [endpoint], "ports": ports}
    await create(registry, "discovery.k8s.io", "endpointslices", obj)


PORTS = [{"name": "https", "port": 443}]


async def test_a_service_leads_to_an_endpoint(registry):
    await make_service(registry, ports=PORTS)
    await make_slice(registry)
    assert resolve_endpoint(registry, REFERENCE) == Endpoint("192.0.2.5", 8443)


async def test_an_external_name_is_where_it_leads(registry):
    await make_service(registry, type="ExternalName", externalName="localhost")
    assert resolve_endpoint(registry, {**REFERENCE, "port": 8443}).url == "https://localhost:8443"


def test_an_address_of_ipv6_stands_in_brackets():
    assert Endpoint("fd00::1", 443).url == "https://[fd00::1]:443"


async def test_a_service_that_is_not_there_leads_nowhere(registry):
    with pytest.raises(NoEndpoint, match='service "s" not found'):
        resolve_endpoint(registry, REFERENCE)


@pytest.mark.parametrize(
    ("port", "ready", "name", "why"),
    [
        pytest.param(80, True, "https", "no service port 80 found", id="another port"),
        pytest.param(443, False, "https", "no endpoints available", id="nothing is ready"),
        pytest.param(443, True, "http", "no endpoints available", id="a port of another name"),
    ],
)
async def test_what_leads_nowhere(registry, port, ready, name, why):
    await make_service(registry, ports=PORTS)
    await make_slice(registry, ready=ready, port=name)
    with pytest.raises(NoEndpoint, match=why):
        resolve_endpoint(registry, {**REFERENCE, "port": port})
