"""A cluster starts whole or not at all, says where it is, and stops within a second."""

import asyncio
import json
import os
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from mockkube_storage.errors import Unavailable

from mockkube.cluster.api_servers.api_server import ApiServerDependencies, Server
from mockkube.cluster.cluster import Cluster
from mockkube.cluster.components.hot_loop_reporter import HotLoopReporter
from mockkube.cluster.configuration.cluster_configuration import MEMORY, ClusterConfiguration
from mockkube.cluster.configuration.errors import ConfigurationError, StartError
from mockkube.cluster.state.certificate_process import CertificateProcess
from mockkube.cluster.state.certificates import Certificates
from mockkube.cluster.state.state_directory import RunningRecord, StateDirectory
from mockkube.runtime.clock import RealClock

Build = Callable[[ApiServerDependencies], Server]
Fixture = Callable[..., Cluster]


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    return StateDirectory(tmp_path / "state" / "lab")


@pytest.fixture
def cluster(directory: StateDirectory, build: Build) -> Fixture:
    def make(**fields: Any) -> Cluster:
        configuration = ClusterConfiguration(
            **{"name": "lab", "port": 0, "db": MEMORY, "given_settings": frozenset({"name"}), **fields}
        )
        return Cluster(configuration, directory, make_api_server=build)

    return make


async def ask(url: str, *, token: str | None = None, tls: ssl.SSLContext | None = None) -> str:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers) as session, session.get(url, ssl=tls or True) as response:
        return await response.text()


def tree(path: Path) -> list[str]:
    return sorted(str(found.relative_to(path)) for found in path.rglob("*"))


async def test_over_tls_the_token_names_the_administrator(cluster: Fixture) -> None:
    async with cluster() as running:
        context = ssl.create_default_context(cafile=running.ca_file)
        answer = await ask(running.url, token=running.token, tls=context)
    assert answer == "kubernetes-admin system:masters,system:authenticated"
    assert running.url.startswith("https://127.0.0.1:")


async def test_over_tls_the_client_certificate_names_the_administrator(
    cluster: Fixture, directory: StateDirectory
) -> None:
    async with cluster() as running:
        context = ssl.create_default_context(cafile=running.ca_file)
        certificates = Certificates(directory.certificates)
        context.load_cert_chain(certificates.admin, certificates.admin_key)
        answer = await ask(running.url, tls=context)
    assert answer == "kubernetes-admin system:masters,system:authenticated"


