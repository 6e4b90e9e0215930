"""What the kubelet of a simulated node says through the proxy of the API server."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from mockkube.api.quantities.quantity import parse
from tests.contract.api.conftest import Answer, Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
CORE = "/api/v1/namespaces/default"
NODE = "node-1"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Api]:
    """The client of a cluster with one node and a running pod on it."""
    directory = tmp_path_factory.mktemp("state")
    async with Api.of_new_cluster(directory, without=("scheduler", "controllers"), nodes=1) as client:
        spec = {"containers": [{"name": "main", "image": "nginx"}], "nodeName": NODE}
        async with client.watch(f"{CORE}/pods") as watch:
            await client.create(f"{CORE}/pods", {"metadata": {"name": "p"}, "spec": spec})
            while (await watch.next())[1].get("status", {}).get("phase") != "Running":
                pass
        foreign = {"metadata": {"name": "foreign", "annotations": {"mockkube.dev/kubelet": "none"}}}
        await client.create("/api/v1/nodes", foreign)
        await client.create(f"{CORE}/pods", {"metadata": {"name": "q"}, "spec": {**spec, "nodeName": "foreign"}})
        yield client


async def ask(api: Api, node: str, path: str, method: str = "GET") -> Answer:
    return await api.ask(method, f"/api/v1/nodes/{node}/proxy{path}")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/healthz", b"ok"),
        ("/healthz/syncloop", b"ok"),
        ("/healthz?verbose", b"[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n"),
    ],
)
async def test_a_kubelet_is_healthy(api: Api, path: str, body: bytes) -> None:
    for place in (NODE, f"{NODE}:10250", f"https:{NODE}:10250"):
        answer = await ask(api, place, path)
        assert (answer.status, answer.body, answer.headers["Content-Type"]) == (200, body, "text/plain; charset=utf-8")


@pytest.mark.parametrize("path", ["/pods", "/pods/", "/runningpods/"])
async def test_a_kubelet_lists_its_pods(api: Api, path: str) -> None:
    answer = (await ask(api, NODE, path)).json
    assert (answer["kind"], answer["apiVersion"]) == ("PodList", "v1")
    (pod,) = answer["items"]
    stored = await api.get(f"{CORE}/pods/p")
    assert {**pod, "kind": "Pod", "apiVersion": "v1"} == stored


async def test_the_summary_has_the_node_and_its_running_pods(api: Api) -> None:
    summary = (await ask(api, NODE, "/stats/summary")).json
    capacity = (await api.get(f"/api/v1/nodes/{NODE}"))["status"]["capacity"]
    assert summary["node"]["nodeName"] == NODE
    used = 32 * 1024 * 1024
    assert summary["node"]["memory"]["availableBytes"] == parse(capacity["memory"]).value() - used
    (pod,) = summary["pods"]
    stored = await api.get(f"{CORE}/pods/p")
    assert pod["podRef"] == {"name": "p", "namespace": "default", "uid": stored["metadata"]["uid"]}
    (container,) = pod["containers"]
    assert container["name"] == "main"
    assert container["startTime"] == stored["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    assert container["cpu"]["usageNanoCores"] == 10_000_000
    assert container["memory"]["workingSetBytes"] == pod["memory"]["workingSetBytes"] == used
    again = (await ask(api, NODE, "/stats/summary")).json["pods"][0]["cpu"]["usageCoreNanoSeconds"]
    assert again >= container["cpu"]["usageCoreNanoSeconds"] >= 0


async def test_metrics_count_pods_and_containers(api: Api) -> None:
    answer = await ask(api, NODE, "/metrics")
    lines = answer.body.decode().splitlines()
    assert f'kubelet_node_name{{node="{NODE}"}} 1' in lines
    assert 'kubelet_running_containers{container_state="running"} 1' in lines
    assert "kubelet_running_pods 1" in lines
    resources = (await ask(api, NODE, "/metrics/resource")).body.decode()
    assert 'container_start_time_seconds{container="main",namespace="default",pod="p"} 1' in resources
    assert 'container_memory_working_set_bytes{container="main",namespace="default",pod="p"} 33554432 1' in resources
    assert 'pod_cpu_usage_seconds_total{namespace="default",pod="p"} ' in resources
    assert "node_memory_working_set_bytes 33554432 " in resources
    assert "resource_scrape_error 0\n" in resources


async def test_the_configuration_has_the_number_of_pods(api: Api) -> None:
    configuration = (await ask(api, NODE, "/configz")).json["kubeletconfig"]
    assert (configuration["kind"], configuration["maxPods"]) == ("KubeletConfiguration", 110)


async def test_a_proxy_without_a_path_moves_to_the_root(api: Api) -> None:
    path = f"/api/v1/nodes/{NODE}/proxy"
    answer = await api.session.get(f"{api.url}{path}?a=b", allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (301, f"{path}/?a=b")


@pytest.mark.parametrize(
    ("place", "path", "method", "code", "text"),
    [
        ("{node}", "/logs/", "GET", 400, "mockkube does not simulate /logs of a kubelet"),
        ("{node}", "/metrics/cadvisor", "GET", 400, "mockkube does not simulate /metrics/cadvisor of a kubelet"),
        ("{node}", "/unknown", "GET", 404, "404: Page Not Found"),
        ("{node}", "/", "GET", 404, "404: Page Not Found"),
        ("{node}", "/pods", "POST", 405, "405: Method Not Allowed"),
        ("{node}:80", "/pods", "GET", 503, "error trying to reach service: dial tcp 172."),
        ("foreign", "/pods", "GET", 503, "foreign:10250: connect: connection refused"),
        ("none", "/pods", "GET", 404, 'nodes \\"none\\" not found'),
        ("a:b:c:d", "/pods", "GET", 400, "invalid node request"),
    ],
)
async def test_what_a_kubelet_does_not_say(api: Api, place: str, path: str, method: str, code: int, text: str) -> None:
    answer = await ask(api, place.format(node=NODE), path, method)
    assert answer.status == code
    assert text in answer.body.decode()


async def test_head_has_no_body(api: Api) -> None:
    answer = await ask(api, NODE, "/pods", "HEAD")
    assert (answer.status, answer.body) == (200, b"")
