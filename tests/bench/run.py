"""The figures of `make bench`: start-up, memory, requests, lists and watches, over TLS, with each store.

Everything is measured from outside: a server process, and the load from another one. It prints a table and, with
`--json FILE`, writes the figures.

The code is compiled before the first start, as installing a package does. Server and load share the machine, so beside
each rate stand the microseconds of processor time that a request took the server: these hardly depend on who else is
busy. "the load's own limit" is what the same load gets from a process that only writes the same number of bytes.
"""

import argparse
import asyncio
import compileall
import json
import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from real_control_plane import RealControlPlane

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TICKS = os.sysconf("SC_CLK_TCK")
QUIET = ("--without", "scheduler,controllers,kubelets", "--disable-admission-plugins", "ServiceAccount")
PODS = 10_000
STARTS = 5
REST_SECONDS = 1.5
REAL = {
    "start-up (s)": 1.9,
    "memory at rest (MB)": 320,
    "GET/s": 5800,
    "POST/s": 2000,
    "PATCH/s": 1600,
    "listed pods/s": 80_000,
}
"""kube-apiserver with etcd on two cores, for comparison where no `--real` is given."""


class Server:
    """A server process with a state directory of its own."""

    def __init__(
        self,
        folder: Path,
        store: str,
        flags: tuple[str, ...] = QUIET,
        *,
        program: tuple[str, ...] = ("-m", "mockkube"),
    ) -> None:
        self.ready = folder / "ready.json"
        environment = {**os.environ, "XDG_STATE_HOME": str(folder)}
        where = ("--ephemeral",) if store == "memory" else ()
        command = [sys.executable, *program, "up", "--port", "0", "--name", "bench", *where, *flags]
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, "--ready-file", str(self.ready)], stdout=subprocess.DEVNULL, env=environment
        )
        while not self.ready.exists():
            if self.process.poll() is not None:
                raise SystemExit("the server did not start")
            time.sleep(0.002)
        self.seconds = time.perf_counter() - self.began
        facts = json.loads(self.ready.read_text())
        self.url, self.token = facts["url"], facts["token"]

    def memory_mb(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) // 1024

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def load(server: Server | RealControlPlane, verb: str, connections: int, count: int) -> dict:
    """Send a load to a server; also return what a request took it."""
    before = server.cpu_seconds()
    answer = send(server.url, server.token, verb, connections, count)
    return {**answer, "cpu": round((server.cpu_seconds() - before) / count * 1e6)}


def send(url: str, token: str, verb: str, connections: int, count: int) -> dict:
    """Send a load from a process of its own."""
    command = [sys.executable, str(HERE / "load.py"), url, token, verb, str(connections), str(count)]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    if answer["errors"]:
        raise SystemExit(f"{verb}: {answer['errors']}")
    return answer


