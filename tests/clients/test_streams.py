"""exec, attach, port-forward and logs -f with kubectl of every supported version, and with clients in Python."""

# mypy: disable-error-code="no-untyped-call"
# most of the official client has no types

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import kr8s
import kubernetes_asyncio
import pytest
from kr8s.asyncio.objects import Pod
from kubernetes import client, config, watch
from kubernetes.stream import stream

from tests.clients.conftest import Kubectl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.clients.conftest import RunningCluster

COUNT = "i=0; while true; do echo line $i; i=$((i+1)); sleep 1; done"
NO_TRAFFIC = "mockkube simulates no network traffic"
pytestmark = pytest.mark.filterwarnings(
    "ignore:Kubernetes version:UserWarning",  # kr8s does not know this one yet
    "default::DeprecationWarning",  # the official client's own
    "ignore:unclosed:ResourceWarning",  # these clients do not close all of their connections
)


@pytest.fixture(scope="module")
def kubectl(kubectl_binary: tuple[str, str], cluster_with_kubelets: RunningCluster) -> Kubectl:
    """A kubectl of each version, in a namespace with a pod that counts."""
    version, path = kubectl_binary
    major, minor = version.split(".")
    made = Kubectl(path, (int(major), int(minor)), f"streams-{major}-{minor}", cluster_with_kubelets.environment)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": made.namespace}}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    made("create", "-f", "-", given=namespace)
    made("apply", "-f", "-", given=account)
    made("run", "web", "--image=image:1", "--restart=Never", "--", "sh", "-c", COUNT)
    made("wait", "--for=condition=Ready", "pod/web")
    return made


