"""Groups that another server serves: found, looked at, and asked on behalf of clients."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from aiohttp import web

from mockkube.cluster.api_servers.tcp_listener import make_tls_context
from mockkube.cluster.state.certificates import ensure_certificates

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
Object = dict[str, Any]
APIS, NAME = "/apis/apiregistration.k8s.io/v1/apiservices", "v1.ext.example.com"
HERE = "/apis/ext.example.com/v1"
SERVICES, SLICES = "/api/v1/namespaces/default/services", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
THINGS = {"name": "things", "singularName": "thing", "namespaced": True, "kind": "Thing", "verbs": ["get", "list"]}
STATUS = {"name": "things/status", "singularName": "", "namespaced": True, "kind": "Thing", "verbs": ["get"]}


@dataclass
class Behind:
    """A server of somebody else's."""

    port: int
    bundle: str
    seen: list[web.BaseRequest] = field(default_factory=list)
    resources: tuple[Object, ...] = (THINGS, STATUS)
    breaks_off: bool = False
    """Whether its discovery ends before it is told whole."""

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer discovery, a redirection, a stream, or with what was sent."""
        self.seen.append(request)
        if request.path == HERE:
            return await self._discovery(request)
        if request.path.endswith("/elsewhere"):
            return web.Response(status=302, headers={"Location": "https://elsewhere.example.com/"})
        if request.path.endswith("/stream"):
            return await self._stream(request)
        body = (await request.read()).decode()
        return web.json_response({"path": request.raw_path, "body": body}, status=201, headers={"X-Own": "yes"})

    async def _discovery(self, request: web.BaseRequest) -> web.StreamResponse:
        document = {"kind": "APIResourceList", "groupVersion": "ext.example.com/v1", "resources": self.resources}
        if not self.breaks_off:
            return web.json_response(document)
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"kind": "APIResourceList"')
        assert request.transport is not None
        request.transport.close()
        return response

    async def _stream(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(3):
            await response.write(json.dumps({"n": number}).encode() + b"\n")
        await response.write_eof()
        return response


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def behind(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Behind]:
    """The server, listening."""
    kept = ensure_certificates(tmp_path_factory.mktemp("keys"), ["ext.default.svc"], now=datetime.now(UTC))
    server = Behind(0, base64.b64encode(kept.authority.read_bytes()).decode())
    runner = web.ServerRunner(web.Server(server.answer))
    await runner.setup()
    site = web.TCPSite(
        runner, "127.0.0.1", 0, ssl_context=make_tls_context(kept.serving, kept.serving_key, [kept.authority])
    )
    await site.start()
    server.port = runner.addresses[0][1]
    yield server
    await runner.cleanup()


def api_service(behind: Behind, **spec: Any) -> Object:
    service = {"namespace": "default", "name": "ext", "port": behind.port}
    own = {"group": "ext.example.com", "version": "v1", "groupPriorityMinimum": 2000, "versionPriority": 15}
    return {"metadata": {"name": NAME}, "spec": {**own, "service": service, "caBundle": behind.bundle, **spec}}


def service(**spec: Any) -> Object:
    return {"metadata": {"name": "ext"}, "spec": spec}


EXTERNAL = service(type="ExternalName", externalName="localhost")


@pytest_asyncio.fixture(loop_scope="module")
async def tidy(api: "Api") -> AsyncIterator[None]:
    """Take away what a test has made."""
    yield
    for path in (f"{APIS}/{NAME}", f"{SERVICES}/ext", f"{SLICES}/ext-1"):
        await api.ask("DELETE", path)


async def condition(api: "Api", holds: Callable[[Object], bool]) -> Object:
    """The condition of the APIService once something holds of it."""
    async with api.watch(APIS, f"fieldSelector=metadata.name%3D{NAME}") as watch, asyncio.timeout(10):
        while True:
            _, obj = await watch.next()
            for one in obj.get("status", {}).get("conditions", ()):
                if holds(one):
                    return dict(one)


async def available(api: "Api", behind: Behind, **spec: Any) -> None:
    await api.create(SERVICES, EXTERNAL)
    await api.create(APIS, api_service(behind, **spec))
    await condition(api, lambda one: one["status"] == "True")


async def told_of(api: "Api") -> Object:
    """What aggregated discovery says of the version."""
    listed = await api.ask("GET", "/apis", accept=AGGREGATED)
    [group] = [one for one in listed.json["items"] if one["metadata"]["name"] == "ext.example.com"]
    [version] = group["versions"]
    return dict(version)


def because(reason: str) -> Callable[[Object], bool]:
    return lambda one: bool(one["reason"] == reason)


@pytest.mark.usefixtures("tidy")
async def test_what_a_service_lacks_is_told(api: "Api", behind: Behind) -> None:
    await api.create(APIS, api_service(behind))
    told = await condition(api, because("ServiceNotFound"))
    assert (told["status"], told["message"]) == ("False", 'service/ext in "default" is not present')
    await api.create(SERVICES, service(ports=[{"name": "a", "port": 80}]))
    told = await condition(api, because("ServicePortError"))
    assert told["message"] == f'service/ext in "default" is not listening on port {behind.port}'
    await api.patch(f"{SERVICES}/ext", {"spec": {"ports": [{"name": "https", "port": behind.port}]}})
    told = await condition(api, because("EndpointsNotFound"))
    assert told["message"] == 'cannot find endpointslices for service/ext in "default"'
    labels = {"kubernetes.io/service-name": "ext"}
    ports = [{"name": "https", "port": behind.port}]
    await api.create(
        SLICES,
        {"metadata": {"name": "ext-1", "labels": labels}, "addressType": "IPv4", "ports": ports, "endpoints": []},
    )
    told = await condition(api, because("MissingEndpoints"))
    assert told["message"] == 'endpointslices for service/ext in "default" have no addresses with port name "https"'


@pytest.mark.usefixtures("tidy")
async def test_nobody_is_sent_to_what_is_not_available(api: "Api", behind: Behind) -> None:
    await api.create(APIS, api_service(behind))
    answer = await api.ask("GET", f"{HERE}/things")
    assert (answer.status, answer.body) == (503, b"service unavailable\n")
    assert await told_of(api) == {"version": "v1", "freshness": "Stale"}


@pytest.mark.usefixtures("tidy")
async def test_requests_are_sent_on_and_answers_brought_back(api: "Api", behind: Behind) -> None:
    await available(api, behind)
    forged = {
        "X-Remote-User": "evil",
        "X-Remote-Extra-Scopes": "all",
        "Impersonate-User": "joe",
        "Authorization": "Basic x",
    }
    answer = await api.ask("POST", f"{HERE}/namespaces/a/things?x=%2Fy", {"a": 1}, headers=forged)
    assert answer.status == 403, "joe may not"
    answer = await api.ask("POST", f"{HERE}/namespaces/a/things?x=%2Fy", {"a": 1}, headers={"X-Remote-User": "evil"})
    assert (answer.status, answer.headers["X-Own"]) == (201, "yes")
    assert answer.json == {"path": f"{HERE}/namespaces/a/things?x=%2Fy", "body": '{"a": 1}'}
    headers = behind.seen[-1].headers
    assert headers["X-Remote-User"] == "system:unsecured"
    assert headers.getall("X-Remote-Group") == ["system:masters", "system:authenticated"]
    assert headers["X-Forwarded-Uri"] == f"{HERE}/namespaces/a/things"


@pytest.mark.usefixtures("tidy")
async def test_a_stream_comes_through(api: "Api", behind: Behind) -> None:
    await available(api, behind)
    answer = await api.ask("GET", f"{HERE}/stream")
    assert answer.body == b'{"n": 0}\n{"n": 1}\n{"n": 2}\n'


@pytest.mark.usefixtures("tidy")
async def test_nobody_is_sent_elsewhere_from_there(api: "Api", behind: Behind) -> None:
    await available(api, behind)
    answer = await api.ask("GET", f"{HERE}/elsewhere")
    assert (answer.status, b"attempted to redirect" in answer.body) == (502, True)


@pytest.mark.usefixtures("tidy")
async def test_discovery_tells_of_what_others_serve(api: "Api", behind: Behind) -> None:
    await available(api, behind)
    names = [group["name"] for group in (await api.get("/apis"))["groups"]]
    assert names.index("ext.example.com") == names.index("flowcontrol.apiserver.k8s.io") + 1
    assert (await api.get("/apis/ext.example.com"))["preferredVersion"]["version"] == "v1"
    assert (await api.get(HERE))["resources"][0]["name"] == "things"
    version = await told_of(api)
    assert [one["resource"] for one in version["resources"]] == ["things"]
    assert [one["subresource"] for one in version["resources"][0]["subresources"]] == ["status"]
    await api.delete(f"{APIS}/{NAME}")
    assert (await api.ask("GET", "/apis/ext.example.com")).status == 404


@pytest.mark.usefixtures("tidy")
async def test_a_list_that_comes_in_many_pieces_is_told_whole(
    api: "Api", behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(behind, "resources", tuple({**THINGS, "name": f"things{number}"} for number in range(5000)))
    await available(api, behind)
    assert len((await told_of(api))["resources"]) == 5000


@pytest.mark.usefixtures("tidy")
async def test_a_server_whose_discovery_breaks_off_is_asked_all_the_same(
    api: "Api", behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(behind, "breaks_off", True)
    await available(api, behind)
    assert await told_of(api) == {"version": "v1", "freshness": "Stale"}
    assert (await api.ask("GET", f"{HERE}/things")).status == 201


@pytest.mark.usefixtures("tidy")
@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param({"caBundle": ""}, "tls: failed to verify certificate", id="nobody vouches for it"),
        pytest.param({"service": {"namespace": "default", "name": "ext", "port": 1}}, "refused", id="nobody is there"),
    ],
)
async def test_a_server_that_cannot_be_reached_fails(api: "Api", behind: Behind, spec: Object, why: str) -> None:
    await api.create(SERVICES, EXTERNAL)
    await api.create(APIS, api_service(behind, **spec))
    told = await condition(api, because("FailedDiscoveryCheck"))
    assert told["status"] == "False"
    assert why in told["message"]


@pytest.mark.usefixtures("tidy")
async def test_a_server_may_go_unverified(api: "Api", behind: Behind) -> None:
    await available(api, behind, caBundle="", insecureSkipTLSVerify=True)
    assert (await api.ask("GET", f"{HERE}/things")).status == 201
