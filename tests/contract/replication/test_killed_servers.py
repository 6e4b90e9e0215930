"""Processes of one control plane that are killed in the middle of writes: nothing acknowledged is lost."""

import asyncio
import json
import os
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
START_SECONDS_MAX = 60.0
WRITERS = 6
WRITES_OF_EACH = 40


@dataclass(slots=True)
class ServerProcess:
    """A process of the control plane, and a client of it."""

    process: asyncio.subprocess.Process
    url: str
    token: str
    session: aiohttp.ClientSession

    async def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        data = None if body is None else orjson.dumps(body)
        async with self.session.request(method, self.url + path, data=data, headers=headers) as response:
            return response.status, orjson.loads(await response.read())

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)


@asynccontextmanager
async def start(url: str, directory: Path, name: str) -> AsyncIterator[ServerProcess]:
    ready = directory / f"{name}.json"
    ready.unlink(missing_ok=True)  # that of a killed process
    command = [sys.executable, "-m", "mockkube.cli", "up", "--join", "--db", url, "--name", name, "--port", "0"]
    command += ["--without", "scheduler,controllers,kubelets", "--ready-file", str(ready)]
    environment = os.environ | {"XDG_STATE_HOME": str(directory / "state"), "MOCKKUBE_CLUSTER_KEY": "0123456789abcdef"}
    process = await asyncio.create_subprocess_exec(*command, env=environment, stdout=asyncio.subprocess.DEVNULL)
    try:
        async with asyncio.timeout(START_SECONDS_MAX):
            while not ready.exists():
                assert process.returncode is None, "it has ended before it was ready"
                await asyncio.sleep(0.05)
        told = json.loads(ready.read_text())
        trust = ssl.create_default_context(cafile=told["caFile"])
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
            yield ServerProcess(process, told["url"], told["token"], session)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@pytest.mark.slow
async def test_what_one_of_three_acknowledged_before_it_was_killed_is_at_the_others(
    shared_url: str, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        servers = await asyncio.gather(
            *[stack.enter_async_context(start(shared_url, tmp_path, name)) for name in ("a", "b", "c")]
        )
        assert len({server.token for server in servers}) == 1
        acknowledged: dict[str, str] = {}
        killed = asyncio.Event()

        async def write(writer: int) -> None:
            server = servers[writer % 3]
            for number in range(WRITES_OF_EACH):
                name = f"w{writer}-{number}"
                if server is servers[0] and killed.is_set():
                    server = servers[1]  # as a load balancer does
                try:
                    status, body = await server.request("POST", CONFIG_MAPS, {"metadata": {"name": name}})
                except aiohttp.ClientError:
                    assert killed.is_set()
                    continue  # it may have been done or not
                assert status == 201, body
                acknowledged[name] = body["metadata"]["resourceVersion"]
                if len(acknowledged) == WRITERS * WRITES_OF_EACH // 3 and not killed.is_set():
                    killed.set()
                    servers[0].kill()

        await asyncio.gather(*[write(writer) for writer in range(WRITERS)])
        assert killed.is_set()
        for server in servers[1:]:
            _, found = await server.request("GET", CONFIG_MAPS)
            stored = {obj["metadata"]["name"]: obj["metadata"]["resourceVersion"] for obj in found["items"]}
            assert acknowledged.items() <= stored.items()
        assert len(set(acknowledged.values())) == len(acknowledged)
        # A killed process leaves nothing that another has to wait for.
        async with asyncio.timeout(START_SECONDS_MAX):
            again = await stack.enter_async_context(start(shared_url, tmp_path, "a"))
        _, found = await again.request("GET", CONFIG_MAPS)
        assert acknowledged.keys() <= {obj["metadata"]["name"] for obj in found["items"]}


@pytest.mark.slow
async def test_processes_with_one_name_are_refused_by_the_lock(shared_url: str, tmp_path: Path) -> None:
    async with start(shared_url, tmp_path, "a"):
        command = [
            sys.executable,
            "-m",
            "mockkube.cli",
            "up",
            "--join",
            "--db",
            shared_url,
            "--name",
            "a",
            "--port",
            "0",
        ]
        environment = os.environ | {
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "MOCKKUBE_CLUSTER_KEY": "0123456789abcdef",
        }
        second = await asyncio.create_subprocess_exec(*command, env=environment, stderr=asyncio.subprocess.PIPE)
        _, output = await second.communicate()
        assert b"cluster 'a' is already running" in output
