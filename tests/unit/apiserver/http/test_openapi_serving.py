"""Which form of the documents a client gets, and what it may keep of them."""

from typing import cast

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from mockkube_storage.engines.memory import MemoryStore

from mockkube.api.catalogue import KindInfo
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.api.schema import Schema
from mockkube.apiserver.admission.chain import AdmissionChain
from mockkube.apiserver.http.openapi.openapi_handler import OpenApiHandler
from mockkube.apiserver.http.requests.request_context import RequestContext, parse_query
from mockkube.apiserver.identity.user import ANONYMOUS_USER
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.runtime_config import RuntimeConfig
from mockkube.apiserver.registry.service_ip_allocator import ServiceIpAllocator
from mockkube.features.capabilities import Capabilities
from mockkube.runtime.clock import RealClock
from mockkube.runtime.random import Random

THING = GroupVersionKind("example.com", "v1", "Thing")
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


class Changing:
    """A registry with kinds that come and go."""

    def __init__(self, registry: Registry, served: list[tuple[KindInfo, tuple[str, ...]]]) -> None:
        self.schema = registry.schema
        self.services, self.aggregated_apis = registry.dependencies, registry.aggregated_apis
        self._served = served

    def served_kinds(self) -> list[tuple[KindInfo, tuple[str, ...]]]:
        return list(self._served)


@pytest.fixture(scope="module")
def registry() -> Registry:
    caps = Capabilities()
    return Registry(
        store=MemoryStore(),
        clock=RealClock(),
        random=Random.from_seed(1, "registry"),
        capabilities=caps,
        schema=Schema(caps.version),
        admission=AdmissionChain([]),
        service_ip_allocator=ServiceIpAllocator(random=Random.from_seed(1, "allocators")),
        runtime_config=RuntimeConfig(),
    )


@pytest.fixture(scope="module")
def openapi(registry: Registry) -> OpenApiHandler:
    return OpenApiHandler(registry)


def ask(openapi: OpenApiHandler, url: str, **headers: str) -> web.Response:
    path, _, query = url.partition("?")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = make_mocked_request("GET", url, headers=named)
    return cast("web.Response", openapi.respond(RequestContext(request, ANONYMOUS_USER, parse_query(query)), path))


def place(openapi: OpenApiHandler, name: str) -> str:
    url: str = orjson.loads(cast("bytes", ask(openapi, "/openapi/v3").body))["paths"][name]["serverRelativeURL"]
    return url


def test_the_index_is_json_but_called_text(openapi: OpenApiHandler) -> None:
    response = ask(openapi, "/openapi/v3")
    assert (response.status, response.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert "apis/apps/v1" in orjson.loads(cast("bytes", response.body))["paths"]


def test_with_its_hash_a_document_may_be_kept_for_ever(openapi: OpenApiHandler) -> None:
    response = ask(openapi, place(openapi, "apis/batch/v1"))
    assert response.status == 200
    assert response.headers["Cache-Control"] == "public, immutable"
    assert response.headers["Expires"].endswith(" GMT")


def test_without_a_hash_a_document_is_asked_for_again(openapi: OpenApiHandler) -> None:
    response = ask(openapi, "/openapi/v3/apis/batch/v1")
    assert response.status == 200
    assert response.headers["Cache-Control"] == "no-cache, private"
    assert "Expires" not in response.headers


def test_with_an_old_hash_the_client_is_sent_to_the_present_one(openapi: OpenApiHandler) -> None:
    response = ask(openapi, "/openapi/v3/apis/batch/v1?hash=OLD")
    assert (response.status, response.headers["Location"]) == (301, place(openapi, "apis/batch/v1"))


@pytest.mark.parametrize("url", ["/openapi/v2", "/openapi/v3/apis/batch/v1"])
def test_what_the_client_has_is_not_sent_again(openapi: OpenApiHandler, url: str) -> None:
    tag = ask(openapi, url).headers["Etag"]
    again = ask(openapi, url, If_None_Match=f'"other", {tag}')
    assert (again.status, again.body, again.headers["Etag"]) == (304, b"", tag)
    assert "Content-Type" not in again.headers
    assert ask(openapi, url, If_None_Match='"other"').status == 200


@pytest.mark.parametrize(
    ("url", "accept", "status", "media"),
    [
        pytest.param("/openapi/v2", "", 200, "application/json", id="v2, anything"),
        pytest.param("/openapi/v2", "application/json, */*", 200, "application/json", id="v2 as JSON"),
        pytest.param("/openapi/v2", PROTOBUF, 200, PROTOBUF.replace("@", "."), id="v2 as protobuf"),
        pytest.param(
            "/openapi/v2", f"{PROTOBUF};q=0.5, application/json", 200, "application/json", id="v2, JSON preferred"
        ),
        pytest.param("/openapi/v2", "application/yaml", 406, "", id="v2 as YAML"),
        pytest.param("/openapi/v3/api/v1", "*/*", 200, "application/json", id="v3, anything"),
        pytest.param("/openapi/v3/api/v1", "text/html", 406, "", id="v3 as a page"),
        pytest.param("/openapi/v3/apis/nosuch/v1", "", 404, "", id="v3 of an unknown group"),
        pytest.param("/openapi/v4", "", 404, "text/plain; charset=utf-8", id="an unknown version"),
    ],
)
def test_the_form_is_what_the_client_accepts(
    openapi: OpenApiHandler, url: str, accept: str, status: int, media: str
) -> None:
    response = ask(openapi, url, **({"Accept": accept} if accept else {}))
    assert (response.status, response.headers["Content-Type"]) == (status, media)
    assert bool(response.body) is bool(media)


def test_only_stable_versions_are_told_unless_others_are_served(openapi: OpenApiHandler) -> None:
    index = orjson.loads(cast("bytes", ask(openapi, "/openapi/v3").body))["paths"]
    assert [name for name in index if "alpha" in name or "beta" in name] == []


def test_a_kind_that_comes_shows_at_once(registry: Registry) -> None:
    served = registry.served_kinds()
    openapi = OpenApiHandler(cast("Registry", Changing(registry, served)), lambda: {THING: {"type": "object"}})
    assert ask(openapi, "/openapi/v3/apis/example.com/v1").status == 404
    before = ask(openapi, "/openapi/v2").headers["Etag"]
    served.append((KindInfo("example.com", "Thing", "things"), ("v1",)))
    assert ask(openapi, "/openapi/v3/apis/example.com/v1").status == 200
    assert ask(openapi, "/openapi/v2").headers["Etag"] != before
