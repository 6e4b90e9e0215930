"""Plays hostile requests on a cluster of this process, with all components at work, and measures what each does."""

import asyncio
import gc
import json
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))
from bodies import encode, expand
from http2 import Http2MemoryConnection
from in_memory import Answer, Connection
from probe import TICK_SECONDS, MeasuredLoop, Sampler, Ticker, forget_peak, memory_mib, summary

from mockkube.apiserver.http.connections import ConnectionHandler
from mockkube.apiserver.http2.connection import Http2Connection
from mockkube.apiserver.http2.server import DualProtocolServer
from mockkube.cluster.api_servers import api_server
from mockkube.cluster.api_servers.api_server import ApiServerDependencies
from mockkube.cluster.cluster import Cluster
from mockkube.cluster.configuration.cluster_configuration import resolve_configuration
from mockkube.cluster.state.state_directory import StateDirectory

JSON: Final = "application/json"
SECONDS_MAX: Final = 60.0
"""A request that is not answered by then hangs."""
QUIET_SECONDS: Final = 0.1
QUIET_SHARE: Final = 0.2
"""The cluster is at rest when it uses less of a processor than that for so long."""
CALM_SECONDS_MAX: Final = 3.0
"""For so long the components may work on what a case has left behind before the next one begins."""
PODS: Final = "/api/v1/namespaces/default/pods"
NORMAL_COUNT: Final = 30

_BUG: Final = b"an unexpected error"

Case = dict[str, Any]
"""`steps` are requests; those of `before` are not measured. A request has a path and a body, see `bodies`.

A step with `flood` sends `count` HTTP/2 frames of that kind instead, see `http2.FLOODS`.
"""


@dataclass(slots=True)
class Measured:
    """What one case did."""

    name: str
    stall_seconds: float = 0.0
    peak_mib: float = 0.0
    body_bytes: int = 0
    statuses: list[int] = field(default_factory=list)
    slowest_seconds: float = 0.0
    turn_seconds: float = 0.0
    """The longest turn of the loop; what the stall has above it, another thread kept the interpreter for."""
    where: str = ""
    """What the loop did in that turn, if it was looked at."""
    faults: list[str] = field(default_factory=list)

    @property
    def peak_per_byte(self) -> float:
        """How many times its bodies the case took in memory."""
        return self.peak_mib * (1 << 20) / max(self.body_bytes, 1 << 20)


class Faults(logging.Handler):
    """What is logged that says of a bug."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what has a traceback."""
        text = record.getMessage()
        if record.exc_info or "a bug" in text or "Traceback" in text:
            self.found.append(f"{text[:200]} {record.exc_info[1]!r:.200}" if record.exc_info else text[:300])


