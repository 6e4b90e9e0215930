"""SIGTERM at any moment ends the process, on every engine, without the help of the watchdog."""

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mockkube_storage.engines.catalogue import ENGINES

from mockkube.cluster.watchdog import BLOCKED_EXIT_CODE
from tests.contract.store.conftest import POSTGRES, SKIP_POSTGRES, emptied
from tests.contract.store.etcd_cluster import Member, run_etcd, skip_without_etcd

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
STUCK = """
import sys
from mockkube.cluster.configuration.cluster_configuration import resolve_configuration
from mockkube.cluster.foreground import run_in_foreground

def ready(running):
    print("ready", flush=True)
    while True:  # a loop that does not turn
        pass

configuration = resolve_configuration({"ephemeral": True, "port": 0, "tls": False}, {})
run_in_foreground(configuration, dict(HOME=sys.argv[1]), ready=ready)
"""


class Running:
    """A cluster in a process of its own."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.state = home / "mockkube" / "default"
        self.ready_file = home / "ready.json"
        command = [sys.executable, "-m", "mockkube.cli", "up", "--port", "0", "--no-tls", "--ready-file"]
        self.process = subprocess.Popen(
            [*command, str(self.ready_file), *arguments],
            env={**os.environ, "XDG_STATE_HOME": str(home)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, holds: Callable[[], Any]) -> None:
        while not holds():
            assert self.process.poll() is None, self.process.communicate()[1]

    def ask(self, path: str, obj: object = None) -> Any:
        ready = json.loads(self.ready_file.read_text())
        data = None if obj is None else json.dumps(obj).encode()
        headers = {"Authorization": f"Bearer {ready['token']}", "Content-Type": "application/json"}
        return urllib.request.urlopen(urllib.request.Request(ready["url"] + path, data, headers))

    def count(self, path: str) -> int:
        with self.ask(path) as answer:
            return len(json.load(answer)["items"])

    def start_to_write(self) -> http.client.HTTPConnection:
        """Send a write, and return the connection without waiting for the answer."""
        url = urllib.parse.urlsplit(json.loads(self.ready_file.read_text())["url"])
        connection = http.client.HTTPConnection(url.hostname or "", url.port)
        body = json.dumps({"metadata": {"name": "c"}})
        path = "/api/v1/namespaces/default/configmaps"
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        return connection

    def stop(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


Up = Callable[..., Running]


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> Running:
        running = Running(tmp_path, *arguments)
        processes.append(running.process)
        return running

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture(params=[engine.name for engine in ENGINES])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """The value of `--db` for an empty database of each engine."""
    match request.param:
        case "memory":
            yield "memory:"
        case "sqlite":
            yield f"sqlite:///{tmp_path / 'store.db'}"
        case "log":
            yield f"log:///{tmp_path / 'store'}"
        case "postgresql":
            if not POSTGRES:
                pytest.skip(SKIP_POSTGRES)
            yield await emptied()
        case "remote":
            with run_etcd_of_assets(tmp_path / "store") as address:
                yield f"mockkube-store://{address}"
        case "etcd":
            skip_without_etcd()
            async with run_etcd(tmp_path / "etcd") as member:
                yield member.url
        case name:
            raise AssertionError(f"no way to test engine {name}")


@contextmanager
def run_etcd_of_assets(directory: Path) -> Iterator[str]:
    """Run the etcd of `mockkube assets`; yields its host and port."""
    command = [sys.executable, "-m", "mockkube.assets", "etcd", "", f"--data-dir={directory}"]
    command += ["--listen-client-urls=http://127.0.0.1:0", "--unsafe-no-fsync"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = (json.loads(line)["msg"] for line in process.stderr)
            yield next(line.rpartition(" ")[2] for line in lines if "serving client traffic" in line)
        finally:
            process.kill()


@pytest.mark.parametrize("replicas", [2000, 2**31 - 1])
def test_in_the_middle_of_a_rollout_with_watchers(up: Up, database: str, replicas: int) -> None:
    cluster = up("--db", database, "--nodes", "3")
    cluster.wait_for(cluster.ready_file.exists)
    watches = [cluster.ask("/api/v1/pods?watch=1") for _ in range(20)]
    spec = {"replicas": replicas, "podManagementPolicy": "Parallel", "serviceName": "s"}
    spec |= {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    stateful = {"metadata": {"name": "many"}, "spec": spec}
    cluster.ask("/apis/apps/v1/namespaces/default/statefulsets", stateful).close()
    cluster.wait_for(lambda: cluster.count("/api/v1/namespaces/default/pods") > 50)
    code, said = cluster.stop()
    assert code == 0, said
    assert "Traceback" not in said
    for watch in watches:
        watch.read()  # to its end: it has one
    assert not (cluster.state / "cluster.db").exists(), "it used another database"


@pytest.mark.parametrize("moment", ["lock", "token", "cluster.db", "control.db", "kubeconfig"])
def test_while_it_starts(up: Up, moment: str) -> None:
    cluster = up("--nodes", "3")
    cluster.wait_for((cluster.state / moment).exists)
    code, said = cluster.stop()
    assert code == 0
    assert "Traceback" not in said
    assert not cluster.ready_file.exists()


def test_while_its_store_does_not_answer(up: Up, tmp_path: Path) -> None:
    skip_without_etcd()
    member = Member("only", tmp_path / "etcd")
    member.start()
    try:
        asyncio.run(member.wait_until_serving())
        cluster = up("--db", member.url, "--nodes", "1")
        cluster.wait_for(cluster.ready_file.exists)
        member.pause()
        with closing(cluster.start_to_write()):
            code, said = cluster.stop()
        # The watchdog would end it with 5.
        assert code == 0, said
        assert "Traceback" not in said
    finally:
        member.kill()


def test_while_its_collector_of_traces_does_not_answer(up: Up, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        given = {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "TracingConfiguration",
            "endpoint": f"127.0.0.1:{silent.getsockname()[1]}",
            "samplingRatePerMillion": 1_000_000,
        }
        (tmp_path / "tracing.yaml").write_text(json.dumps(given))
        cluster = up("--ephemeral", "--tracing-config-file", str(tmp_path / "tracing.yaml"))
        cluster.wait_for(cluster.ready_file.exists)
        cluster.count("/api/v1/pods")
        with silent.accept()[0] as connection:
            connection.recv(1)  # a batch is under way
            cluster.count("/api/v1/pods")
            code, said = cluster.stop()
    assert code == 0, said


def test_when_its_terminal_is_closed(up: Up) -> None:
    cluster = up("--ephemeral", "--without", "scheduler,controllers,kubelets")
    cluster.wait_for(cluster.ready_file.exists)
    cluster.process.send_signal(signal.SIGHUP)
    _, said = cluster.process.communicate(timeout=60)
    assert (cluster.process.returncode, said) == (0, "")
    assert not cluster.ready_file.exists()


def test_the_watchdog_ends_a_process_whose_loop_does_not_turn(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STUCK, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == BLOCKED_EXIT_CODE
    assert "in ready" in said, "the stack names the function that does not return"
