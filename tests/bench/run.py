"""The figures of `make bench`: start-up, memory, requests, lists and watches, over TLS, with each store.

Everything is measured from outside: a server process, and the load from another one. It prints a table and, with
`--json FILE`, writes the figures.
"""

import argparse
import asyncio
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
QUIET = ("--without", "scheduler,controllers,kubelets", "--disable-admission-plugins", "ServiceAccount")
PODS = 10_000
REAL = {
    "start-up (s)": 1.9,
    "memory at rest (MB)": 320,
    "GET/s": 5800,
    "POST/s": 2000,
    "PATCH/s": 1600,
    "listed pods/s": 80_000,
}
"""kube-apiserver with etcd on two cores, for comparison."""


class Server:
    """A server process with a state directory of its own."""

    def __init__(self, folder: Path, store: str, flags: tuple[str, ...] = QUIET) -> None:
        self.ready = folder / "ready.json"
        environment = {**os.environ, "XDG_STATE_HOME": str(folder)}
        where = ("--ephemeral",) if store == "memory" else ()
        command = [sys.executable, "-m", "mockkube", "up", "--port", "0", "--name", "bench", *where, *flags]
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

    def load(self, verb: str, connections: int, count: int) -> dict:
        """Send the load from another process."""
        command = [sys.executable, str(HERE / "load.py"), self.url, self.token, verb, str(connections), str(count)]
        answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        if answer["errors"]:
            raise SystemExit(f"{verb}: {answer['errors']}")
        return answer

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


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


def measure(store: str) -> dict[str, float]:
    """Every figure with one store."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        Server(Path(folder), store).stop()  # certificates are made once
        server = Server(Path(folder), store)
        try:
            figures["start-up (s)"] = round(server.seconds, 2)
            figures["memory at rest (MB)"] = server.memory_mb()
            figures["POST/s"] = server.load("POST", 16, PODS)["per_second"]
            figures["GET/s"] = server.load("GET", 16, 20_000)["per_second"]
            figures["PATCH/s"] = server.load("PATCH", 16, 8_000)["per_second"]
            figures["listed pods/s"] = server.load("LIST", 1, 20)["per_second"] * PODS
            figures["memory with 10,000 pods (MB)"] = server.memory_mb()
            figures |= asyncio.run(fan_out(server, 100, 1000))
        finally:
            server.stop()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    columns = {store: measure(store) for store in ("memory", "sqlite")}
    print(f"{'':32}{'real':>10}" + "".join(f"{store:>10}" for store in columns))
    for name in columns["memory"]:
        real = REAL.get(name, "")
        print(f"{name:32}{real:>10}" + "".join(f"{column[name]:>10}" for column in columns.values()))
    if options.json:
        options.json.write_text(json.dumps(columns, indent=1))


if __name__ == "__main__":
    main()