@dataclass(slots=True)
class Player:
    """Plays cases, each in a namespace of its own."""

    server: DualProtocolServer
    ticker: Ticker
    faults: Faults
    http2: bool = False
    """Whether requests are sent over HTTP/2."""
    played: int = 0
    created: list[str] = field(default_factory=list)

    async def play(self, case: Case) -> Measured:
        """Play a case and tidy up behind it; the deletion of what it created is measured like the case itself."""
        self.played += 1
        namespace = f"stall-{self.played}"
        measured = Measured(case.get("name", ""))
        await self._send({"path": "/api/v1/namespaces", "body": {"metadata": {"name": namespace}}}, namespace, None)
        for step in case.get("before", ()):
            await self._send(step, namespace, None)
        bodies = [encode(step["body"]) if "body" in step else b"" for step in case["steps"]]
        await self.calm()
        forget_peak()
        await asyncio.sleep(2 * TICK_SECONDS)  # what was done for the measurement is not measured
        memory = memory_mib()
        self.ticker.reset()
        self.faults.found.clear()
        for step, body in zip(case["steps"], bodies, strict=True):
            await self._send(step, namespace, measured, body)
        await self.calm()
        measured.peak_mib = memory_mib("VmHWM") - memory
        for path in reversed(self.created):
            await self._send({"method": "DELETE", "path": f"{path}?gracePeriodSeconds=0"}, namespace, measured)
        self.created.clear()
        await self._send({"method": "DELETE", "path": f"/api/v1/namespaces/{namespace}"}, namespace, None)
        await self.calm()
        measured.stall_seconds = self.ticker.stall_seconds
        measured.turn_seconds = self.ticker.loop.longest_turn
        measured.where = summary(self.ticker.loop.longest_samples)
        measured.faults += self.faults.found
        return measured

    async def normal_seconds(self) -> float:
        """Return how much of the loop a normal request takes: a pod is created, all who want to hear of it do so."""
        loop, spent = self.ticker.loop, []
        for number in range(NORMAL_COUNT):
            await self.calm()
            before = loop.turns
            await self._send(
                {"path": PODS, "body": {"$kind": "v1 Pod", "with": {"metadata.name": f"p{number}"}}}, "", None
            )
            await self.calm()
            spent.append(loop.turns - before)
        return statistics.median(spent)

    async def calm(self) -> None:
        """Wait until the components are at rest, or long enough."""
        for _ in range(int(CALM_SECONDS_MAX / QUIET_SECONDS)):
            before = time.process_time()
            await asyncio.sleep(QUIET_SECONDS)
            if time.process_time() - before < QUIET_SHARE * QUIET_SECONDS:
                return

    async def _send(
        self, step: dict[str, Any], namespace: str, measured: Measured | None, body: bytes | None = None
    ) -> None:
        path = str(expand(step.get("path", "/"))).replace("{namespace}", namespace)
        method = step.get("method", "POST")
        if body is None:
            body = encode(step["body"]) if "body" in step else b""
        for _ in range(step.get("times", 1)):
            began = time.perf_counter()
            try:
                answer = await asyncio.wait_for(self._answer(method, path, body, step), SECONDS_MAX)
            except TimeoutError:
                if measured is not None:
                    measured.faults.append(f"no answer: {method} {path}")
                return
            if measured is not None:
                measured.slowest_seconds = max(measured.slowest_seconds, time.perf_counter() - began)
                measured.statuses.append(answer.status)
                measured.body_bytes += len(body)
                # A server ends the connection of a client that floods it.
                if (answer.status in (0, 503) and "flood" not in step) or (
                    answer.status == 500 and _BUG in answer.body
                ):
                    measured.faults.append(f"{answer.status}: {answer.body[:200]!r}")
            if method == "POST" and answer.status == 201:
                self._note(path, answer)

    async def _answer(self, method: str, path: str, body: bytes, step: dict[str, Any]) -> Answer:
        headers = {"Host": "localhost", "Content-Length": str(len(body))}
        if body:
            headers["Content-Type"] = step.get("media", JSON)
        headers |= expand(step.get("headers", {}))
        if self.http2 or "flood" in step:
            over_http2 = Http2MemoryConnection(cast("Http2Connection", self.server.start_http2()))
            try:
                if "flood" in step:
                    return await over_http2.flood(step["flood"], step["count"])
                return await over_http2.send(method, path, headers, body)
            finally:
                over_http2.close()
        connection = Connection(cast("Callable[[], ConnectionHandler]", self.server.start_http1))
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        try:
            return await connection.send("\r\n".join((*lines, "", "")).encode() + body)
        finally:
            connection.close()

    def _note(self, path: str, answer: Answer) -> None:
        try:
            name = json.loads(answer.body)["metadata"]["name"]
        except (ValueError, KeyError, TypeError):
            return
        self.created.append(f"{path.partition('?')[0]}/{quote(name, safe='')}")


@asynccontextmanager
async def player(*, components: bool = True, where: bool = False, http2: bool = False) -> AsyncIterator[Player]:
    """Run a cluster and what plays cases on it."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, MeasuredLoop)
    made: list[api_server.Server] = []

    def build(given: ApiServerDependencies) -> api_server.Server:
        made.append(api_server.build_api_server(given))
        return made[-1]

    settings: dict[str, Any] = {"name": "stalls", "port": 0, "ephemeral": True, "tls": False}
    settings |= {"nodes": 3} if components else {"without": "scheduler,controllers,kubelets"}
    faults, ticker = Faults(), Ticker(loop)
    logging.getLogger().addHandler(faults)
    with tempfile.TemporaryDirectory() as folder:
        async with Cluster(resolve_configuration(settings, {}), StateDirectory(Path(folder)), make_api_server=build):
            server = DualProtocolServer(
                made[0].handler,
                http2=True,
                idle_seconds_max=60.0,
                access_log=None,
                max_line_size=1 << 16,
                max_field_size=1 << 16,
                auto_decompress=False,
            )
            gc.freeze()  # as `mockkube up` does
            gc.set_threshold(50_000, 5, 400)
            ticker.start()
            sampler = Sampler(loop)
            if where:
                sampler.start()
            yield Player(server, ticker, faults, http2)
            sampler.stop()
            ticker.stop()
    logging.getLogger().removeHandler(faults)


def cases(names: Sequence[str] = ()) -> list[Case]:
    """Return the corpus, or those cases of it whose names contain one of these texts."""
    lines = Path(__file__).with_name("corpus.jsonl").read_text().splitlines()
    every: list[Case] = [json.loads(line) for line in lines]
    return [case for case in every if not names or any(name in case["name"] for name in names)]
