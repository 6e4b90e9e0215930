"""Many simulated nodes and pods: how long until all are there, and gone again; what memory they take; idling.

`python tests/bench/scale.py [NODES [PODS]]` starts a server of its own (5,000 nodes and 10,000 pods unless told
otherwise; the limits of KWOK's own CI are 60 s for nodes, 60 s for pods, 90 s to delete them).
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
from run import Server, connection_context

NODES, PODS, IDLE_NODES, IDLE_SECONDS = 5_000, 10_000, 1_000, 20
CONNECTIONS = 16


def node(index: int) -> dict[str, Any]:
    """A node that leaves everything to its kubelet."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{index}"}}


def pod(index: int) -> dict[str, Any]:
    """A pod of little."""
    spec = {"containers": [{"name": "c", "image": "pause", "resources": {"requests": {"cpu": "10m"}}}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{index}"}, "spec": spec}


class Crowd:
    """A client that makes many objects, and waits until all are as they should be."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session, self._url = session, url

    async def create(self, path: str, make: Callable[[int], dict[str, Any]], count: int) -> None:
        """Post that many objects over a few connections."""
        numbers = iter(range(count))

        async def post() -> None:
            for number in numbers:
                async with self._session.post(f"{self._url}{path}", json=make(number)) as answer:
                    answer.raise_for_status()

        async with asyncio.TaskGroup() as group:
            for _ in range(CONNECTIONS):
                group.create_task(post())

    async def watch(self, path: str, count: int, fits: Callable[[dict[str, Any]], bool]) -> None:
        """Return once so many objects fit."""
        fitting: set[str] = set()
        query = {"watch": "1", "resourceVersion": "0"}
        async with self._session.get(f"{self._url}{path}", params=query) as answer:
            async for line in answer.content:
                event = json.loads(line)
                name = event["object"]["metadata"]["name"]
                if event["type"] != "DELETED" and fits(event["object"]):
                    fitting.add(name)
                else:
                    fitting.discard(name)
                if len(fitting) >= count:
                    return

    async def delete(self, path: str) -> None:
        """Delete a whole collection."""
        async with self._session.delete(f"{self._url}{path}") as answer:
            answer.raise_for_status()

    async def until_gone(self, path: str) -> None:
        """Return once nothing is left."""
        query = {"watch": "1", "resourceVersion": "0"}
        left: set[str] = set()
        async with self._session.get(f"{self._url}{path}", params={"resourceVersion": "0"}) as answer:
            listed = await answer.json()
            left = {item["metadata"]["name"] for item in listed["items"]}
        if not left:
            return
        query["resourceVersion"] = listed["metadata"]["resourceVersion"]
        async with self._session.get(f"{self._url}{path}", params=query) as answer:
            async for line in answer.content:
                event = json.loads(line)
                if event["type"] == "DELETED":
                    left.discard(event["object"]["metadata"]["name"])
                    if not left:
                        return


def ready(obj: dict[str, Any]) -> bool:
    """Whether an object says that it is ready."""
    return any(
        one["type"] == "Ready" and one["status"] == "True" for one in obj.get("status", {}).get("conditions", ())
    )


def cpu_seconds(pid: int) -> float:
    """What a process has used so far."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def crowd(server: Server, nodes: int, pods: int) -> dict[str, float]:
    """Measure one server."""
    figures: dict[str, float] = {}
    connector = aiohttp.TCPConnector(ssl=connection_context(), limit=0)
    headers = {"Authorization": f"Bearer {server.token}"}
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        connector=connector, headers=headers, timeout=timeout, read_bufsize=2**22
    ) as session:
        client = Crowd(session, server.url)
        every = "/api/v1/namespaces/default/pods"

        async def timed(name: str, *work: Any) -> None:
            began, used = time.perf_counter(), cpu_seconds(server.process.pid)
            await asyncio.gather(*work)
            figures[f"{name} (s)"] = time.perf_counter() - began
            figures[f"{name}: CPU of the server (s)"] = cpu_seconds(server.process.pid) - used

        first = min(IDLE_NODES, nodes)
        await timed(
            f"{first} nodes Ready",
            client.create("/api/v1/nodes", node, first),
            client.watch("/api/v1/nodes", first, ready),
        )
        await asyncio.sleep(5)
        before = cpu_seconds(server.process.pid)
        await asyncio.sleep(IDLE_SECONDS)
        figures[f"idle with {first} nodes (% of a core)"] = (
            100 * (cpu_seconds(server.process.pid) - before) / IDLE_SECONDS
        )
        rest = nodes - first
        await timed(
            f"{rest} further nodes Ready",
            client.create("/api/v1/nodes", lambda index: node(index + first), rest),
            client.watch("/api/v1/nodes", nodes, ready),
        )
        await timed(f"{pods} pods Running", client.create(every, pod, pods), client.watch(every, pods, ready))
        figures["memory (MB)"] = server.memory_mb()
        await timed(f"{pods} pods deleted", client.delete(every), client.until_gone(every))
    return figures


def main() -> None:
    """Measure and print."""
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else NODES
    pods = int(sys.argv[2]) if len(sys.argv) > 2 else PODS
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), "memory", ())
        try:
            figures = asyncio.run(crowd(server, nodes, pods))
        finally:
            server.stop()
    for name, figure in figures.items():
        print(f"{name:45} {figure:10.1f}")


if __name__ == "__main__":
    main()
