"""Writer of one HTTP/2 response, as aiohttp's responses expect it."""

from typing import Final

from aiohttp.abc import AbstractStreamWriter
from multidict import CIMultiDict

from mockkube.apiserver.http2.errors import ErrorCode
from mockkube.apiserver.http2.stream import Http2Stream

_BODILESS_STATUSES: Final = (204, 304)


class Http2StreamWriter(AbstractStreamWriter):
    """Writes a response to its stream; a write returns when the client has granted the credit for it."""

    length: int | None = None

    def __init__(self, stream: Http2Stream) -> None:
        self._stream = stream
        self._head: bytes | None = None
        self._is_bodiless = False
        self._ended = False

    async def write_headers(self, status_line: str, headers: "CIMultiDict[str]") -> None:
        """Keep the header block until the first bytes of the body."""
        status = int(status_line.split(" ", 2)[1])
        self._is_bodiless = self._stream.method == "HEAD" or status in _BODILESS_STATUSES
        self._head = self._stream.encode_response_headers(status, headers)

    def send_headers(self) -> None:
        """Send the header block now, as streamed responses do."""
        if self._head is not None:
            head, self._head = self._head, None
            self.output_size += len(head)
            self._stream.send_head(head)

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        """Send a part of the body, after the header block if it has not been sent."""
        if isinstance(chunk, memoryview):
            chunk = chunk.cast("B")
        if self.length is not None:
            chunk = chunk[: self.length]
            self.length -= len(chunk)
        if self._is_bodiless:
            chunk = b""
        if chunk or self._head is not None:
            head, self._head = self._head, None
            self.output_size += len(chunk) + len(head or b"")
            await self._stream.send(head, chunk, end=False)

    async def write_eof(self, chunk: bytes = b"") -> None:
        """Send the last part of the body, and end the stream."""
        if self._ended:
            return
        self._ended = True
        if self.length is not None and self.length != len(chunk) and not self._is_bodiless:
            # The client knows the length: an end before it has to look like a broken connection.
            self._stream.reset(ErrorCode.INTERNAL_ERROR)
        head, self._head = self._head, None
        self.output_size += len(chunk) + len(head or b"")
        await self._stream.send(head, b"" if self._is_bodiless else chunk, end=True)

    async def drain(self) -> None:
        """Do not wait: `write` itself waits for the client."""

    def enable_compression(self, encoding: str = "deflate", strategy: int | None = None) -> None:
        """Refuse: the bodies of the API server compress themselves."""
        raise RuntimeError("a response over HTTP/2 is not compressed on its way")

    def enable_chunking(self) -> None:
        """Do nothing: frames have a length each."""
