"""`make fuzz`: random requests to a server of this process; no 500, no hang, no bug in the log, memory flat.

Nine requests in ten go to the server's own HTTP protocol without a socket, one in ten over a socket; a third of all are
sequences that create an object, change it while a watch looks on, and delete it. The seed is printed: the same seed
sends the same requests, as far as the answers are the same.
"""

import argparse
import asyncio
import gc
import json
import logging
import re
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from in_memory import Answer, Connection
from odd_requests import NAMESPACES, Request, Requests, Target, targets

from mockkube.apiserver.http.connections import HttpServer
from mockkube.cluster.api_servers import api_server
from mockkube.cluster.api_servers.api_server import ApiServerDependencies
from mockkube.cluster.cluster import Cluster
from mockkube.cluster.configuration.cluster_configuration import resolve_configuration
from mockkube.cluster.state.state_directory import StateDirectory
from mockkube.features.versions import DEFAULT

SECONDS_MAX: Final = 10.0
"""A request that takes longer is a hang."""
CLEAR_SECONDS_MAX: Final = 60.0
"""A collection may hold thousands of objects, each of which is deleted by itself."""
STALL_SECONDS: Final = 0.25
HOST: Final = "localhost"
COMPONENTS: Final = "scheduler,controllers,kubelets"
SHOWN_MAX: Final = 20
GROWTH_MIB_MAX: Final = 100
"""By how much memory may grow between a quarter of the requests and all of them."""
ROUND: Final = 5000
"""After so many requests everything is deleted and the store compacted, so that memory can be compared."""

_BUG: Final = "an unexpected error"


