"""Temporary clusters: what they copy from the first one of the process, and what they leave behind."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mockkube.cluster.cluster import Cluster
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.state.state_directory import StateDirectory
from mockkube.cluster.temporary_cluster import make_temporary_configuration, open_temporary_cluster
from mockkube.runtime.clock import RealClock

SETTINGS = {"without": ["scheduler", "controllers", "kubelets"], "tls": False}
HOLD = """
import sys
from mockkube.testing import MockKube
with MockKube(without=["scheduler", "controllers", "kubelets"]) as kube:
    print(kube.kubeconfig, flush=True)
    sys.stdin.read()
"""
TIME = re.compile(r'"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"|"20\d\d-\d\d-\d\d"')
UID = re.compile(r'"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"')


async def read_objects(cluster: Cluster) -> dict[str, str]:
    """Return all stored objects without times and uids, by key."""
    store = cluster.control_plane.api_server_dependencies.store
    entries = (await store.list("/registry/")).entries
    # A lease's name contains a hash of the host and holder; its times are those of its renewal.
    texts = {entry.key: entry.value.decode() for entry in entries if "/leases/" not in entry.key}
    return {key: UID.sub("UID", TIME.sub("TIME", text)) for key, text in texts.items()}


def make_configuration(**settings: Any) -> ClusterConfiguration:
    return make_temporary_configuration({**SETTINGS, **settings})


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="defaults"),
        pytest.param({"version": "1.34"}, id="older version"),
        pytest.param({"disable_admission_plugins": ["ServiceAccount"]}, id="without an admission plugin"),
    ],
)
async def test_a_cluster_from_a_template_has_the_objects_of_one_that_started_alone(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    configuration = make_configuration(**settings)
    alone = Cluster(configuration, StateDirectory(tmp_path / "alone"))
    async with alone:
        expected = await read_objects(alone)
    for _ in range(2):
        async with open_temporary_cluster(configuration) as cluster, cluster:
            assert await read_objects(cluster) == expected


async def test_objects_from_a_template_were_created_when_the_cluster_started() -> None:
    for _ in range(2):
        before = f"{RealClock().now():%Y-%m-%dT%H:%M:%SZ}"
        async with open_temporary_cluster(make_configuration()) as cluster, cluster:
            store = cluster.control_plane.api_server_dependencies.store
            entries = (await store.list("/registry/")).entries
        times = [time for entry in entries for time in re.findall(r'"creationTimestamp":"(.*?)"', entry.value.decode())]
        assert len(times) >= len(entries)
        assert min(times) >= before
        assert max(times) <= f"{RealClock().now():%Y-%m-%dT%H:%M:%SZ}"


def test_the_next_process_deletes_the_files_of_a_killed_one_and_no_others(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}

    def start() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert process.stdout is not None
        assert process.stdout.readline().strip().endswith("kubeconfig")
        return process

    alive, killed = start(), start()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert len(list(tmp_path.glob("*/*/kubeconfig"))) == 2
    last = start()
    assert len(list(tmp_path.glob("*/*/kubeconfig"))) == 2  # of `alive` and `last`
    for process in (alive, last):
        process.communicate("")
        assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []
