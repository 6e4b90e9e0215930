"""metrics.k8s.io: simulated usage, as kubectl top and autoscalers read it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
METRICS = "/apis/metrics.k8s.io/v1beta1"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
OLD = "2020-01-01T00:00:00Z"
PROTOBUF_FIRST = "application/vnd.kubernetes.protobuf,application/json"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator["Api"]:
    """A cluster whose kubelets run elsewhere: node n1 renews its lease, node dead does not."""
    from tests.contract.api.conftest import Api

    async with Api.of_new_cluster(tmp_path_factory.mktemp("state"), metrics_api="on") as client:
        for name, renewed in (("n1", datetime.now(UTC)), ("dead", datetime(2020, 1, 1, tzinfo=UTC))):
            await client.create("/api/v1/nodes", {"metadata": {"name": name, "labels": {"zone": name}}})
            spec = {"renewTime": f"{renewed:%Y-%m-%dT%H:%M:%S.000000Z}", "leaseDurationSeconds": 3600}
            leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
            await client.create(leases, {"metadata": {"name": name}, "spec": spec})
        yield client


async def make_pod(api: "Api", lab: str, name: str, node: str = "n1", started: str = OLD, **metadata: Any) -> None:
    """Create a pod whose containers run since a time."""
    containers = [
        {"name": one, "image": "x", "resources": {"requests": {"cpu": "200m", "memory": "64Mi"}}} for one in ("a", "b")
    ]
    spec = {"nodeName": node, "containers": containers, "serviceAccountName": "default"}
    await api.create(f"{lab}/serviceaccounts", {"metadata": {"name": "default"}}) if not await has_account(
        api, lab
    ) else 0
    await api.create(f"{lab}/pods", {"metadata": {"name": name, **metadata}, "spec": spec})
    running = {"running": {"startedAt": started}}
    statuses = [
        {"name": one, "image": "x", "imageID": "", "ready": True, "restartCount": 0, "state": running}
        for one in ("a", "b")
    ]
    status = {"phase": "Running", "startTime": started, "containerStatuses": statuses}
    await api.patch(f"{lab}/pods/{name}/status", {"status": status})


async def has_account(api: "Api", lab: str) -> bool:
    return (await api.ask("GET", f"{lab}/serviceaccounts/default")).status == 200


def path_of(lab: str) -> str:
    return lab.replace("/api/v1", METRICS) + "/pods"


async def test_a_pod_has_the_usage_of_its_containers(api: "Api", lab: str) -> None:
    await make_pod(api, lab, "p", labels={"app": "web"}, annotations={"mockkube.dev/usage-cpu": "a=1250m"})
    found = await api.get(f"{path_of(lab)}/p")
    assert (found["kind"], found["apiVersion"], found["window"]) == ("PodMetrics", "metrics.k8s.io/v1beta1", "15s")
    assert found["metadata"]["labels"] == {"app": "web"}
    assert found["containers"] == [
        {"name": "a", "usage": {"cpu": "1250m", "memory": "32Mi"}},
        {"name": "b", "usage": {"cpu": "100m", "memory": "32Mi"}},
    ]
    assert datetime.fromisoformat(found["timestamp"]).timestamp() % 15 == 0


async def test_lists_are_selected_by_namespace_labels_and_fields(api: "Api", lab: str) -> None:
    await make_pod(api, lab, "b-pod", labels={"app": "web"})
    await make_pod(api, lab, "a-pod", labels={"app": "db"})

    async def names(path: str) -> list[str]:
        answer = await api.get(path)
        assert answer["kind"] in ("PodMetricsList", "NodeMetricsList")
        return [one["metadata"]["name"] for one in answer["items"]]

    assert await names(path_of(lab)) == ["a-pod", "b-pod"]
    assert await names(f"{path_of(lab)}?labelSelector=app%3Dweb") == ["b-pod"]
    assert await names(f"{path_of(lab)}?fieldSelector=metadata.name%3Da-pod") == ["a-pod"]
    assert {"a-pod", "b-pod"} <= set(await names(f"{METRICS}/pods"))
    assert await names(f"{METRICS}/nodes?labelSelector=zone%3Ddead") == []


async def test_what_nothing_measured_has_no_usage(api: "Api", lab: str) -> None:
    await make_pod(api, lab, "fresh", started=f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}")
    await make_pod(api, lab, "unreachable", node="dead")
    await api.create(
        f"{lab}/pods", {"metadata": {"name": "pending"}, "spec": {"containers": [{"name": "a", "image": "x"}]}}
    )
    for name in ("fresh", "unreachable", "pending"):
        answer = await api.ask("GET", f"{path_of(lab)}/{name}")
        namespace = lab.rpartition("/")[2]
        assert (answer.status, answer.message) == (404, f'podmetrics.metrics.k8s.io "{namespace}/{name}" not found')
    assert (await api.ask("GET", f"{path_of(lab)}/none")).message == 'pods "none" not found'
    # A node that has just been created has not been measured either.
    assert (await api.ask("GET", f"{METRICS}/nodes/dead")).message == 'nodemetrics.metrics.k8s.io "dead" not found'


async def test_the_load_of_a_workload_is_shared_by_its_ready_pods(api: "Api", lab: str) -> None:
    sets = lab.replace("/api/v1", "/apis/apps/v1") + "/replicasets"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "x"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    made = await api.create(
        sets, {"metadata": {"name": "rs", "annotations": {"mockkube.dev/load-cpu": "900m"}}, "spec": spec}
    )
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "rs",
        "uid": made["metadata"]["uid"],
        "controller": True,
    }
    for name in ("one", "two", "starting"):
        await make_pod(api, lab, name, ownerReferences=[owner])
    for name in ("one", "two"):
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        await api.patch(f"{lab}/pods/{name}/status", ready)
    items = (await api.get(path_of(lab)))["items"]
    assert {one["metadata"]["name"]: [part["usage"]["cpu"] for part in one["containers"]] for one in items} == {
        "one": ["225m", "225m"],
        "starting": ["0", "0"],
        "two": ["225m", "225m"],
    }


async def test_tables_have_the_columns_of_metrics_server(api: "Api", lab: str) -> None:
    empty = (await api.ask("GET", path_of(lab), accept=TABLE)).json
    assert (empty["columnDefinitions"], empty["rows"]) == (None, [])
    await make_pod(api, lab, "p")
    table = (await api.ask("GET", f"{path_of(lab)}/p", accept=TABLE)).json
    assert [one["name"] for one in table["columnDefinitions"]] == ["Name", "cpu", "memory", "Window"]
    assert table["rows"][0]["cells"] == ["p", "200m", "64Mi", "15s"]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    whole = (await api.ask("GET", f"{path_of(lab)}?includeObject=Object", accept=TABLE)).json
    assert whole["rows"][0]["object"]["kind"] == "PodMetrics"


async def test_other_representations(api: "Api", lab: str) -> None:
    await make_pod(api, lab, "p")
    protobuf = await api.ask("GET", f"{path_of(lab)}/p", accept=PROTOBUF_FIRST)
    assert (protobuf.status, protobuf.headers["Content-Type"]) == (200, "application/json")
    partial = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    assert (await api.ask("GET", path_of(lab), accept=partial)).json["items"][0]["metadata"]["name"] == "p"
    assert (await api.ask("GET", f"{path_of(lab)}/p", accept=partial)).status == 406
    assert b"kind: PodMetrics" in (await api.ask("GET", f"{path_of(lab)}/p", accept="application/yaml")).body


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "pods?watch=true", 405, id="watch"),
        pytest.param("DELETE", "namespaces/default/pods/p", 405, id="delete"),
        pytest.param("POST", "namespaces/default/pods", 405, id="create"),
        pytest.param("GET", "services", 404, id="unknown resource"),
        pytest.param("GET", "namespaces/default/nodes", 404, id="namespace of a node"),
        pytest.param("GET", "pods/p", 404, id="pod without namespace"),
        pytest.param("GET", "namespaces/default/pods/p/status", 404, id="subresource"),
        pytest.param("GET", "pods?labelSelector=%3D%3D", 400, id="malformed selector"),
    ],
)
async def test_other_requests_are_refused(api: "Api", method: str, path: str, status: int) -> None:
    answer = await api.ask(method, f"{METRICS}/{path}", {} if method == "POST" else None)
    assert (answer.status, answer.json["kind"]) == (status, "Status")


async def test_discovery_lists_the_group(api: "Api") -> None:
    listed = await api.get(METRICS)
    assert [(one["name"], one["kind"], one["namespaced"]) for one in listed["resources"]] == [
        ("nodes", "NodeMetrics", False),
        ("pods", "PodMetrics", True),
    ]
    assert (await api.get("/apis/metrics.k8s.io"))["preferredVersion"]["version"] == "v1beta1"
    assert (await api.get("/apis"))["groups"][-1]["name"] == "metrics.k8s.io"
    [group] = [
        one
        for one in (await api.ask("GET", "/apis", accept=AGGREGATED)).json["items"]
        if one["metadata"]["name"] == "metrics.k8s.io"
    ]
    assert [one["resource"] for one in group["versions"][0]["resources"]] == ["nodes", "pods"]
    registered = await api.get(f"{API_SERVICES}/v1beta1.metrics.k8s.io")
    assert registered["status"]["conditions"][0]["reason"] == "Local"
    role = await api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/system:aggregated-metrics-reader")
    assert role["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"


async def test_openapi_describes_the_kinds(api: "Api") -> None:
    assert "apis/metrics.k8s.io/v1beta1" in (await api.get("/openapi/v3"))["paths"]
    document = await api.get("/openapi/v3/apis/metrics.k8s.io/v1beta1")
    schemas = {
        kind["kind"]: schema
        for schema in document["components"]["schemas"].values()
        for kind in schema.get("x-kubernetes-group-version-kind", ())
        if kind["group"] == "metrics.k8s.io"
    }
    assert {"NodeMetrics", "NodeMetricsList", "PodMetrics", "PodMetricsList"} <= schemas.keys()
    assert {"containers", "metadata", "timestamp", "window"} <= schemas["PodMetrics"]["properties"].keys()
    paths = document["paths"]
    assert set(paths["/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods/{name}"]) - {"parameters"} == {"get"}
    assert "/apis/metrics.k8s.io/v1beta1/nodes" in paths
    assert "io.k8s.metrics.v1beta1.PodMetrics" in (await api.get("/openapi/v2"))["definitions"]


async def test_a_registered_server_takes_the_place_of_simulated_usage(api: "Api") -> None:
    path = f"{API_SERVICES}/v1beta1.metrics.k8s.io"
    service = {"namespace": "kube-system", "name": "metrics-server"}
    await api.patch(path, {"spec": {"service": service, "insecureSkipTLSVerify": True}})
    try:
        assert (await api.ask("GET", f"{METRICS}/nodes")).status == 503
    finally:
        await api.patch(path, {"spec": {"service": None, "insecureSkipTLSVerify": None}})
    assert (await api.ask("GET", f"{METRICS}/nodes")).status == 200


async def test_without_its_api_service_the_group_is_gone(api: "Api") -> None:
    path = f"{API_SERVICES}/v1beta1.metrics.k8s.io"
    registered = await api.get(path)
    await api.delete(path)
    try:
        assert (await api.ask("GET", METRICS)).status == 404
        assert "metrics.k8s.io" not in [one["name"] for one in (await api.get("/apis"))["groups"]]
    finally:
        metadata = {"name": "v1beta1.metrics.k8s.io", "labels": registered["metadata"]["labels"]}
        await api.create(API_SERVICES, {"metadata": metadata, "spec": registered["spec"]})
    assert (await api.ask("GET", METRICS)).status == 200
