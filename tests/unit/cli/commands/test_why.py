"""`mockkube why` as a user types it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from mockkube.cluster.api_servers.tcp_listener import bind, get_url
from mockkube.cluster.state.kubeconfig import KubeconfigEntries, render_kubeconfig
from mockkube.cluster.state.state_directory import StateDirectory

Mockkube = Callable[..., Any]
TAINT = {"key": "sla", "value": "950", "effect": "NoSchedule"}
NODE = {
    "metadata": {"name": "n1"},
    "spec": {"taints": [TAINT]},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
}
POD: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default", "uid": "web"},
    "spec": {"containers": [{"name": "c", "image": "i"}], "schedulerName": "default-scheduler"},
    "status": {"phase": "Pending"},
}
OBJECTS = {"nodes": [NODE], "pods": [POD]}


REPORT = {
    "pod": {"namespace": "default", "name": "web"},
    "state": "failed on n1: TaintToleration",
    "fate": "refused",
    "gone": False,
    "deeds": ["Who: kubelet 1.36 rejected it on n1."],
    "obstacle": {
        "stage": "Admitted",
        "component": "kubelet",
        "reason": "rejects it",
        "detail": "taint sla=950:NoExecute",
    },
    "decision": "goes to n1: 1 of the nodes fit",
    "node": "n1",
    "nodes": [],
    "scores": {},
    "notes": ["It would happen again."],
    "whatIf": [
        {"kind": "version", "component": "kubelet", "change": version, "node": "n1", "but": ""}
        for version in ("1.36", "1.37")
    ],
    "events": ["Scheduled by default-scheduler: Successfully assigned default/web to n1"],
}


class Server(BaseHTTPRequestHandler):
    """Lists a node and a pod, and nothing else."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].strip("/").split("/")
        found = self.answer(path)
        missing = {"kind": "Status", "message": f"{' '.join(path[-2:])} not found", "reason": "NotFound", "code": 404}
        body = orjson.dumps(missing if found is None else found)
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self, path: list[str]) -> Any:
        match path:
            case ["version"]:
                return {"major": "1", "minor": "36"}
            case ["api"]:
                return {"items": [{"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": CORE}]}]}
            case ["apis"]:
                return {"items": []}
            case [*_, "default", "pods", "web"]:
                return {"apiVersion": "v1", "kind": "Pod", **POD}
            case [*_, plural] if plural in OBJECTS:
                return {"metadata": {"resourceVersion": "1"}, "items": OBJECTS[plural]}
        return None

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


class Ours(Server):
    """Has a control API too, which says why."""

    def answer(self, path: list[str]) -> Any:
        match path:
            case ["apis", "control.mockkube.dev", "v1alpha1"]:
                return {"kind": "APIResourceList"}
            case ["apis", *_, "namespaces", "default", "pods", "web", "why"]:
                return REPORT
            case ["apis", *_, "why"]:
                return None
        return super().answer(path)


def resource(kind: str, plural: str, scope: str) -> dict[str, Any]:
    return {"resource": plural, "responseKind": {"kind": kind}, "scope": scope}


CORE = [
    resource("Node", "nodes", "Cluster"),
    resource("Pod", "pods", "Namespaced"),
    resource("ReplicationController", "replicationcontrollers", "Namespaced"),
]


@contextmanager
def serving(server: type[Server], path: Path) -> Iterator[str]:
    """A server at work, and a kubeconfig for it."""
    listening = HTTPServer(("127.0.0.1", 0), server)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    path.write_text(render_kubeconfig(KubeconfigEntries("lab", f"http://127.0.0.1:{listening.server_port}")))
    try:
        yield str(path)
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[str]:
    with serving(Server, tmp_path / "kubeconfig") as path:
        yield path


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[str]:
    with serving(Ours, tmp_path / "kubeconfig") as path:
        yield path


@pytest.mark.parametrize("asked", ["web", "po/web", "pods/web", "Pod/web"])
def test_a_pod_is_named_as_for_kubectl(mockkube: Mockkube, ours: str, asked: str) -> None:
    answer = mockkube("why", asked, "--kubeconfig", ours)
    assert answer.out.startswith("Pod default/web failed on n1")


def test_a_pending_pod_is_explained_and_what_would_help(mockkube: Mockkube, kubeconfig: str) -> None:
    answer = mockkube("why", "pod/web", "--kubeconfig", kubeconfig)
    assert answer.code == 1
    assert answer.out.splitlines()[0] == "Pod default/web is pending."
    assert "n1     TaintToleration   node(s) had untolerated taint(s)" in answer.out
    assert "taint        node n1 loses its taint sla=950:NoSchedule   n1" in answer.out


