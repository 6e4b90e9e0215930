"""A connection to an HTTP server of this process without a socket: bytes in, bytes out."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from mockkube.apiserver.http.connections import ConnectionHandler

_END_OF_HEAD: Final = b"\r\n\r\n"


class MemoryTransport(asyncio.Transport):
    """Keeps what the server writes until somebody takes it."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.written = bytearray()
        self.changed = asyncio.Event()
        self._closing = False

    def write(self, data: Any) -> None:
        """Keep the bytes."""
        self.written += data
        self.changed.set()

    def close(self) -> None:
        """End the connection."""
        self._closing = True
        self.changed.set()

    abort = close

    def is_closing(self) -> bool:
        """Return whether the connection has ended."""
        return self._closing

    def pause_reading(self) -> None:
        """Do nothing: what is sent has arrived."""

    resume_reading = pause_reading

    def get_write_buffer_size(self) -> int:
        """Return 0: what is written has left."""
        return 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; `body` is what has arrived by the time."""

    status: int
    head: bytes
    body: bytes


class Connection:
    """One connection, used for one request after the other."""

    def __init__(self, make_protocol: Callable[[], ConnectionHandler]) -> None:
        self._transport = MemoryTransport()
        self._protocol = make_protocol()
        self._protocol.connection_made(self._transport)
        self._requests = 0

    @property
    def open(self) -> bool:
        """Whether the server has left it open."""
        return not self._transport.is_closing()

    @property
    def fresh(self) -> bool:
        """Whether no more than one request was sent on it."""
        return self._requests <= 1

    def close(self) -> None:
        """End it, as a client does that goes away."""
        self._transport.close()
        self._protocol.connection_lost(None)

    async def send(self, request: bytes, *, whole: bool = True) -> Answer:
        """Send a request and return its answer; with `whole=False` as soon as its first bytes of body are there."""
        transport = self._transport
        self._requests += 1
        transport.written.clear()
        self._protocol.data_received(request)
        while (answer := _read(transport.written, whole=whole)) is None:
            if transport.is_closing():
                return Answer(0, b"", bytes(transport.written))
            transport.changed.clear()
            await transport.changed.wait()
        return answer


def _read(written: bytearray, *, whole: bool) -> Answer | None:
    """Return the answer in these bytes; None while it is not complete. Copies nothing before."""
    end = written.find(_END_OF_HEAD)
    if end < 0:
        return None
    head, begin = bytes(written[:end]), end + len(_END_OF_HEAD)
    fields = head.lower()
    if whole and b"transfer-encoding: chunked" in fields:
        if not written.endswith(b"0\r\n\r\n", begin):
            return None
    elif whole and len(written) - begin < int((fields.partition(b"content-length: ")[2].partition(b"\r\n")[0]) or 0):
        return None
    return Answer(int(head.split(b" ", 2)[1]), head, bytes(written[begin:]))