def limit_of_load(folder: Path, size: int) -> float:
    """How many answers of that size the load takes in a second, over TLS, from a process that only writes them."""
    certificates = next(folder.rglob("apiserver.crt")).parent
    command = [sys.executable, str(HERE / "static.py"), str(certificates), str(size)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            return send(url, "-", "LIST", 1, 60)["per_second"]
        finally:
            process.terminate()


def connection_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def fan_out(server: Server, watchers: int, events: int) -> dict[str, float]:
    """Latency from a write's answer to each watcher's line, in milliseconds."""
    parts, context = urlsplit(server.url), connection_context()
    head = f"Host: {parts.netloc}\r\nAuthorization: Bearer {server.token}\r\n"
    path, sent, latencies = "/api/v1/namespaces/default/configmaps", {}, []
    opened = asyncio.Semaphore(0)

    async def watch() -> None:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, ssl=context, limit=1 << 22)
        writer.write(f"GET {path}?watch=1 HTTP/1.1\r\n{head}\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        opened.release()
        seen = 0
        while seen < events:
            line = await reader.readline()
            now = time.perf_counter()
            if b'"fan-' in line and (start := line.find(b'"name":"fan-')) >= 0:
                number = int(line[start + 12 : line.index(b'"', start + 12)])
                latencies.append(now - sent[number])
                seen += 1
        writer.close()

    async def write() -> None:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, ssl=context)
        for _ in range(watchers):
            await opened.acquire()
        for number in range(events):
            body = json.dumps({"metadata": {"name": f"fan-{number}"}, "data": {"n": str(number)}})
            length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            sent[number] = time.perf_counter()
            writer.write(f"POST {path} HTTP/1.1\r\n{head}{length}\r\n{body}".encode())
            answer = await reader.readuntil(b"\r\n\r\n")
            size = int(answer.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            await reader.readexactly(size)
        writer.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(watchers):
            group.create_task(watch())
        group.create_task(write())
    latencies.sort()
    return {
        "watch p50 (ms)": round(1000 * latencies[len(latencies) // 2], 1),
        "watch p99 (ms)": round(1000 * latencies[int(len(latencies) * 0.99)], 1),
    }


def measure_starts(store: str, flags: tuple[str, ...]) -> tuple[float, int]:
    """Return the medians of several starts: seconds until the server is ready, and its memory at rest in MB."""
    seconds, memory = [], []
    with tempfile.TemporaryDirectory() as folder:
        Server(Path(folder), store, flags).stop()  # a database is created once
        for _ in range(STARTS):
            server = Server(Path(folder), store, flags)
            time.sleep(REST_SECONDS)
            seconds.append(server.seconds)
            memory.append(server.memory_mb())
            server.stop()
    return round(statistics.median(seconds), 2), int(statistics.median(memory))


def measure(store: str) -> dict[str, float]:
    """Every figure with one store."""
    figures: dict[str, float] = {}
    figures["start-up (s)"], figures["memory at rest (MB)"] = measure_starts(store, QUIET)
    figures["  with all components (s)"], figures["  with all components (MB)"] = measure_starts(store, ())
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), store)
        try:
            figures |= measure_requests(server)
            figures["  the load's own limit"] = round(limit_of_load(Path(folder), figures.pop("bytes")) * PODS)
            figures |= asyncio.run(fan_out(server, 100, 1000))
        finally:
            server.stop()
    return figures


def measure_requests(server: Server | RealControlPlane) -> dict[str, float]:
    """Every figure of requests, and the bytes of a list."""
    figures: dict[str, float] = {}
    for verb, count in (("POST", PODS), ("GET", 20_000), ("PATCH", 8_000)):
        answer = load(server, verb, 16, count)
        figures[f"{verb}/s"] = round(answer["per_second"])
        figures[f"  µs of the server per {verb}"] = answer["cpu"]
    listed = load(server, "LIST", 1, 60)
    figures["listed pods/s"] = round(listed["per_second"] * PODS)
    figures["  µs of the server per list"] = listed["cpu"]
    figures["memory with 10,000 pods (MB)"] = server.memory_mb()
    return {**figures, "bytes": listed["bytes"]}


def measure_real(programs: Path) -> dict[str, float]:
    """The same figures of the real control plane."""
    seconds, memory = [], []
    for _ in range(STARTS):
        real = RealControlPlane(programs)
        time.sleep(REST_SECONDS)
        seconds.append(real.seconds)
        memory.append(real.memory_mb())
        real.stop()
    real = RealControlPlane(programs, flags=("--disable-admission-plugins", "ServiceAccount"))
    try:
        figures = measure_requests(real)
    finally:
        real.stop()
    starts = {"start-up (s)": round(statistics.median(seconds), 2), "memory at rest (MB)": statistics.median(memory)}
    return starts | figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--real", type=Path, metavar="DIR", help="measure etcd and kube-apiserver of this directory, too"
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    for package in ("mockkube", "storage"):
        compileall.compile_dir(ROOT / package, quiet=2)
    real_figures = REAL if options.real is None else measure_real(options.real)
    columns = {store: measure(store) for store in ("memory", "sqlite")}
    print(f"{'':32}{'real':>10}" + "".join(f"{store:>10}" for store in columns))
    for name in columns["memory"]:
        real = real_figures.get(name, "")
        print(f"{name:32}{real:>10}" + "".join(f"{column[name]:>10}" for column in columns.values()))
    if options.json:
        options.json.write_text(json.dumps({"real": real_figures, **columns}, indent=1))


if __name__ == "__main__":
    main()
