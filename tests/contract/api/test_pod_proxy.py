"""Requests that the API server proxies to pods and services, as clients see the simulated servers behind them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.contract.api.conftest import Answer, Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
CORE = "/api/v1/namespaces/default"
AGNHOST = "registry.k8s.io/e2e-test-images/agnhost:2.59"
PORTER = {
    "image": AGNHOST,
    "command": ["/agnhost", "porter"],
    "env": [
        {"name": "SERVE_PORT_80", "value": '<a href="/page">a page</a>'},
        {"name": "SERVE_PORT_160", "value": "foo"},
        {"name": "SERVE_TLS_PORT_443", "value": "tls"},
    ],
    "ports": [{"containerPort": 80}],
}
VERBS = ("DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Api]:
    """The client of a cluster with kubelets, and pods whose servers are known."""
    directory = tmp_path_factory.mktemp("state")
    async with Api.of_new_cluster(directory, without=("scheduler", "controllers"), nodes=1) as client:
        node = (await client.get("/api/v1/nodes"))["items"][0]["metadata"]["name"]
        address = await start_pod(client, node, "porter", PORTER)
        json_porter = {**PORTER, "command": ["/agnhost", "porter", "--json-response"]}
        await start_pod(client, node, "json", json_porter)
        await start_pod(client, node, "hostname", {"image": AGNHOST, "args": ["serve-hostname"]})
        await start_pod(client, node, "netexec", {"image": AGNHOST, "args": ["netexec"]})
        await start_pod(client, node, "nautilus", {"image": "registry.k8s.io/e2e-test-images/nautilus:1.7"})
        await start_pod(client, node, "unknown", {"image": "example.com/unknown:1"})
        one = [{"name": "main", "image": AGNHOST}]
        await client.create(f"{CORE}/pods", {"metadata": {"name": "pending"}, "spec": {"containers": one}})
        ports = [{"name": "first", "port": 81, "targetPort": 160}]
        await client.create(f"{CORE}/services", {"metadata": {"name": "web"}, "spec": {"ports": ports}})
        await client.create(f"{CORE}/services", {"metadata": {"name": "empty"}, "spec": {"ports": ports}})
        target = {"kind": "Pod", "namespace": "default", "name": "porter"}
        addresses = [{"ip": "10.1.2.3"}, {"ip": address, "targetRef": target}]
        subsets = [{"addresses": addresses, "ports": [{"name": "first", "port": 160}]}]
        await client.create(f"{CORE}/endpoints", {"metadata": {"name": "web"}, "subsets": subsets})
        await client.create(f"{CORE}/endpoints", {"metadata": {"name": "empty"}})
        yield client


async def start_pod(api: Api, node: str, name: str, container: dict[str, Any]) -> str:
    """Create a pod of one container, wait until it runs, and return its address."""
    spec = {"containers": [{"name": "main", **container}], "nodeName": node}
    async with api.watch(f"{CORE}/pods", f"fieldSelector=metadata.name={name}") as watch:
        await api.create(f"{CORE}/pods", {"metadata": {"name": name}, "spec": spec})
        while True:
            status = (await watch.next())[1].get("status", {})
            if status.get("phase") == "Running":
                return str(status["podIP"])


async def ask(api: Api, target: str, method: str = "GET") -> Answer:
    return await api.ask(method, f"{CORE}/{target}")


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("pods/porter:160/proxy/", b"foo"),
        ("pods/http:porter:160/proxy/any/path", b"foo"),
        ("pods/https:porter:443/proxy/", b"tls"),
        ("pods/hostname:9376/proxy/", b"hostname"),
        ("pods/netexec:8080/proxy/echo?msg=hello", b"hello"),
        ("pods/nautilus/proxy/data.json", b'{\n  "image": "nautilus.jpg"\n}\n'),
        ("services/web:first/proxy/", b"foo"),
        ("services/web:81/proxy/", b"foo"),
        ("services/http:web:81/proxy/x", b"foo"),
    ],
)
async def test_a_server_responds(api, target, body):
    answer = await ask(api, target)
    assert (answer.status, answer.body) == (200, body)


async def test_without_a_port_the_first_one_is_used_and_links_lead_through_the_proxy(api):
    answer = await ask(api, "pods/porter/proxy/")
    assert answer.body.decode() == f'<a href="{CORE}/pods/porter/proxy/page">a page</a>'
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("method", VERBS)
async def test_every_method_is_passed_on(api, method):
    answer = await ask(api, "pods/json:160/proxy/some/path", method)
    assert answer.json == {"Method": method, "Body": "foo"}
    assert answer.headers["Content-Type"] == "application/json"


async def test_head_has_no_body(api):
    answer = await ask(api, "pods/json:160/proxy/some/path", "HEAD")
    assert (answer.status, answer.body) == (200, b"")


async def test_a_proxy_without_a_path_moves_to_the_root(api):
    answer = await api.session.get(f"{api.url}{CORE}/pods/porter/proxy?a=b", allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (301, f"{CORE}/pods/porter/proxy/?a=b")


async def test_redirections_of_a_server_lead_through_the_proxy(api):
    url = f"{api.url}{CORE}/pods/netexec:8080/proxy/redirect?loc=/healthz"
    answer = await api.session.get(url, allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (302, f"{CORE}/pods/netexec:8080/proxy/healthz")


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        ("pods/none/proxy/", 404, 'pods "none" not found'),
        ("pods/pending/proxy/", 400, "address not allowed"),
        ("pods/porter:81/proxy/", 503, "connect: connection refused"),
        ("pods/porter:dest/proxy/", 503, "error trying to reach service: dial tcp: lookup tcp/dest: unknown port"),
        ("pods/https:porter:160/proxy/", 503, "http: server gave HTTP response to HTTPS client"),
        ("pods/unknown:80/proxy/", 400, "pods unknown: mockkube does not simulate the program that may listen"),
        ("pods/netexec:8080/proxy/", 400, "pods netexec: mockkube does not know the response to / on port 8080"),
        ("pods/ftp:porter:80/proxy/", 400, 'invalid pod request "ftp:porter:80"'),
        ("services/web:82/proxy/", 503, 'no service port 82 found for service "web"'),
        ("services/web:second/proxy/", 503, 'no endpoints available for service "web:second"'),
        ("services/empty:81/proxy/", 503, 'no endpoints available for service "empty"'),
        ("services/none:81/proxy/", 404, 'services "none" not found'),
    ],
)
async def test_errors_are_those_of_the_api_server(api, target, code, message):
    answer = await ask(api, target)
    assert answer.status == code
    assert message in answer.message


async def test_plain_http_to_a_tls_port_is_refused_by_the_server(api):
    answer = await ask(api, "pods/porter:443/proxy/")
    assert (answer.status, answer.body) == (400, b"Client sent an HTTP request to an HTTPS server.\n")
