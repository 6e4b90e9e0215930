"""Writes the frames of one HTTP/2 connection: collects those of one turn of the event loop, counts queued ones."""

import asyncio
from typing import Final

from mockkube.apiserver.http2 import frames
from mockkube.apiserver.http2.frame_limits import FrameLimits
from mockkube.apiserver.http2.header_encoder import EMPTY_TABLE

# Longest frame that is sent: a large response should not delay the other streams.
SENT_FRAME_BYTES_MAX: Final = 64 << 10
# Control frames that wait for a client which does not read.
QUEUED_CONTROL_FRAMES_MAX: Final = 1000
# Output that is collected before it is written.
COLLECTED_BYTES_MAX: Final = 128 << 10


class FrameWriter:
    """Output of one connection, with the window of the connection as a whole."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limits: FrameLimits) -> None:
        self._loop = loop
        self._limits = limits
        self.transport: asyncio.Transport | None = None
        """Transport of the connection while it is open."""
        self._output: list[bytes | bytearray | memoryview] = []
        self._output_bytes = 0
        self._block_prefix = b""
        self._queued_control_frames = 0
        self.is_paused = False
        """True while the client does not read what has been written."""
        self.window = frames.WINDOW_DEFAULT
        """Bytes of data that the client accepts on all streams together."""
        self.frame_bytes_max = frames.FRAME_BYTES_DEFAULT
        """Longest payload of a frame."""

    def resume(self) -> None:
        """Note that the client reads again."""
        self.is_paused = False
        self._queued_control_frames = 0

    def limit_frame_bytes(self, frame_bytes_max: int) -> None:
        """Apply the longest payload that the client accepts."""
        self.frame_bytes_max = min(frame_bytes_max, SENT_FRAME_BYTES_MAX)

    def limit_header_table(self, table_bytes_max: int) -> None:
        """Tell a client that allows less than the default size that the table, which is not used, is empty."""
        if table_bytes_max < frames.HEADER_TABLE_BYTES_DEFAULT:
            self._block_prefix = EMPTY_TABLE

    def send_message(
        self, stream_id: int, head: bytes | None, data: bytes | bytearray | memoryview, *, end: bool
    ) -> None:  # hot: per response and per watch event
        """Write a header block, if there is one, and data that fits into one frame and the windows."""
        size = len(data)
        if head is not None:
            self.send_head(stream_id, head, end=end and not size)
            if not size:
                return
        self.window -= size
        self._limits.note_data_sent(size)
        self._output.append(frames.encode_header(frames.DATA, frames.END_STREAM if end else 0, stream_id, size))
        self._write(data, frames.HEADER_BYTES + size)

    def send_head(self, stream_id: int, block: bytes, *, end: bool) -> None:
        """Write a header block."""
        if self._block_prefix:
            block, self._block_prefix = self._block_prefix + block, b""
        data = frames.encode_header_block(stream_id, block, end_stream=end, frame_bytes_max=self.frame_bytes_max)
        self._write(data, len(data))

    def send_control(self, frame: bytes) -> None:
        """Write a control frame; abort the connection if too many wait for a client that does not read."""
        if self.is_paused:
            self._queued_control_frames += 1
            if self._queued_control_frames > QUEUED_CONTROL_FRAMES_MAX and self.transport is not None:
                self.transport.abort()  # such a client would not read a GOAWAY frame either
                return
        self._write(frame, len(frame))

    def _write(self, data: bytes | bytearray | memoryview, size: int) -> None:
        """Collect output: all frames of one turn of the event loop become one write, and one TLS record."""
        self._output.append(data)
        if not self._output_bytes:
            self._loop.call_soon(self.flush)
        self._output_bytes += size
        if self._output_bytes >= COLLECTED_BYTES_MAX:
            self.flush()

    def flush(self) -> None:
        """Pass what has been collected to the transport."""
        if self._output:
            data = b"".join(self._output)
            self._output.clear()
            self._output_bytes = 0
            if self.transport is not None and not self.transport.is_closing():
                self.transport.write(data)

    def close(self) -> None:
        """Close the connection after the output so far."""
        self.flush()
        if self.transport is not None:
            self.transport.close()
