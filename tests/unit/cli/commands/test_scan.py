"""`mockkube scan` as a user types it: over manifests, and over a cluster that answers."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

Mockkube = Callable[..., Any]
NUMERIC = "TaintTolerationComparisonOperators"
GT = {"key": "sla", "operator": "Gt", "value": "900", "effect": "NoExecute"}
NODE = {"metadata": {"name": "n1"}, "spec": {"taints": [{"key": "sla", "value": "950", "effect": "NoExecute"}]}}
POD = {
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}], "tolerations": [GT]},
}


def manifest(kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, **obj}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "shop.yaml"
    path.write_text(yaml.dump_all([manifest("Node", NODE), manifest("Pod", POD)]))
    return str(path)


def test_what_breaks_is_listed_by_component(mockkube: Mockkube, file: str) -> None:
    answer = mockkube("scan", "-f", file, "--gate", NUMERIC)
    lines = answer.out.splitlines()
    assert answer.code == 1
    assert lines[0].split() == ["COMPONENT", "KIND", "NAMESPACE", "NAME", "FIELD", "REASON"]
    assert [line.split()[0] for line in lines[1:]] == ["kube-apiserver", "kube-controller-manager", "kubelet"]
    assert "evicted immediately from n1, for its taint sla=950:NoExecute" in answer.out


def test_one_component_may_be_asked_about(mockkube: Mockkube, file: str) -> None:
    answer = mockkube("scan", "-f", file, "--gate", f"{NUMERIC}=false", "--component", "kubelet", "-o", "json")
    [found] = json.loads(answer.out)["findings"]
    assert found | {"reason": ""} == {
        "component": "kubelet",
        "kind": "Pod",
        "namespace": "shop",
        "name": "web",
        "field": "spec.tolerations[0]",
        "reason": "",
    }


def test_nothing_breaks_is_exit_code_0(mockkube: Mockkube, file: str) -> None:
    answer = mockkube("scan", "-f", file, "--gate", "TaintTolerationCEL")
    assert (answer.code, answer.out) == (0, "Nothing breaks in 2 objects.\n")


def test_programs_read_yaml_too(mockkube: Mockkube, file: str) -> None:
    report = yaml.safe_load(mockkube("scan", "-f", file, "--gate", NUMERIC, "-o", "yaml").out)
    assert (report["scanned"], len(report["findings"])) == (2, 3)


def test_the_version_may_go_down(mockkube: Mockkube, file: str) -> None:
    asked = ("scan", "-f", file, "--to", "1.34", "--component", "kube-apiserver")
    assert "every update except of the status is rejected" in mockkube(*asked).out


def test_a_directory_and_a_list_are_looked_into(mockkube: Mockkube, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [POD]}))
    (tmp_path / "deep" / "README.md").write_text("no manifest")
    answer = mockkube("scan", "-f", str(tmp_path), "--gate", NUMERIC, "-o", "json")
    assert json.loads(answer.out)["scanned"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "nothing changes: give a gate that goes off, --gate, or a version", id="no change"),
        pytest.param(["--gate", "Nope"], "--gate (kube-apiserver 1.36): unrecognized feature gate: Nope", id="gate"),
        pytest.param(
            ["--gate", "NodeInclusionPolicyInPodTopologySpread"],
            "--gate (kube-apiserver 1.36): cannot set feature gate NodeInclusionPolicyInPodTopologySpread to false, "
            "feature is locked to true",
            id="locked gate",
        ),
        pytest.param(["--to", "1.20"], "--to: version 1.20 is not supported", id="version"),
        pytest.param(["--to", "1.35", "--component", "etcd"], "Invalid value for '--component'", id="component"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    mockkube: Mockkube, file: str, arguments: list[str], message: str
) -> None:
    answer = mockkube("scan", "-f", file, *arguments)
    assert (answer.code, answer.err.count("\n"), answer.out) == (2, 1, "")
    assert answer.err.startswith(f"mockkube: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("just text", "not a manifest: each document needs apiVersion and kind", id="no manifest"),
        pytest.param("kind: [", "not valid YAML", id="no YAML"),
        pytest.param("{apiVersion: v1, kind: Pod, spec: 1}", "Pod '' cannot be read", id="wrong type"),
    ],
)
def test_a_file_that_cannot_be_read_is_exit_code_2(mockkube: Mockkube, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    answer = mockkube("scan", "-f", str(tmp_path / "x.yaml"), "--gate", NUMERIC)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert message in answer.err


class Api(BaseHTTPRequestHandler):
    """Answers as an API server does that has one node and, on two pages, two pods."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if self.headers["Authorization"] != "Bearer secret":
            self._answer(401, {"message": "Unauthorized"})
        elif path == "/metrics":
            self._send(200, f'kubernetes_feature_enabled{{name="{NUMERIC}",stage="ALPHA"}} 1\n'.encode())
        elif path == "/version":
            self._answer(200, {"major": "1", "minor": "36+"})
        elif path == "/api/v1/nodes":
            self._answer(200, {"items": [NODE]})
        elif path == "/api/v1/pods":
            last = "continue=more" in query
            self._answer(200, {"metadata": {} if last else {"continue": "more"}, "items": [POD]})
        else:
            self._answer(404, {"message": "not here"})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        self._send(status, json.dumps(body).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Api) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def kubeconfig(tmp_path: Path, url: str) -> Callable[..., str]:
    def write(server: str = url, **user: Any) -> str:
        path = tmp_path / "config"
        path.write_text(
            yaml.dump(
                {
                    "clusters": [{"name": "c", "cluster": {"server": server}}],
                    "users": [{"name": "u", "user": user}],
                    "contexts": [{"name": "lab", "context": {"cluster": "c", "user": "u"}}],
                    "current-context": "lab",
                }
            )
        )
        return str(path)

    return write