def test_exec_has_output_errors_and_a_code(kubectl: Kubectl) -> None:
    done = kubectl.run("exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.returncode, done.stdout) == (3, "out\n")
    assert done.stderr == "err\ncommand terminated with exit code 3\n"


def test_exec_passes_its_input(kubectl: Kubectl) -> None:
    assert kubectl("exec", "-i", "web", "--", "cat", given="one\ntwo\n") == "one\ntwo\n"
    assert kubectl("exec", "-i", "web", "--", "sh", given="X=5\nfor i in 1 2; do\necho $i $X\ndone\n") == "1 5\n2 5\n"


def test_exec_of_an_unknown_program_says_so(kubectl: Kubectl) -> None:
    done = kubectl.run("exec", "web", "--", "curl", "http://x")
    assert done.returncode == 1
    assert 'exec: "curl": executable file not found in $PATH (mockkube does not simulate this program)' in done.stderr


def test_exec_in_what_does_not_run_is_refused(kubectl: Kubectl) -> None:
    assert 'pods "nothing" not found' in kubectl.run("exec", "nothing", "--", "ls").stderr
    assert "container other is not valid for pod web" in kubectl.run("exec", "web", "-c", "other", "--", "ls").stderr
    kubectl("run", "waiting", "--image=image:1", "--annotations=mockkube.dev/image-pull-error=*")
    assert 'container not found ("waiting")' in kubectl.run("exec", "waiting", "--", "ls").stderr


def test_attach_and_logs_follow(kubectl: Kubectl) -> None:
    assert kubectl("logs", "-f", "web", "--limit-bytes=14") == "line 0\nline 1\n"
    with subprocess.Popen(
        [kubectl.path, "--namespace", kubectl.namespace, "attach", "web"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=kubectl.environment,
    ) as process:
        assert process.stdout is not None
        first, second = (int(process.stdout.readline().removeprefix("line ")) for _ in range(2))
        process.terminate()
    assert second == first + 1


def test_run_shows_what_the_container_prints(kubectl: Kubectl) -> None:
    done = kubectl.run(
        "run", "brief", "-i", "--rm", "--image=image:1", "--restart=Never", "--", "sh", "-c", "sleep 3; echo hello"
    )
    assert done.returncode == 0
    assert done.stdout.startswith("hello\n")


def test_run_passes_its_input_to_the_container(kubectl: Kubectl) -> None:
    text = "echo typed\nexit 5\n"
    options = ("-i", "--rm", "--image=image:1", "--restart=Never")
    done = kubectl.run("run", "typed", *options, "--", "sh", given=text)
    assert done.returncode == 5
    assert done.stdout.startswith("typed\n")


def test_files_are_copied_to_a_container_and_back(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(bytes(range(256)))
    kubectl("cp", str(tmp_path / "there"), "web:/tmp/copied")
    kubectl("cp", "web:/tmp/copied", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == bytes(range(256))
    done = kubectl.run("cp", "web:/etc/passwd", str(tmp_path / "unknown"))
    assert "mockkube: not simulated: tar" in done.stdout + done.stderr


def test_port_forward_says_that_nothing_listens(kubectl: Kubectl) -> None:
    with subprocess.Popen(
        [kubectl.path, "--namespace", kubectl.namespace, "port-forward", "web", ":80"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=kubectl.environment,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        port = process.stdout.readline().removeprefix("Forwarding from 127.0.0.1:").partition(" ")[0]
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10)
        # Versions differ in whether they go on after the error.
        process.terminate()
        assert NO_TRAFFIC in process.stderr.read()


@pytest.fixture(scope="module")
def core(cluster_with_kubelets: RunningCluster) -> Iterator[Any]:
    """The official client, and a pod that counts."""
    with config.new_client_from_config(cluster_with_kubelets.kubeconfig) as made:
        api = client.CoreV1Api(made)
        container = {"name": "main", "image": "image:1", "command": ["sh", "-c", COUNT]}
        pod = {"metadata": {"name": "python"}, "spec": {"containers": [container], "nodeName": "node-1"}}
        node = api.list_node().items[0].metadata.name
        pod["spec"] = {"containers": [container], "nodeName": node}
        account = {"metadata": {"name": "default"}}
        if not api.list_namespaced_service_account("default").items:
            api.create_namespaced_service_account("default", account)
        api.create_namespaced_pod("default", pod)
        for event in watch.Watch().stream(
            api.list_namespaced_pod, "default", field_selector="metadata.name=python", timeout_seconds=30
        ):
            if event["object"].status.phase == "Running":
                break
        yield api
    # Its sockets are collected while their warning is ignored.
    gc.collect()


def execute(core: Any, *command: str, **options: Any) -> Any:
    flags = {"stdin": False, "stdout": True, "stderr": True, "tty": False, **options}
    return stream(core.connect_get_namespaced_pod_exec, "python", "default", command=list(command), **flags)


def test_the_official_client_runs_commands(core: Any) -> None:
    assert execute(core, "sh", "-c", "echo $HOSTNAME") == "python\n"
    session = execute(core, "sh", stdin=True, _preload_content=False)
    session.write_stdin("echo typed; exit 7\n")
    session.run_forever(timeout=10)
    assert (session.read_stdout(), session.returncode) == ("typed\n", 7)
    session.close()


def test_the_official_client_follows_logs(core: Any) -> None:
    lines = watch.Watch().stream(core.read_namespaced_pod_log, "python", "default", follow=True)
    assert [next(lines) for _ in range(3)] == ["line 0", "line 1", "line 2"]
    lines.close()


def test_kubernetes_asyncio_runs_commands(core: Any, cluster_with_kubelets: RunningCluster) -> None:
    async def execute_command() -> list[bytes]:
        settings = kubernetes_asyncio.client.Configuration()
        await kubernetes_asyncio.config.load_kube_config(
            cluster_with_kubelets.kubeconfig, client_configuration=settings
        )
        async with kubernetes_asyncio.stream.WsApiClient(settings) as made:
            api: Any = kubernetes_asyncio.client.CoreV1Api(made)
            connection = await api.connect_get_namespaced_pod_exec(
                "python", "default", command=["sh", "-c", "echo a; exit 2"], stdout=True, _preload_content=False
            )
            async with connection as websocket:
                return [message.data async for message in websocket]

    messages = asyncio.run(execute_command())
    assert messages[:2] == [b"\x01", b"\x01a\n"]
    assert json.loads(messages[2][1:])["details"]["causes"][0]["message"] == "2"


def test_kr8s_runs_commands_and_follows_logs(core: Any, cluster_with_kubelets: RunningCluster) -> None:
    async def use() -> tuple[Any, list[str]]:
        api = await kr8s.asyncio.api(kubeconfig=cluster_with_kubelets.kubeconfig)
        pod = await Pod.get("python", namespace="default", api=api)
        result = await pod.exec(["sh", "-c", "echo out; echo err >&2"])
        lines = []
        async for line in pod.logs(follow=True, timeout=20):
            lines.append(line)
            if len(lines) == 2:
                break
        return result, lines

    result, lines = asyncio.run(use())
    assert (result.stdout, result.stderr, result.returncode) == (b"out\n", b"err\n", 0)
    assert lines == ["line 0", "line 1"]
