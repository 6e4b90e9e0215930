"""Traces that a cluster sends to a collector with OTLP over HTTP."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from mockkube.cluster.configuration.tracing_options import RATE_MAX, TracingOptions
from tests.contract.api.conftest import Api

CORE = "/api/v1/namespaces/default"
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GIVEN = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
Span = dict[str, Any]


class Collector:
    """A collector that keeps what it receives."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, Span]] = []
        self.headers: list[str] = []
        self.port = 0

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        assert (request.method, request.path) == ("POST", "/v1/traces")
        self.headers.append(request.headers.get("x-key", ""))
        for one in json.loads(await request.read())["resourceSpans"]:
            attributes = {pair["key"]: pair["value"] for pair in one["resource"]["attributes"]}
            for scope in one["scopeSpans"]:
                self.spans += [(attributes["service.name"]["stringValue"], span) for span in scope["spans"]]
        return web.json_response({})

    def find(self, service: str, name: str) -> list[Span]:
        return [span for own, span in self.spans if (own, span["name"]) == (service, name)]

    def below(self, parent: Span) -> list[str]:
        return [span["name"] for _, span in self.spans if span.get("parentSpanId") == parent["spanId"]]


@asynccontextmanager
async def collector() -> AsyncIterator[Collector]:
    server = Collector()
    runner = web.ServerRunner(web.Server(server.answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
    try:
        yield server
    finally:
        await runner.cleanup()


def attributes_of(span: Span) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}


@asynccontextmanager
async def traced(directory: Path, server: Collector, rate: int, **settings: Any) -> AsyncIterator[Api]:
    options = TracingOptions(f"http://127.0.0.1:{server.port}/v1/traces", rate, (("x-key", "k"),))
    async with Api.of_new_cluster(directory, tracing_config_file=options, **settings) as client:
        yield client


async def test_a_request_has_the_spans_of_upstream(tmp_path: Path) -> None:
    async with collector() as server, traced(tmp_path, server, rate=0) as api:
        await api.create("/api/v1/namespaces", {"metadata": {"name": "lab"}})
        answer = await api.ask("GET", "/api/v1/namespaces/lab/pods/p", headers=GIVEN)
        assert answer.status == 404
        await api.ask("GET", "/version", headers=GIVEN)
    # With a rate of 0, only requests whose caller samples them are recorded: the default of Kubernetes.
    assert {span["traceId"] for _, span in server.spans} == {TRACE}
    [request] = server.find("kube-apiserver", "GET /api/v1/namespaces/{:namespace}/pods/{:name}")
    assert (request["parentSpanId"], request["kind"], request["status"]) == (PARENT, 2, {})
    assert sorted(server.below(request)) == ["Get", "authentication", "authorization"]
    told = attributes_of(request)
    assert (told["http.method"], told["http.status_code"]) == ("GET", "404")
    assert told["http.target"] == "/api/v1/namespaces/lab/pods/p"
    assert told["audit-id"] == answer.headers["Audit-Id"]
    assert int(request["endTimeUnixNano"]) >= int(request["startTimeUnixNano"]) > 1_500_000_000 * 10**9
    assert len(server.find("kube-apiserver", "GET")) == 1
    assert set(server.headers) == {"k"}


async def test_a_webhook_call_is_a_span_of_its_request(tmp_path: Path) -> None:
    hook = {
        "name": "check.example.com",
        "clientConfig": {"url": "https://127.0.0.1:9/check"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}],
        "failurePolicy": "Ignore",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    async with collector() as server, traced(tmp_path, server, rate=0) as api:
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        await api.create(path, {"metadata": {"name": "check"}, "webhooks": [hook]})
        answer = await api.ask("POST", f"{CORE}/secrets", {"metadata": {"name": "s"}}, headers=GIVEN)
        assert answer.status == 201
    [call] = server.find("kube-apiserver", "Call validating webhook")
    [create] = server.find("kube-apiserver", "Create")
    assert call["parentSpanId"] == create["spanId"]
    assert call["status"]["code"] == 2
    assert attributes_of(call) == {"webhook": "check.example.com"}


async def test_a_scheduled_pod_has_one_trace_over_components(tmp_path: Path) -> None:
    left_out = ("controllers", "kubelets")
    async with (
        collector() as server,
        traced(tmp_path, server, rate=RATE_MAX, without=left_out, nodes=1) as api,
        api.watch(f"{CORE}/pods") as watch,
    ):
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "x"}]}}
        await api.create(f"{CORE}/pods", pod)
        while "nodeName" not in (await watch.next())[1]["spec"]:
            pass
    [cycle] = server.find("kube-scheduler", "Scheduling")
    told = attributes_of(cycle)
    assert (told["k8s.pod.name"], told["result"], told["k8s.node.name"]) == ("p", "scheduled", "node-1")
    assert server.below(cycle) == ["Binding"]
    [binding] = server.find("kube-scheduler", "Binding")
    assert "POST /api/v1/namespaces/{:namespace}/pods/{:name}/binding" in server.below(binding)
    [created] = server.find("kube-apiserver", "POST /api/v1/namespaces/{:namespace}/pods")
    assert created["traceId"] != cycle["traceId"]


async def test_a_missing_collector_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = TracingOptions("http://127.0.0.1:9/v1/traces", RATE_MAX)
    async with Api.of_new_cluster(tmp_path, tracing_config_file=options) as api:
        await api.get("/api/v1/nodes")
    assert [one.message.partition(":")[0] for one in caplog.records] == ["traces are dropped"]