def test_the_whole_answer_is_for_programs(mockkube: Mockkube, kubeconfig: str) -> None:
    answer = mockkube("why", "web", "--kubeconfig", kubeconfig, "-o", "yaml")
    report = yaml.safe_load(answer.out)
    assert report["nodes"][0]["facts"]["taint"] == TAINT
    assert report["obstacle"]["component"] == "kube-scheduler"
    assert report["whatIf"]
    assert orjson.loads(mockkube("why", "web", "--kubeconfig", kubeconfig, "-o", "json").out) == report


def test_a_pod_that_is_not_there_is_named(mockkube: Mockkube, kubeconfig: str) -> None:
    answer = mockkube("why", "pod/none", "--kubeconfig", kubeconfig)
    assert answer.code == 2
    assert 'pods "none" not found' in answer.err


def test_a_cluster_of_ours_is_asked_itself(mockkube: Mockkube, ours: str) -> None:
    answer = mockkube("why", "pod/web", "--kubeconfig", ours)
    assert answer.code == 1
    assert answer.out == (
        "Pod default/web failed on n1: TaintToleration.\n"
        "Who: kubelet 1.36 rejected it on n1.\n"
        "What stops it now: kubelet rejects it (taint sla=950:NoExecute)\n"
        "Note: It would happen again.\n"
        "\n"
        "This change would have helped:\n"
        "KIND      CHANGE                 NODE\n"
        "version   kubelet 1.36 or 1.37   n1\n"
        "\n"
        "Events, the last at the end:\n"
        "  Scheduled by default-scheduler: Successfully assigned default/web to n1\n"
    )
    assert orjson.loads(mockkube("why", "po/web", "--kubeconfig", ours, "-o", "json").out) == REPORT


def test_what_is_supposed_of_the_scheduler_is_decided_here(mockkube: Mockkube, ours: str) -> None:
    answer = mockkube("why", "pod/web", "--kubeconfig", ours, "--version", "1.33")
    assert "node(s) had untolerated taint {sla: 950}" in answer.out


def test_a_cluster_of_ours_names_what_is_not_there(mockkube: Mockkube, ours: str) -> None:
    answer = mockkube("why", "pod/none", "--kubeconfig", ours)
    assert (answer.code, answer.err) == (2, "mockkube: none why not found\n")


def test_what_a_cluster_keeps_to_itself_is_told(mockkube: Mockkube, kubeconfig: str) -> None:
    assert (
        "The gates of components are assumed to be the defaults of their versions"
        in mockkube("why", "web", "--kubeconfig", kubeconfig).out
    )


def test_what_makes_no_pods_is_refused(mockkube: Mockkube, kubeconfig: str) -> None:
    answer = mockkube("why", "configmap/web", "--kubeconfig", kubeconfig)
    assert answer.code == 2
    assert "there is no configmap/web that creates pods" in answer.err


def test_a_cluster_that_does_not_answer_ends_with_3(mockkube: Mockkube, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(render_kubeconfig(KubeconfigEntries("lab", "http://127.0.0.1:1")))
    assert mockkube("why", "pod/web", "--kubeconfig", str(path)).code == 3


@pytest.mark.parametrize(
    "arguments", [("why", "web"), ("why", "deployment/web"), ("scan", "--to", "1.35")], ids=" ".join
)
def test_a_cluster_that_is_stopped_is_named_with_the_remedy(
    mockkube: Mockkube, state: Path, arguments: tuple[str, ...]
) -> None:
    directory = StateDirectory(state / "lab")
    directory.path.mkdir(parents=True)
    with bind("127.0.0.1", 0) as listening:
        url = get_url(listening, tls=False)
    directory.kubeconfig.write_text(render_kubeconfig(KubeconfigEntries("lab", url)))
    answer = mockkube(*arguments, "--name", "lab")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err == f"mockkube: nothing runs at {url}: start it with 'mockkube up --name lab'\n"


@pytest.mark.parametrize("arguments", [("why", "web"), ("scan", "--to", "1.35")], ids=" ".join)
def test_a_cluster_that_never_was_is_named(mockkube: Mockkube, arguments: tuple[str, ...]) -> None:
    assert mockkube(*arguments, "--name", "lab").err == (
        "mockkube: there is no cluster 'lab': start it with 'mockkube up --name lab'\n"
    )
    both = mockkube(*arguments, "--name", "lab", "--kubeconfig", "x")
    assert both.err == "mockkube: --kubeconfig and --name: both say which cluster: leave one out\n"
