"""How late other API servers see a write, per engine: `python tests/bench/replication.py [ENGINE...]`.

Two API servers share a store: `remote` (mockkube-store), `etcd` (one member), `etcd3` (three) and, when
MOCKKUBE_TEST_POSTGRES is set, `postgresql`, whose database is emptied. It measures the time from the answer of a write
to one server until a watch of the other one delivers the event, and the same for the store alone. A negative time
means that the event came before the answer.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import orjson
from mockkube_storage.engines.catalogue import open_store

ROOT: Final = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.contract.replication.test_killed_servers import start  # noqa: E402 - after the path that finds it
from tests.contract.store.conftest import POSTGRES, emptied  # noqa: E402
from tests.contract.store.etcd_cluster import ETCD, run_cluster, run_etcd  # noqa: E402

WRITES: Final = 1_000
WRITERS: Final = (1, 8)
VALUE: Final = "v" * 1_000
CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"
STORE_SERVER: Final = ROOT / "tests" / "contract" / "store" / "server.py"

Write = Callable[[str], Awaitable[None]]


class Latencies:
    """Times from the answers of writes to their events."""

    def __init__(self) -> None:
        self._delivered: dict[str, asyncio.Future[float]] = {}
        self._event_seconds: list[float] = []
        self._write_seconds: list[float] = []

    async def measure(self, name: str, write: Write) -> None:
        """Write, and wait for the event."""
        delivered = self._delivered[name] = asyncio.get_running_loop().create_future()
        began = time.perf_counter()
        await write(name)
        answered = time.perf_counter()
        self._write_seconds.append(answered - began)
        self._event_seconds.append(await delivered - answered)

    def note_event(self, name: str) -> None:
        """Note that the event of a write arrives now."""
        if (delivered := self._delivered.pop(name, None)) is not None:
            delivered.set_result(time.perf_counter())

    def describe(self) -> str:
        """Return the times since the last call: median and 99th percentile of events, median of writes."""
        centiles = statistics.quantiles(self._event_seconds, n=100)
        write = statistics.median(self._write_seconds)
        self._event_seconds.clear()
        self._write_seconds.clear()
        median, last = centiles[49] * 1e3, centiles[98] * 1e3
        return f"event after the answer: median {median:5.1f} ms, 99 % {last:5.1f} ms; write: {write * 1e3:5.1f} ms"


async def measure_writes(label: str, write: Write, latencies: Latencies) -> None:
    """Let one and then eight clients write, each waiting for its event before its next write."""

    async def work(writers: int, writer: int) -> None:
        for number in range(WRITES // writers):
            await latencies.measure(f"w{writers}-{writer}-{number}", write)

    for writers in WRITERS:
        await asyncio.gather(*[work(writers, writer) for writer in range(writers)])
        print(f"  {label}, {writers} at a time: {latencies.describe()}", flush=True)


async def measure_store(url: str) -> None:
    """Write through one client of the store, and watch with another one."""
    latencies = Latencies()
    async with open_store(url) as one, open_store(url) as two:

        async def write(name: str) -> None:
            await one.create(f"/bench/{name}", VALUE.encode())

        async def follow() -> None:
            async with two.watch("/bench/", after=two.revision) as watch:
                async for events in watch:
                    for event in events:
                        latencies.note_event(event.entry.key.removeprefix("/bench/"))

        following = asyncio.create_task(follow())
        await measure_writes("store alone ", write, latencies)
        following.cancel()


async def measure_servers(url: str, directory: Path) -> None:
    """Write through one API server, and watch with another one."""
    latencies = Latencies()
    async with start(url, directory, "a") as one, start(url, directory, "b") as two:

        async def write(name: str) -> None:
            status, body = await one.request("POST", CONFIG_MAPS, {"metadata": {"name": name}, "data": {"v": VALUE}})
            assert status == 201, body

        _, listed = await two.request("GET", CONFIG_MAPS)
        path = f"{CONFIG_MAPS}?watch=1&resourceVersion={listed['metadata']['resourceVersion']}"
        headers = {"Authorization": f"Bearer {two.token}"}

        async def follow() -> None:
            async with two.session.get(two.url + path, headers=headers) as response:
                async for line in response.content:
                    latencies.note_event(orjson.loads(line)["object"]["metadata"]["name"])

        following = asyncio.create_task(follow())
        await measure_writes("two servers ", write, latencies)
        following.cancel()


@asynccontextmanager
async def run_engine(name: str, directory: Path) -> AsyncIterator[str]:
    """Run an empty store; yields its URL."""
    match name:
        case "remote":
            command = [sys.executable, str(STORE_SERVER), str(directory / "store"), "0"]
            process = await asyncio.create_subprocess_exec(
                *command, stdout=asyncio.subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT / "storage")}
            )
            assert process.stdout is not None
            yield f"mockkube-store://127.0.0.1:{int(await process.stdout.readline())}"
            process.kill()
            await process.wait()
        case "etcd":
            async with run_etcd(directory / "etcd") as member:
                yield member.url
        case "etcd3":
            async with run_cluster(directory) as cluster:
                yield "etcd://" + ",".join(f"127.0.0.1:{member.client_port}" for member in cluster.members)
        case _:
            yield await emptied()


async def main(names: list[str]) -> None:
    """Measure each engine, each time with an empty store."""
    for name in names:
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            async with run_engine(name, Path(folder)) as url:
                await measure_store(url)
        with tempfile.TemporaryDirectory() as folder:
            async with run_engine(name, Path(folder)) as url:
                await measure_servers(url, Path(folder))


if __name__ == "__main__":
    found = ["remote", *(["etcd", "etcd3"] if ETCD else []), *(["postgresql"] if POSTGRES else [])]
    asyncio.run(main(sys.argv[1:] or found))
