"""Watch over HTTP: a task reads events into a bounded buffer, from which the watcher takes them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, Final

import aiohttp
import orjson

from mockkube.api.errors import ApiError, Expired
from mockkube.client.discovery import ServedResource
from mockkube.client.protocol import WatchEnded, WatchEvent, WatchEventType
from mockkube.client.status_errors import error_from_status
from mockkube.runtime.steps import Signal

# Events read and not yet taken. With a full buffer the reading task stops, so TCP flow control slows the server, which
# may end the watch.
PENDING_MAX: Final = 10_000
_BOOKMARK: Final = "BOOKMARK"
_ERROR: Final = "ERROR"
_CONNECTION_ERRORS: Final = (aiohttp.ClientError, OSError, TimeoutError, ValueError)


class HttpWatch:
    """One open watch; the client owns the task that runs `read`."""

    def __init__(self, response: aiohttp.ClientResponse, served: ServedResource, after: str) -> None:
        self.signal = Signal()
        self._response, self._served = response, served
        self._pending: deque[WatchEvent] = deque()
        self._resource_version = after
        self._end: Exception | None = None
        self._taken = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def is_ready(self) -> bool:
        """Return whether `take` returns events or raises."""
        return bool(self._pending) or self._end is not None

    def take(self, count_max: int = 0) -> list[WatchEvent]:
        """Return the events that have arrived, in order; raise Expired or WatchEnded after the last."""
        waiting = self._pending
        # Events that arrived before the end are delivered first; only then is the end raised.
        if not waiting and self._end is not None:
            raise self._end
        count = min(count_max, len(waiting)) if count_max else len(waiting)
        taken = [waiting.popleft() for _ in range(count)]
        self._taken.set()
        return taken

    async def close(self) -> None:
        """Stop watching; the reading task has ended when this returns."""
        self._pending.clear()
        self._end = WatchEnded()
        if self.task is not None and not self.task.done():
            self.task.cancel()
            await asyncio.wait([self.task])
        self._response.close()

    async def read(self) -> None:
        """Read events until the server ends the watch, the connection breaks, or it is closed."""
        end: Exception | None = None
        try:
            async for line in _lines(self._response.content):
                await self._wait_for_room()
                self._receive(orjson.loads(line))
        except ApiError as error:
            end = error if isinstance(error, Expired) else None
        # A broken connection is an ordinary end: a watch from the last resourceVersion delivers the rest.
        except _CONNECTION_ERRORS:
            pass
        finally:
            self._response.close()
            # `close` may have set the end already, and it wins.
            self._end = self._end or end or WatchEnded(self._resource_version)
            self.signal.notify()

    async def _wait_for_room(self) -> None:
        while len(self._pending) >= PENDING_MAX:
            self._taken.clear()
            await self._taken.wait()

    def _receive(self, event: Any) -> None:
        kind, obj = event["type"], event["object"]
        if kind == _ERROR:
            raise error_from_status(obj, obj.get("code", 500))
        # Bookmarks deliver nothing but move the resourceVersion on, so that a later watch does not find it compacted.
        self._resource_version = obj["metadata"]["resourceVersion"]
        if kind != _BOOKMARK:
            self._pending.append(WatchEvent(WatchEventType(kind), self._served.decode(obj)))
            self.signal.notify()


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yield the lines of a stream; they may be longer than the buffer of aiohttp's `readline`."""
    parts: list[bytes] = []
    async for chunk in content.iter_any():
        first, *rest = chunk.split(b"\n")
        parts.append(first)
        for line in rest:
            if whole := b"".join(parts):
                yield whole
            parts = [line]
