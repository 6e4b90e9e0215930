"""Clusters for tests: as context managers, and as a fixture of pytest."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import kubernetes
import pytest

from mockkube.api.errors import Invalid
from mockkube.client.protocol import Key
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.testing import MockKube


def test_synchronous_code_has_a_cluster_for_as_long_as_the_block_lasts() -> None:
    with MockKube(nodes=2, without=["kubelets"]) as kube:
        directory = kube.kubeconfig.parent
        with kube.api_client() as client:
            nodes = kubernetes.client.CoreV1Api(client).list_node().items
        assert [node.metadata.name for node in nodes] == ["node-1", "node-2"]
        assert kube.environment({})["KUBECONFIG"] == str(kube.kubeconfig)
    assert not directory.exists()
    assert "mockkube" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(RuntimeError, match="between entering and leaving"):
        _ = kube.url


async def test_asynchronous_code_has_one_in_its_own_loop() -> None:
    async with MockKube(nodes=1) as kube, kube.client() as client:
        node = await client.get("Node", Key("", "node-1"))
        await kube.patch_component_async("kube-apiserver", version="1.35")
    assert node["metadata"]["name"] == "node-1"


def test_components_are_changed_from_synchronous_code() -> None:
    with MockKube(without=["kubelets", "controllers"]) as kube:
        kube.patch_component("kube-apiserver", version="1.34")
        with kube.api_client() as client:
            version = kubernetes.client.VersionApi(client).get_code()
        assert (version.major, version.minor) == ("1", "34")


def test_several_run_side_by_side() -> None:
    with MockKube(without=["kubelets"]) as one, MockKube(without=["kubelets"]) as two:
        assert one.url != two.url
        with one.api_client() as client:
            kubernetes.client.CoreV1Api(client).create_namespace({"metadata": {"name": "only-here"}})
        with two.api_client() as client:
            names = [item.metadata.name for item in kubernetes.client.CoreV1Api(client).list_namespace().items]
        assert "only-here" not in names


def test_settings_that_cannot_be_meant_are_told_and_leave_nothing() -> None:
    with pytest.raises(ConfigurationError, match=r"--version: version 1\.2 is not supported"), MockKube(version="1.2"):
        pass
    assert "mockkube" not in {thread.name for thread in threading.enumerate()}


def test_unknown_settings_are_refused_with_what_may_have_been_meant() -> None:
    with pytest.raises(ConfigurationError) as refused, MockKube(node=2, foo=3):
        pass
    first, second = str(refused.value).split("; ")
    assert first == "unknown setting 'node': did you mean 'nodes'?"
    assert second.startswith("unknown setting 'foo': known are name, bind, port")


def test_an_active_cluster_is_what_clients_find_that_read_the_variable_at_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/elsewhere")
    before = kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION
    with MockKube(nodes=1, without=["kubelets", "controllers", "scheduler"]) as kube:
        kube.activate()
        assert os.environ["KUBECONFIG"] == str(kube.kubeconfig)
        with kubernetes.config.new_client_from_config() as client:
            assert len(kubernetes.client.CoreV1Api(client).list_node().items) == 1
    assert os.environ["KUBECONFIG"] == "/elsewhere"
    assert before == kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION


async def test_a_change_that_is_refused_is_raised() -> None:
    async with MockKube(without=["kubelets", "controllers", "scheduler"]) as kube:
        with pytest.raises(Invalid, match="feature is locked to true"):
            await kube.patch_component_async("kube-apiserver", featureGates={"SidecarContainers": False})


def test_the_fixture_gives_each_test_a_cluster_as_its_mark_says(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("""
import kubernetes, pytest

pytestmark = pytest.mark.mockkube(without=["kubelets"])

@pytest.mark.mockkube(nodes=2, version="1.35")
def test_one(kube):
    with kube.api_client() as client:
        core = kubernetes.client.CoreV1Api(client)
        assert len(core.list_node().items) == 2
        core.create_namespace({"metadata": {"name": "x"}})

def test_two(kube):
    with kube.api_client() as client:
        core = kubernetes.client.CoreV1Api(client)
        assert core.list_node().items == []
        assert "x" not in [one.metadata.name for one in core.list_namespace().items]
""")
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--strict-markers",
            ".",
        ],
        cwd=tmp_path,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in ended.stdout, ended.stdout + ended.stderr