async def test_without_the_process_that_creates_certificates_the_cluster_does_it_itself(
    directory: StateDirectory, build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    configuration = ClusterConfiguration(name="lab", port=0, db=MEMORY, given_settings=frozenset({"name"}))
    with CertificateProcess([], now=RealClock().now(), python="/bin/false") as process:
        async with Cluster(configuration, directory, make_api_server=build, certificate_process=process) as running:
            context = ssl.create_default_context(cafile=running.ca_file)
            answer = await ask(running.url, token=running.token, tls=context)
    assert answer == "kubernetes-admin system:masters,system:authenticated"
    assert "the process that creates certificates has failed, this one creates them: exit code 1" in caplog.text


async def test_over_tls_nobody_is_anonymous(cluster: Fixture) -> None:
    async with cluster() as running:
        context = ssl.create_default_context(cafile=running.ca_file)
        assert await ask(running.url, tls=context) == "system:anonymous system:unauthenticated"


@pytest.mark.parametrize(
    ("token", "answer"),
    [
        pytest.param(None, "system:unsecured system:masters,system:authenticated", id="no token asked for"),
        pytest.param("s3cret", "system:anonymous system:unauthenticated", id="a token asked for"),
    ],
)
async def test_over_plain_http_credentials_are_asked_for_only_when_given(
    cluster: Fixture, token: str | None, answer: str
) -> None:
    async with cluster(tls=False, token=token) as running:
        assert running.url.startswith("http://127.0.0.1:")
        assert await ask(running.url) == answer
        assert (await ask(running.url, token=running.token)).startswith("kubernetes-admin ")


async def test_it_listens_on_the_loopback_of_ipv6(cluster: Fixture) -> None:
    async with cluster(tls=False, bind="::1") as running:
        assert running.url.startswith("http://[::1]:")
        assert (await ask(running.url)).startswith("system:unsecured")


async def test_the_ready_file_says_where_it_is_while_it_is(cluster: Fixture, tmp_path: Path) -> None:
    path = tmp_path / "ready.json"
    async with cluster(ready_file=path) as running:
        ready = json.loads(path.read_text())
        assert ready == {
            "url": running.url,
            "token": running.token,
            "caFile": str(running.ca_file),
            "kubeconfig": str(running.kubeconfig),
            "pid": os.getpid(),
        }
        assert path.stat().st_mode & 0o777 == 0o600
    assert not path.exists()


async def test_the_own_kubeconfig_is_written(cluster: Fixture) -> None:
    async with cluster() as running:
        config = yaml.safe_load(running.kubeconfig.read_text())
        assert config["clusters"][0]["cluster"]["server"] == running.url
        assert config["current-context"] == "mockkube-lab"


async def test_the_users_kubeconfig_has_the_context_while_it_runs(cluster: Fixture, tmp_path: Path) -> None:
    path = tmp_path / "config"
    async with cluster(kubeconfig=path, set_context=True):
        assert yaml.safe_load(path.read_text())["current-context"] == "mockkube-lab"
    assert yaml.safe_load(path.read_text())["contexts"] == []


@pytest.mark.parametrize(("db", "count"), [(None, 1), (MEMORY, 2)], ids=["durable", "ephemeral"])
async def test_token_and_certificates_of_a_durable_cluster_outlive_a_restart(
    cluster: Fixture, directory: StateDirectory, db: str | None, count: int
) -> None:
    seen = set()
    for _ in range(2):
        async with cluster(db=db) as running:
            assert running.ca_file is not None
            seen.add((running.token, running.ca_file.read_bytes()))
    assert len(seen) == count
    assert directory.path.exists() == (count == 1)


async def test_nodes_are_registered_before_it_is_ready(cluster: Fixture, built: list[Any]) -> None:
    async with cluster(nodes=3):
        assert [node["metadata"]["name"] for node in built[0].created] == ["node-1", "node-2", "node-3"]


async def test_other_commands_are_told_where_it_is(cluster: Fixture, directory: StateDirectory) -> None:
    async with cluster() as running:
        record = RunningRecord.read(directory)
        assert record is not None
        assert (record.pid, record.url, record.database) == (os.getpid(), running.url, MEMORY)


async def test_a_port_in_use_is_named_and_nothing_is_written(
    cluster: Fixture, built: list[Any], directory: StateDirectory
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(StartError, match=f"port {port} on 127.0.0.1 is in use: stop what listens there, or give"):
            await cluster(port=port).__aenter__()
    assert built == []
    assert not directory.path.exists()


async def test_a_second_cluster_of_the_name_is_refused_and_the_first_goes_on(cluster: Fixture) -> None:
    async with cluster(tls=False) as running:
        with pytest.raises(StartError, match="cluster 'lab' is already running"):
            await cluster(tls=False).__aenter__()
        assert (await ask(running.url)).startswith("system:unsecured")


async def test_an_ephemeral_cluster_that_nobody_named_takes_the_next_free_name(cluster: Fixture) -> None:
    unnamed: frozenset[str] = frozenset()
    async with cluster(tls=False) as first, cluster(tls=False, given_settings=unnamed) as second:
        async with cluster(tls=False, given_settings=unnamed) as third:
            assert [one.name for one in (first, second, third)] == ["lab", "lab-2", "lab-3"]
            assert third.kubeconfig.parent.name == "lab-3"
            assert "mockkube-lab-3" in third.kubeconfig.read_text()
        assert not third.kubeconfig.parent.exists()


async def test_an_address_of_another_machine_is_named(cluster: Fixture) -> None:
    with pytest.raises(StartError, match=r"address 192\.0\.2\.1 is not one of this machine: give one that is"):
        await cluster(bind="192.0.2.1").__aenter__()


async def test_a_database_nobody_knows_is_named(cluster: Fixture) -> None:
    with pytest.raises(ConfigurationError, match="--db: no storage engine for 'cassandra://x'"):
        await cluster(db="cassandra://x").__aenter__()


async def test_a_store_that_fails_while_the_cluster_starts_is_named(
    cluster: Fixture, built: list[Any], directory: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def create_object(self: object, obj: object) -> None:
        raise Unavailable("lab.db", "database or disk is full")

    made = cluster(nodes=1)
    build = made._make_api_server
    monkeypatch.setattr(made, "_make_api_server", lambda given: _with(build(given), create_object, monkeypatch))
    with pytest.raises(StartError, match=r"lab\.db is not available: database or disk is full: make it"):
        await made.__aenter__()
    assert built[0].stopping.is_set()
    assert directory.find_holder_pid() is None


async def test_the_error_that_ends_a_running_cluster_is_raised_after_everything_has_stopped(
    cluster: Fixture, built: list[Any], directory: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(reporter: HotLoopReporter) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(HotLoopReporter, "run", run)
    with pytest.raises(ExceptionGroup) as caught:
        async with cluster():
            await asyncio.Event().wait()
    assert "a bug" in str(caught.value.exceptions)
    assert built[0].stopping.is_set()
    assert directory.find_holder_pid() is None


def _with(server: Server, create_object: Any, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setattr(type(server), "create_object", create_object)
    return server


async def test_a_ready_file_that_cannot_be_written_stops_all_of_it(
    cluster: Fixture, built: list[Any], tmp_path: Path, directory: StateDirectory
) -> None:
    path = tmp_path / "absent" / "ready.json"
    with pytest.raises(StartError, match=f"ready file {path}: No such file or directory"):
        await cluster(ready_file=path).__aenter__()
    assert built[0].stopping.is_set()
    assert directory.find_holder_pid() is None


async def test_it_stops_within_a_second_with_watches_slow_requests_and_idle_connections(
    cluster: Fixture, built: list[Any]
) -> None:
    loop = asyncio.get_running_loop()
    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
        async with cluster(tls=False) as running:
            idle = await asyncio.open_connection("127.0.0.1", int(running.url.rpartition(":")[2]))
            async with session.get(running.url) as response:
                assert response.status == 200
            built[0].entered.clear()
            watch = group.create_task(ask(f"{running.url}/watch"))
            await built[0].entered.wait()
            built[0].entered.clear()
            slow = group.create_task(_ends_badly(f"{running.url}/slow"))
            await built[0].entered.wait()
            began = loop.time()
        assert loop.time() - began < 1
        assert await watch == "ended"
        assert await slow
        assert await idle[0].read() == b""
        idle[1].close()


async def _ends_badly(url: str) -> bool:
    try:
        await ask(url)
    except aiohttp.ClientError:
        return True
    return False