def test_a_cluster_is_read_page_by_page_with_the_gates_it_reports(
    mockkube: Mockkube, kubeconfig: Callable[..., str]
) -> None:
    answer = mockkube("scan", "--kubeconfig", kubeconfig(token="secret"), "--to", "1.34", "-o", "json")
    report = json.loads(answer.out)
    assert (answer.code, report["scanned"]) == (1, 3)
    assert {one["component"] for one in report["findings"]} == {
        "kube-apiserver",
        "kube-controller-manager",
        "kubelet",
    }


def test_the_environment_names_the_cluster_as_for_kubectl(
    mockkube: Mockkube, kubeconfig: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("secret\n")
    monkeypatch.setenv("KUBECONFIG", f"/absent:{kubeconfig(tokenFile='token')}")
    assert mockkube("scan", "--gate", "TaintTolerationCEL").out == "Nothing breaks in 3 objects.\n"


@pytest.mark.parametrize(
    ("user", "arguments", "code", "message"),
    [
        pytest.param({"token": "wrong"}, [], 3, "answers 401 to /version: Unauthorized", id="token"),
        pytest.param({"exec": {"command": "x"}}, [], 2, "user 'u' runs a program for its credentials", id="plugin"),
        pytest.param({}, ["--context", "nope"], 2, "no context 'nope': choose one of: lab", id="context"),
    ],
)
def test_a_cluster_that_cannot_be_asked_is_told_in_one_line(
    mockkube: Mockkube,
    kubeconfig: Callable[..., str],
    user: dict[str, Any],
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    answer = mockkube("scan", "--kubeconfig", kubeconfig(**user), "--gate", NUMERIC, *arguments)
    assert (answer.code, answer.err.count("\n")) == (code, 1)
    assert message in answer.err


def test_a_cluster_that_is_not_there_is_exit_code_3(mockkube: Mockkube, kubeconfig: Callable[..., str]) -> None:
    answer = mockkube("scan", "--kubeconfig", kubeconfig("http://127.0.0.1:1"), "--gate", NUMERIC)
    assert (answer.code, answer.err) == (
        3,
        "mockkube: nothing runs at http://127.0.0.1:1: "
        "start that cluster, or name another with --kubeconfig or --name\n",
    )


def test_without_any_kubeconfig_the_remedy_is_named(mockkube: Mockkube) -> None:
    answer = mockkube("scan", "--kubeconfig", "/absent", "--gate", NUMERIC)
    assert answer.err == "mockkube: --kubeconfig: /absent: no such file: give one, or manifests with -f\n"
