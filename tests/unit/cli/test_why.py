"""`mockkube why` as a user types it."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from mockkube.cluster.kubeconfig import Access, render

Mockkube = Callable[..., Any]
TAINT = {"key": "sla", "value": "950", "effect": "NoSchedule"}
NODE = {
    "metadata": {"name": "n1"},
    "spec": {"taints": [TAINT]},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
}
POD = {
    "metadata": {"name": "web", "namespace": "default", "uid": "web"},
    "spec": {"containers": [{"name": "c", "image": "i"}], "schedulerName": "default-scheduler"},
    "status": {"phase": "Pending"},
}
OBJECTS = {"nodes": [NODE], "pods": [POD]}


class Server(BaseHTTPRequestHandler):
    """Lists a node and a pod, and nothing else."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].strip("/").split("/")
        body = orjson.dumps(answer(path))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


def resource(kind: str, plural: str, scope: str) -> dict[str, Any]:
    return {"resource": plural, "responseKind": {"kind": kind}, "scope": scope}


CORE = [resource("Node", "nodes", "Cluster"), resource("Pod", "pods", "Namespaced")]


def answer(path: list[str]) -> Any:
    match path:
        case ["api"]:
            return {"items": [{"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": CORE}]}]}
        case ["apis"]:
            return {"items": []}
    return {"metadata": {"resourceVersion": "1"}, "items": OBJECTS[path[-1]]}


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    path = tmp_path / "kubeconfig"
    path.write_text(render(Access("lab", f"http://127.0.0.1:{server.server_port}")))
    yield str(path)
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_pending_pod_is_explained_and_what_would_help(mockkube: Mockkube, kubeconfig: str) -> None:
    answer = mockkube("why", "pod/web", "--kubeconfig", kubeconfig)
    assert answer.code == 1
    assert answer.out.splitlines()[0] == "Pod default/web is pending."
    assert "n1     TaintToleration   node(s) had untolerated taint(s)" in answer.out
    assert "taint           node n1 loses its taint sla=950:NoSchedule   n1" in answer.out


def test_the_whole_answer_is_for_programs(mockkube: Mockkube, kubeconfig: str) -> None:
    answer = mockkube("why", "web", "--kubeconfig", kubeconfig, "-o", "yaml")
    report = yaml.safe_load(answer.out)
    assert report["nodes"][0]["facts"]["taint"] == TAINT
    assert report["whatIf"]
    assert orjson.loads(mockkube("why", "web", "--kubeconfig", kubeconfig, "-o", "json").out) == report


def test_a_pod_that_is_not_there_is_named(mockkube: Mockkube, kubeconfig: str) -> None:
    answer = mockkube("why", "pod/none", "--kubeconfig", kubeconfig)
    assert answer.code == 2
    assert 'pods "none" not found' in answer.err


def test_a_cluster_that_does_not_answer_ends_with_3(mockkube: Mockkube, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(render(Access("lab", "http://127.0.0.1:1")))
    assert mockkube("why", "pod/web", "--kubeconfig", str(path)).code == 3
