"""A server that does nothing but write: `python tests/bench/static.py CERTIFICATES BYTES`.

Prints its URL, and answers every request with so many bytes over TLS, in blocks that fit the processor's cache: what a
load gets from it is what the load, TLS and the loopback interface can do.
"""

import asyncio
import ssl
import sys
from pathlib import Path

import uvloop

BLOCK = 96 << 10


class Writer(asyncio.Protocol):
    """Answers whatever comes."""

    def __init__(self, size: int) -> None:
        self.size, self.body = size, memoryview(bytes(BLOCK))
        self.flowing = asyncio.Event()
        self.flowing.set()
        self.tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport) -> None:
        self.transport = transport

    def pause_writing(self) -> None:
        self.flowing.clear()

    def resume_writing(self) -> None:
        self.flowing.set()

    def data_received(self, data: bytes) -> None:
        task = asyncio.get_running_loop().create_task(self.answer())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def answer(self) -> None:
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % self.size)
        for start in range(0, self.size, BLOCK):
            self.transport.write(self.body[: min(BLOCK, self.size - start)])
            await self.flowing.wait()


async def main(certificates: Path, size: int) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "apiserver.crt", certificates / "apiserver.key")
    server = await asyncio.get_running_loop().create_server(lambda: Writer(size), "127.0.0.1", 0, ssl=context)
    print(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1]), int(sys.argv[2])))