@dataclass(slots=True)
class Findings:
    """What should not have happened: how often each, and the first request that did it."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, what: str, request: Request | None) -> None:
        """Note one."""
        self.counts[what] += 1
        shown = (
            ""
            if request is None
            else f"{request.method} {request.path[:300]} [{request.media}] {request.body[:1500]!r} {request.headers}"
        )
        self.first.setdefault(what, shown)


class LogWatch(logging.Handler):
    """Notes what is logged as an error, and remembers which request was the last."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(logging.WARNING)
        self.findings = findings
        self.last: Request | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Note an error by the place it comes from."""
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text += "".join(traceback.format_exception(record.exc_info[1]))
        if record.levelno >= logging.ERROR or "Traceback" in text or "a bug" in text:
            self.findings.add(f"log: {place_of(text)}", self.last)


def place_of(text: str) -> str:
    """Return the innermost lines of a traceback, or the beginning of a text without one."""
    frames = re.findall(r'File "[^"]*?(mockkube[^"]*)", line (\d+), in (\S+)', text)
    if not frames:
        return text[:300]
    last = " < ".join(f"{Path(path).name}:{line} {name}" for path, line, name in reversed(frames[-3:]))
    return f"{text.strip().splitlines()[-1][:160]} at {last}"


@dataclass(slots=True)
class Fuzzer:
    """Sends requests and judges the answers."""

    requests: Requests
    server: HttpServer
    url: str
    findings: Findings
    log: LogWatch
    sent: int = 0
    over_sockets: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")
    stalls: int = 0
    connection: Connection | None = None

    async def ask(self, request: Request, seconds_max: float = SECONDS_MAX) -> Answer:
        """Send one request."""
        self.sent += 1
        self.log.last = request
        data = request.to_bytes(HOST)
        began = time.perf_counter()
        try:
            async with asyncio.timeout(seconds_max):
                if self.sent % 10 == 0 and not request.streams:
                    self.over_sockets += 1
                    answer = await self._over_socket(data)
                else:
                    answer = await self._in_memory(data, request)
        except TimeoutError:
            self.findings.add(f"hang: {request.method} {request.path.partition('?')[0]}", request)
            self.connection = None
            return Answer(0, b"", b"")
        self._judge(request, answer, time.perf_counter() - began)
        return answer

    async def _in_memory(self, data: bytes, request: Request) -> Answer:
        if self.connection is None or not self.connection.open:
            self.connection = Connection(self.server)
        connection, whole = self.connection, not (request.method == "HEAD" or request.streams)
        answer = await connection.send(data, whole=whole)
        if not (answer.status or answer.body or connection.fresh):
            # the server has closed the old one, as it may after any answer
            self.connection = connection = Connection(self.server)
            answer = await connection.send(data, whole=whole)
        if not whole:
            self.connection = None
            connection.close()
        return answer

    async def _over_socket(self, data: bytes) -> Answer:
        host, _, port = self.url.rpartition("/")[2].partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            writer.write(data.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            await writer.drain()
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        finally:
            writer.close()
        return Answer(int(head.split(b" ", 2)[1]) if head else 0, head, body)

    def _judge(self, request: Request, answer: Answer, seconds: float) -> None:
        self.statuses[answer.status] += 1
        if seconds > self.slowest[0]:
            self.slowest = (
                seconds,
                f"{request.method} {request.path[:100]} [{request.media}] {len(request.body)} bytes",
            )
        self.stalls += seconds > STALL_SECONDS
        # upstream answers 500 without a reason where an error has no Status of its own: faults of strategic merge
        # patches, applies that do not fit the schema, bindings without a target
        if (
            answer.status == 0
            # A node that no kubelet is simulated for refuses connections of its proxy.
            or (answer.status == 503 and "/proxy" not in request.path)
            or (answer.status == 504 and b"Too large resource version" not in answer.body)
        ):
            self.findings.add(f"no answer: {answer.status} {answer.body[:200]!r}", request)
        if answer.status == 500:
            message = answer.body.decode(errors="replace")
            if _BUG in message:
                return  # the log has told
            if (_object(answer) or {}).get("reason"):
                self.findings.add(f"500: {re.sub(r'[0-9]+', '0', message)[:200]}", request)

    # What is sent

    async def step(self) -> None:
        """Send a single request, or a sequence of them."""
        if self.requests.chance.random() < 0.06:
            await self.sequence()
        else:
            request = self.requests.draw()
            self._learn(None, request, await self.ask(request))

    async def sequence(self) -> None:
        """Create an object, change it again and again while a watch looks on, and delete it."""
        requests, chance = self.requests, self.requests.chance
        target = chance.choice(requests.targets)
        created = await self.ask(requests.create(target, valid=True))
        obj = _object(created)
        if created.status != 201 or obj is None:
            return
        self._learn(target, None, created)
        for _ in range(chance.randrange(1, 7)):
            await self.ask(requests.change(target))
        if "watch" in target.kind.verbs:
            await self.ask(requests.watch(target, obj))
        name = str(obj["metadata"].get("name", ""))
        path = target.path(obj["metadata"].get("namespace", ""), name)
        await self.ask(Request("DELETE", f"{path}?gracePeriodSeconds=0"))
        requests.forget(target, obj)

    def _learn(self, target: Target | None, request: Request | None, answer: Answer) -> None:
        if answer.status not in (200, 201) or (request is not None and request.method == "GET"):
            return
        obj = _object(answer)
        if obj is None:
            return
        for one in self.requests.targets if target is None else (target,):
            if (one.api_version, one.kind.kind) == (obj.get("apiVersion"), obj.get("kind")) and "uid" in obj[
                "metadata"
            ]:
                self.requests.learn(one, obj)

    async def clear(self) -> None:
        """Delete what has been created, finalizers or not."""
        self.requests.known.clear()
        for target in self.requests.targets:
            if "deletecollection" in target.kind.verbs and target.kind.group not in (
                "rbac.authorization.k8s.io",
                "apiregistration.k8s.io",
            ):
                for namespace in NAMESPACES if target.kind.namespaced else ("",):
                    self.log.last = None
                    path = target.path(namespace)
                    await self.ask(Request("DELETE", f"{path}?gracePeriodSeconds=0"), CLEAR_SECONDS_MAX)
        for namespace in NAMESPACES:
            body = json.dumps({"metadata": {"name": namespace}}).encode()
            await self.ask(Request("POST", "/api/v1/namespaces", "application/json", body))
            # without it a set of two billion pods makes as many as there is time for
            body = json.dumps({"metadata": {"name": "few"}, "spec": {"hard": {"pods": "200"}}}).encode()
            path = f"/api/v1/namespaces/{namespace}/resourcequotas"
            await self.ask(Request("POST", path, "application/json", body))


def _object(answer: Answer) -> dict[str, Any] | None:
    try:
        value = json.loads(answer.body)
    except ValueError:
        return None
    return value if isinstance(value, dict) and isinstance(value.get("metadata"), dict) else None


@asynccontextmanager
async def fuzzer(
    seed: int, findings: Findings, *, version: str, components: bool, durable: bool
) -> AsyncIterator[tuple[Fuzzer, ApiServerDependencies]]:
    """Run a cluster and what sends requests to it."""
    made: list[tuple[ApiServerDependencies, api_server.Server]] = []

    def build(given: ApiServerDependencies) -> api_server.Server:
        made.append((given, api_server.build_api_server(given)))
        return made[-1][1]

    settings: dict[str, Any] = {"name": "fuzz", "port": 0, "ephemeral": not durable, "tls": False, "version": version}
    settings |= {"nodes": 3} if components else {"without": COMPONENTS}
    log = LogWatch(findings)
    logging.getLogger().addHandler(log)
    with tempfile.TemporaryDirectory() as folder:
        async with Cluster(
            resolve_configuration(settings, {}), StateDirectory(Path(folder)), make_api_server=build
        ) as running:
            surroundings, server = made[0]
            assert server.api_server is not None
            services = server.api_server.registry.dependencies
            requests = Requests(Random(seed), services.protobuf, targets(services.capabilities.version))
            made_server = HttpServer(
                server.handler, access_log=None, max_line_size=1 << 16, max_field_size=1 << 16, auto_decompress=False
            )
            yield Fuzzer(requests, made_server, running.url, findings, log), surroundings
    logging.getLogger().removeHandler(log)


def memory_mib() -> float:
    """Return the memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def fuzz(given: argparse.Namespace, findings: Findings) -> bool:
    """Send the requests; return whether memory stayed flat."""
    count, seed, seconds_max = given.requests, given.seed, given.seconds_max
    measured: list[float] = []
    began = time.perf_counter()
    settings = {"version": given.version, "components": given.components, "durable": given.durable}
    async with fuzzer(seed, findings, **settings) as (sender, surroundings):
        await sender.clear()
        for end in range(ROUND, count + ROUND, ROUND):
            while sender.sent < min(end, count) and time.perf_counter() - began < seconds_max:
                await sender.step()
            await sender.clear()
            await surroundings.store.compact(surroundings.store.revision)
            gc.collect()
            measured.append(memory_mib())
            rate = sender.sent / (time.perf_counter() - began)
            print(
                f"{sender.sent} requests, {rate:.0f}/s, {measured[-1]:.0f} MiB, {len(findings.counts)} findings",
                flush=True,
            )
            if time.perf_counter() - began >= seconds_max:
                break
    quarter = measured[len(measured) // 4]
    growth = measured[-1] - quarter
    print(
        f"{sender.sent} requests ({sender.over_sockets} over sockets) in {time.perf_counter() - began:.0f} s, "
        f"seed {seed}: "
        f"{dict(sorted(sender.statuses.items()))}; slowest {sender.slowest[0]:.2f} s ({sender.slowest[1]}), "
        f"{sender.stalls} above {STALL_SECONDS} s; memory {quarter:.0f} to {measured[-1]:.0f} MiB"
    )
    return growth <= GROWTH_MIB_MAX


def main() -> int:
    """Run from the command line; 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--durable", action="store_true", help="with SQLite instead of memory")
    parser.add_argument("--version", default=str(DEFAULT), help="of Kubernetes")
    parser.add_argument("--seconds-max", type=float, default=float("inf"))
    parser.add_argument("--components", action="store_true", help="with scheduler, controllers and kubelets at work")
    given = parser.parse_args()
    logging.getLogger().setLevel(logging.WARNING)
    findings = Findings()
    flat = asyncio.run(fuzz(given, findings))
    for what, count in findings.counts.most_common(SHOWN_MAX):
        print(f"FOUND {count} times: {what}\n  first: {findings.first[what]}")
    if not flat:
        print(f"FOUND memory grew by more than {GROWTH_MIB_MAX} MiB")
    return 0 if flat and not findings.counts else 1


if __name__ == "__main__":
    sys.exit(main())
