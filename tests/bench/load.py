"""A load generator that costs little: prepared requests over a few keep-alive connections, answers only counted.

Runs in a process of its own: `python tests/bench/load.py URL TOKEN VERB CONNECTIONS COUNT` prints requests per second.
"""

import asyncio
import json
import re
import ssl
import sys
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import uvloop

LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n", re.I)
LAST_CHUNK = b"\r\n0\r\n\r\n"


def pod(name: str) -> dict:
    """A pod as users write them."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "bench", "tier": "web"}, "annotations": {"example.com/a": "b"}},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example.com/app:1.2.3",
                    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                    "ports": [{"containerPort": 8080, "name": "http"}],
                    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
                    "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}},
                }
            ],
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}],
        },
    }


def requests_of(verb: str, host: str, token: str) -> Callable[[int], bytes]:
    """What the i-th request looks like on the wire."""
    common = f"Host: {host}\r\nAuthorization: Bearer {token}\r\nAccept: application/json\r\nUser-Agent: bench\r\n"
    base = "/api/v1/namespaces/default/pods"

    def request(line: str, body: bytes = b"", media: str = "application/json") -> bytes:
        head = f"{line} HTTP/1.1\r\n{common}"
        if body:
            head += f"Content-Type: {media}\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body

    if verb == "GET":
        return lambda i: request(f"GET {base}/bench-0")
    if verb == "LIST":
        return lambda i: request(f"GET {base}")
    if verb == "POST":
        return lambda i: request(f"POST {base}", json.dumps(pod(f"bench-{i}"), separators=(",", ":")).encode())
    if verb == "PATCH":
        media = "application/strategic-merge-patch+json"
        patch = lambda i: json.dumps({"metadata": {"annotations": {"n": str(i)}}}).encode()  # noqa: E731
        return lambda i: request(f"PATCH {base}/bench-{i % 1000}", patch(i), media)
    if verb == "DELETE":
        return lambda i: request(f"DELETE {base}/bench-{i}?gracePeriodSeconds=0")
    raise SystemExit(f"no load for {verb}")


class Connection(asyncio.Protocol):
    """Sends the next request when an answer is complete."""

    def __init__(self, take: Callable[[], bytes | None], done: Callable[[], None]) -> None:
        self.take, self.done = take, done
        self.buffer, self.missing, self.answers, self.bytes = b"", 0, 0, 0
        self.errors: dict[bytes, int] = {}
        # The last bytes of an answer in chunks, as the real API server sends long lists; None if its length is known.
        self.tail: bytes | None = None

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.next()

    def next(self) -> None:
        request = self.take()
        if request is None:
            self.transport.close()
            self.done()
        else:
            self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.bytes += len(data)
        if self.tail is not None:
            self.read_chunks(data)
            return
        if self.missing:
            self.missing -= len(data)
            self.finish_if_complete()
            return
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        match = LENGTH.search(self.buffer, 0, end + 2)
        status = self.buffer[9:12]
        if status[:1] != b"2":
            self.errors[status] = self.errors.get(status, 0) + 1
        received, self.buffer = self.buffer, b""
        if match is None:
            self.tail = b""
            self.read_chunks(received[end + 2 :])
        else:
            self.missing = end + 4 + int(match[1]) - len(received)
            self.finish_if_complete()

    def read_chunks(self, data: bytes) -> None:
        self.tail = ((self.tail or b"") + data)[-len(LAST_CHUNK) :]
        if self.tail == LAST_CHUNK:
            self.tail = None
            self.finish_if_complete()

    def finish_if_complete(self) -> None:
        if self.missing <= 0:
            self.missing = 0
            self.answers += 1
            self.next()


async def run(url: str, token: str, verb: str, connections: int, count: int) -> dict:
    """Send `count` requests; return how it went."""
    parts = urlsplit(url)
    context = None
    if parts.scheme == "https":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    make = requests_of(verb, parts.netloc, token)
    prepared = iter([make(i) for i in range(count)])
    loop, finished, left = asyncio.get_running_loop(), asyncio.Event(), connections

    def done() -> None:
        nonlocal left
        left -= 1
        if not left:
            finished.set()

    started = time.perf_counter()
    protocols = [
        (
            await loop.create_connection(
                lambda: Connection(lambda: next(prepared, None), done), parts.hostname, parts.port, ssl=context
            )
        )[1]
        for _ in range(connections)
    ]
    await finished.wait()
    seconds = time.perf_counter() - started
    errors: dict[str, int] = {}
    for protocol in protocols:
        for status, number in protocol.errors.items():
            errors[status.decode()] = errors.get(status.decode(), 0) + number
    return {
        "verb": verb,
        "per_second": round(count / seconds, 1),
        "seconds": round(seconds, 3),
        "bytes": sum(protocol.bytes for protocol in protocols) // count,
        "errors": errors,
    }


if __name__ == "__main__":
    url, token, verb, connections, count = sys.argv[1:]
    print(json.dumps(uvloop.run(run(url, token, verb, int(connections), int(count)))))
