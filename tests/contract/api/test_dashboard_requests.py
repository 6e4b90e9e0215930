"""Requests of dashboards and terminal UIs, as their sources and documents have them."""

import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
DISCOVERY = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)
TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
PODS = "/api/v1/namespaces/default/pods"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator["Api"]:
    """A cluster with a node and a running pod."""
    from tests.contract.api.conftest import Api

    directory = tmp_path_factory.mktemp("state")
    async with Api.of_new_cluster(directory, without=("scheduler", "controllers"), nodes=1) as client:
        spec = {"containers": [{"name": "main", "image": "nginx"}], "nodeName": "node-1"}
        async with client.watch(PODS) as watch:
            await client.create(PODS, {"metadata": {"name": "p", "labels": {"app": "web"}}, "spec": spec})
            while (await watch.next())[1].get("status", {}).get("phase") != "Running":
                pass
        yield client


@pytest.mark.parametrize(
    ("path", "accept", "kind"),
    [
        pytest.param("/api", DISCOVERY, "APIGroupDiscoveryList", id="discovery of the core group"),
        pytest.param("/apis", DISCOVERY, "APIGroupDiscoveryList", id="discovery of all groups"),
        pytest.param("/apis", "application/json", "APIGroupList", id="discovery without aggregation"),
        pytest.param(f"{PODS}?limit=500&includeObject=Object", TABLE, "Table", id="table with whole objects"),
        pytest.param("/api/v1/nodes", TABLE, "Table", id="table of nodes"),
        pytest.param(PODS, PARTIAL, "PartialObjectMetadataList", id="metadata"),
        pytest.param("/apis/metrics.k8s.io/v1beta1/nodes", "application/json", "NodeMetricsList", id="usage of nodes"),
        pytest.param(
            "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dweb",
            "application/vnd.kubernetes.protobuf,application/json",
            "PodMetricsList",
            id="usage of pods, by a client that prefers protobuf",
        ),
        pytest.param("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", TABLE, "Table", id="CRDs"),
    ],
)
async def test_a_list_has_the_kind_that_was_asked_for(api: "Api", path: str, accept: str, kind: str) -> None:
    answer = await api.ask("GET", path, accept=accept)
    assert (answer.status, answer.json["kind"]) == (200, kind)


@pytest.mark.parametrize(
    "path",
    [
        "/version",
        "/openapi/v2",
        "/openapi/v3",
        "/livez?verbose",
        f"{PODS}/p/log?container=main&tailLines=100&timestamps=true",
        "/api/v1/nodes/node-1/proxy/stats/summary",
    ],
)
async def test_a_path_without_a_list_answers(api: "Api", path: str) -> None:
    assert (await api.ask("GET", path, accept="*/*")).status == 200


async def test_a_user_learns_what_is_allowed(api: "Api") -> None:
    for resource in ("pods", "nodes", "secrets"):
        attributes = {"verb": "list", "resource": resource, "namespace": "default"}
        review = {"spec": {"resourceAttributes": attributes}}
        assert (await api.create(f"{AUTHORIZATION}/selfsubjectaccessreviews", review))["status"]["allowed"]
    rules = await api.create(f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})
    assert not rules["status"]["incomplete"]
    user = await api.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert user["status"]["userInfo"]["username"]


async def test_a_watch_goes_on_from_a_list_with_bookmarks(api: "Api") -> None:
    version = (await api.get(PODS))["metadata"]["resourceVersion"]
    query = f"allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds=600"
    async with api.watch(PODS, query) as watch:
        patch = {"metadata": {"annotations": {"seen": "yes"}}}
        await api.patch(f"{PODS}/p", patch)
        kind, obj = await watch.next()
    assert (kind, obj["metadata"]["annotations"]) == ("MODIFIED", {"seen": "yes"})


async def test_a_watch_sends_its_initial_list_if_asked(api: "Api") -> None:
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with api.watch(PODS, query) as watch:
        assert (await watch.next())[0] == "ADDED"
        kind, obj = await watch.next()
    assert (kind, obj["metadata"]["annotations"]) == ("BOOKMARK", {"k8s.io/initial-events-end": "true"})


async def test_metrics_are_found_in_discovery(api: "Api") -> None:
    groups = json.loads((await api.ask("GET", "/apis")).body)["groups"]
    assert "metrics.k8s.io/v1beta1" in [one["preferredVersion"]["groupVersion"] for one in groups]
