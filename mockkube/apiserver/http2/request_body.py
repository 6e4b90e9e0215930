"""Body of an HTTP/2 request: an aiohttp stream reader that asks for itself after `Expect: 100-continue`."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import StreamReader

# A reader that holds more than twice this returns no more credit to the client until its handler has read.
UNREAD_BYTES_MAX: Final = 64 << 10


class RequestBody(StreamReader):
    """Body of one request; calls back before it is read for the first time."""

    def __init__(
        self, protocol: BaseProtocol, loop: asyncio.AbstractEventLoop, on_first_read: Callable[[], None] | None
    ) -> None:
        super().__init__(protocol, UNREAD_BYTES_MAX // 2, loop=loop)
        self._on_first_read = on_first_read

    def _note_read(self) -> None:
        if self._on_first_read is not None:
            on_first_read, self._on_first_read = self._on_first_read, None
            on_first_read()

    async def readany(self) -> bytes:
        """Return what has arrived, after asking for the body."""
        self._note_read()
        return await super().readany()

    async def read(self, n: int = -1) -> Any:
        """Return up to this many bytes, after asking for the body."""
        self._note_read()
        return await super().read(n)
