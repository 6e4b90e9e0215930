"""Start of the page: nothing of it is loaded before it is asked for, and its port and TLS are those of its flags."""

import json
import subprocess
import sys

import aiohttp
import pytest

from mockkube.cluster.api_servers.tcp_listener import bind
from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.temporary_cluster import (
    make_temporary_configuration,
    open_temporary_cluster,
    run_temporary_cluster,
)

NOTHING_RUNS = {"without": ["scheduler", "controllers", "kubelets"]}
LOADED = """
import asyncio, json, sys
from mockkube.cluster.temporary_cluster import make_temporary_configuration, run_temporary_cluster

async def start():
    async with run_temporary_cluster(make_temporary_configuration({"nodes": 1, "tls": False})):
        return [name for name in sys.modules if name.startswith("mockkube.ui")]

print(json.dumps(asyncio.run(start())))
"""


@pytest.mark.heavy
def test_a_start_without_the_page_loads_nothing_of_it() -> None:
    started = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True)
    assert started.returncode == 0, started.stderr
    assert json.loads(started.stdout) == []


async def test_the_page_has_the_port_of_its_flag_and_no_other_may_use_it() -> None:
    free = bind("127.0.0.1", 0)
    port = free.getsockname()[1]
    free.close()
    configuration = make_temporary_configuration({**NOTHING_RUNS, "ui": True, "ui_port": port})
    async with run_temporary_cluster(configuration) as running:
        assert running.ui_link.startswith(f"http://127.0.0.1:{port}/ui/#")
        with pytest.raises(StartError, match=f"port {port} on 127.0.0.1 is in use: .* another --ui-port"):
            async with run_temporary_cluster(configuration):
                pass


async def test_other_machines_reach_the_page_with_tls_only() -> None:
    configuration = make_temporary_configuration({**NOTHING_RUNS, "bind": "0.0.0.0", "ui": True})
    async with run_temporary_cluster(configuration) as running:
        root, _, code = running.ui_link.partition("#")
        assert root.startswith("https://127.0.0.1:")
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{root}login", json={"code": code}, ssl=False) as one,
        ):
            assert one.status == 200
            assert "Secure" in one.headers["Set-Cookie"].split("; ")


async def test_links_of_a_cluster_without_the_flag_start_the_page() -> None:
    async with open_temporary_cluster(make_temporary_configuration(NOTHING_RUNS)) as cluster, cluster as running:
        assert running.ui_link == ""
        page = cluster.control_plane.user_interface
        first, second = [await page.make_administrator_link() for _ in range(2)]
    assert first != second
    assert first.partition("#")[0] == second.partition("#")[0]
