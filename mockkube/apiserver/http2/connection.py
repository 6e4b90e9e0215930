"""One HTTP/2 connection: reads frames, starts a handler per stream, writes frames (RFC 9113).

States, limits and error codes are those of golang.org/x/net/http2, on which the real API server is built.
"""

# upstream 1.36: golang.org/x/net/http2/server.go, apiserver/pkg/server/secure_serving.go
import asyncio
import logging
import ssl
from collections import deque
from collections.abc import Callable
from typing import Any, Final, cast

from aiohttp import web
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.tcp_helpers import tcp_keepalive, tcp_nodelay
from multidict import CIMultiDict

from mockkube.apiserver.http.connections import HEADER_SECONDS_MAX, Http2Request, HttpHandler
from mockkube.apiserver.http2 import frames
from mockkube.apiserver.http2.errors import ErrorCode, Http2ConnectionError, Http2StreamError
from mockkube.apiserver.http2.header_decoder import HeaderBlockError
from mockkube.apiserver.http2.header_encoder import EMPTY_TABLE, encode_response_headers
from mockkube.apiserver.http2.request_head import LIST_BYTES_MAX, MalformedRequest, RequestHead, RequestHeadReader
from mockkube.apiserver.http2.stream import RECEIVE_WINDOW, Http2Stream
from mockkube.apiserver.http2.stream_writer import Http2StreamWriter

# Streams that may be open at once, and handlers that may run: a stream that was reset may leave its handler running.
STREAMS_MAX: Final = 100
# Requests that wait for such a handler; a client that resets streams faster than handlers end is disconnected.
WAITING_REQUESTS_MAX: Final = 4 * STREAMS_MAX
# Bytes of request bodies that all streams together may send before handlers read.
RECEIVE_WINDOW_OF_CONNECTION: Final = STREAMS_MAX * RECEIVE_WINDOW
FRAME_BYTES_MAX: Final = 256 << 10
# Longest frame that is sent: a large response should not delay the other streams.
SENT_FRAME_BYTES_MAX: Final = 64 << 10
PREFACE_SECONDS_MAX: Final = 10.0
SETTINGS_MAX: Final = 100
# CONTINUATION frames of one header block: with frames of the usual size 64 hold four times the largest block.
CONTINUATIONS_MAX: Final = 64
# PING, SETTINGS, PRIORITY, RST_STREAM, unknown and empty DATA frames that a client may send in that many seconds.
CONTROL_FRAMES_MAX: Final = 1000
CONTROL_FRAMES_SECONDS: Final = 10.0
# WINDOW_UPDATE frames that a client may send before it has received anything; each DATA frame allows for more.
WINDOW_UPDATES_MAX: Final = 1000
# Control frames that wait for a client which does not read.
QUEUED_CONTROL_FRAMES_MAX: Final = 1000
# Time for the client to read a GOAWAY frame: closing at once could discard it together with unread input.
GOAWAY_SECONDS: Final = 1.0
# Output is collected for one turn of the event loop, up to this size.
_COLLECTED_BYTES_MAX: Final = 64 << 10
_CREDIT_BYTES_MIN: Final = 1 << 20
_TEXT_HEADERS: Final = CIMultiDict({"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"})
_OUR_SETTINGS: Final = frames.encode_settings(
    (
        (frames.SETTINGS_MAX_FRAME_SIZE, FRAME_BYTES_MAX),
        (frames.SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX),
        (frames.SETTINGS_MAX_HEADER_LIST_SIZE, LIST_BYTES_MAX),
        (frames.SETTINGS_INITIAL_WINDOW_SIZE, RECEIVE_WINDOW),
        (frames.SETTINGS_NO_RFC7540_PRIORITIES, 1),
    )
) + frames.encode_window_update(0, RECEIVE_WINDOW_OF_CONNECTION - frames.WINDOW_DEFAULT)
_SETTINGS_ACK: Final = frames.encode_header(frames.SETTINGS, frames.ACK, 0, 0)
_LOG: Final = logging.getLogger("mockkube.apiserver")


class Http2Connection(asyncio.Protocol):
    """Protocol of one HTTP/2 connection."""

    def __init__(
        self,
        handler: HttpHandler,
        loop: asyncio.AbstractEventLoop,
        *,
        idle_seconds_max: float,
        on_lost: Callable[["Http2Connection"], None],
    ) -> None:
        self._handler = handler
        self.loop = loop
        self._idle_seconds_max = idle_seconds_max
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self.ssl_context: ssl.SSLContext | None = None
        self.peername: Any = None
        self.sockname: Any = None

        self._streams: dict[int, Http2Stream] = {}
        self._last_stream_id = 0
        # Streams that this side has reset while the client was still sending: what follows is ignored.
        self._reset_stream_ids: deque[int] = deque(maxlen=STREAMS_MAX)
        self._handler_tasks: dict[asyncio.Task[None], None] = {}
        self._waiting: deque[tuple[Http2Stream, RequestHead]] = deque()

        self._preface_left = frames.PREFACE
        self._has_settings = False
        self._unacknowledged_settings = 1
        self._buffer = bytearray()
        self._bytes_needed = 0
        self._is_inside_data = False
        self._heads = RequestHeadReader()
        self._block: bytearray | None = None
        self._block_stream_id = 0
        self._block_flags = 0
        self._continuations = 0
        self._receive_window = RECEIVE_WINDOW_OF_CONNECTION
        self._credit_owed = 0

        self._output: list[bytes | bytearray | memoryview] = []
        self._output_bytes = 0
        self.is_write_paused = False
        self.send_window = frames.WINDOW_DEFAULT
        self._initial_send_window = frames.WINDOW_DEFAULT
        self.frame_bytes_max = frames.FRAME_BYTES_DEFAULT
        self._block_prefix = b""
        self.blocked: dict[Http2Stream, None] = {}
        """Streams whose response waits for the client, those that wait longest first."""

        self._control_frames_left = CONTROL_FRAMES_MAX
        self._control_frames_since = loop.time()
        self._window_updates_left = WINDOW_UPDATES_MAX
        self._queued_control_frames = 0
        self._goaway: ErrorCode | None = None
        self._progress_timer: asyncio.TimerHandle | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._close_timer: asyncio.TimerHandle | None = None
        self._idle_since = loop.time()

    # Events of the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the settings, and start the timer for those of the client."""
        self._transport = cast(asyncio.Transport, transport)
        tcp_nodelay(self._transport, True)
        tcp_keepalive(self._transport)
        self.ssl_context = transport.get_extra_info("sslcontext")
        self.peername = transport.get_extra_info("peername")
        self.sockname = transport.get_extra_info("sockname")
        self._write(_OUR_SETTINGS)
        self._progress_timer = self.loop.call_later(PREFACE_SECONDS_MAX, self._end_slow_client)
        self._idle_timer = self.loop.call_later(self._idle_seconds_max, self._end_if_idle)
        if (cipher := _find_weak_cipher(transport)) is not None:
            self._fail(Http2ConnectionError(ErrorCode.INADEQUATE_SECURITY, f"prohibited TLS 1.2 cipher {cipher}"))

    def connection_lost(self, exc: Exception | None) -> None:
        """End all streams and timers."""
        self._transport = None
        for timer in (self._progress_timer, self._idle_timer, self._close_timer):
            if timer is not None:
                timer.cancel()
        self._cancel_streams("the connection is closed")
        self._output.clear()
        self._on_lost(self)

    def eof_received(self) -> bool:
        """Close the connection: a client that has stopped sending grants no more credit either."""
        return False

    def pause_writing(self) -> None:
        """Hold responses until the client reads."""
        self.is_write_paused = True

    def resume_writing(self) -> None:
        """Let responses go on."""
        self.is_write_paused = False
        self._queued_control_frames = 0
        self._wake_blocked()

    def data_received(self, data: bytes) -> None:  # hot: per read from the socket
        """Process the frames that are complete."""
        if self._goaway:  # an error has been sent: anything else has no meaning
            return
        if self._buffer:
            self._buffer += data
            if len(self._buffer) < self._bytes_needed:
                return
            data = bytes(self._buffer)
            self._buffer.clear()
        try:
            position = self._check_preface(data) if self._preface_left else 0
            self._process_frames(data, position)
        except Http2ConnectionError as error:
            self._fail(error)

    # Frames of the client.

    def _check_preface(self, data: bytes) -> int:
        """Compare received data with the preface, and return the position after it."""
        expected = self._preface_left
        count = min(len(data), len(expected))
        if data[:count] != expected[:count]:
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "no HTTP/2 preface")
        self._preface_left = expected[count:]
        return count

    def _process_frames(self, data: bytes, position: int) -> None:
        end = len(data)
        self._is_inside_data = False
        while end - position >= frames.HEADER_BYTES:
            high, low, kind, flags, stream_id = frames.unpack_header(data, position)
            size = high << 8 | low
            if size > FRAME_BYTES_MAX:
                raise Http2ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "a frame larger than allowed")
            start = position + frames.HEADER_BYTES
            stop = start + size
            if stop > end:
                if kind == frames.DATA and not flags & frames.PADDED and start < end and self._has_settings:
                    # A part of the frame as a frame of its own: a slow client makes progress, and nothing is kept.
                    self._process_frame(
                        kind, flags & ~frames.END_STREAM, stream_id & frames.STREAM_ID_MASK, data[start:]
                    )
                    data = frames.encode_header(kind, flags, stream_id, stop - end)
                    position, end, size = 0, frames.HEADER_BYTES, stop - end
                    self._is_inside_data = True
                self._bytes_needed = frames.HEADER_BYTES + (1 if self._is_inside_data else size)
                break
            self._process_frame(kind, flags, stream_id & frames.STREAM_ID_MASK, data[start:stop])
            if self._goaway:
                return
            position = stop
        else:
            self._bytes_needed = frames.HEADER_BYTES
        if position < end:
            self._buffer += data[position:] if position else data
        self._update_progress_timer()

    def _process_frame(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        try:
            if kind == frames.HEADERS and self._has_settings and self._block is None:
                self._process_headers(flags, stream_id, payload)
            else:
                self._process_other_frame(kind, flags, stream_id, payload)
        except Http2StreamError as error:
            _LOG.debug("HTTP/2 stream %d of %s: %s", error.stream_id, self.peername, error)
            stream = self._streams.get(error.stream_id)
            if stream is None:
                self.send_rst_stream(error.stream_id, error.code)
            else:
                self.send_rst_stream(error.stream_id, error.code)
                stream.cancel(str(error))

    def _process_other_frame(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if not self._has_settings and (kind != frames.SETTINGS or flags & frames.ACK):
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "the first frame is not SETTINGS")
        if (self._block is not None) != (kind == frames.CONTINUATION):
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "a header block and CONTINUATION frames are not one")
        match kind:
            case frames.DATA:
                self._process_data(flags, stream_id, payload)
            case frames.WINDOW_UPDATE:
                self._process_window_update(stream_id, payload)
            case frames.CONTINUATION:
                self._process_continuation(flags, stream_id, payload)
            case frames.RST_STREAM:
                self._process_rst_stream(stream_id, payload)
            case frames.SETTINGS:
                self._process_settings(flags, stream_id, payload)
            case frames.PING:
                self._process_ping(flags, stream_id, payload)
            case frames.PRIORITY:
                self._process_priority(stream_id, payload)
            case frames.GOAWAY:
                self._process_goaway(stream_id, payload)
            case frames.PUSH_PROMISE:
                raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "a client cannot push")
            case _:
                self._count_control_frame()

    def _process_headers(self, flags: int, stream_id: int, payload: bytes) -> None:
        if not stream_id & 1:
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "HEADERS on a stream that no client can open")
        if flags & frames.PADDED:
            payload = frames.strip_padding(payload)
        if flags & frames.HAS_PRIORITY:
            if len(payload) < 5:
                raise Http2ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "HEADERS without the priority they announce")
            dependency = frames.decode_number(payload[:4]) & frames.STREAM_ID_MASK
            payload = payload[5:]
        else:
            dependency = 0
        if flags & frames.END_HEADERS:
            self._process_block(flags, stream_id, payload)
        else:
            self._block = bytearray(payload)
            self._block_stream_id, self._block_flags, self._continuations = stream_id, flags, 0
            self._check_block_size()
        if dependency == stream_id:
            raise Http2StreamError(stream_id, ErrorCode.PROTOCOL_ERROR, "a stream that depends on itself")

    def _process_continuation(self, flags: int, stream_id: int, payload: bytes) -> None:
        assert self._block is not None
        if stream_id != self._block_stream_id:
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "CONTINUATION of another stream")
        self._block += payload
        self._continuations += 1
        self._check_block_size()
        if flags & frames.END_HEADERS:
            block, self._block = bytes(self._block), None
            self._process_block(self._block_flags, stream_id, block)

    def _check_block_size(self) -> None:
        assert self._block is not None
        if len(self._block) > LIST_BYTES_MAX or self._continuations > CONTINUATIONS_MAX:
            raise Http2ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "a header block that is too large")

    def _process_block(self, flags: int, stream_id: int, block: bytes) -> None:
        """Process a complete header block: a request, or trailers."""
        if len(block) > LIST_BYTES_MAX:
            raise Http2ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "a header block that is too large")
        stream = self._streams.get(stream_id)
        is_request = stream is None and stream_id > self._last_stream_id
        if is_request and self._goaway is None:
            self._last_stream_id = stream_id
        try:
            if is_request:
                head = self._heads.read(block)
            else:
                self._heads.read_trailers(block)
        except HeaderBlockError as error:
            raise Http2ConnectionError(ErrorCode.COMPRESSION_ERROR, str(error)) from error
        except MalformedRequest as error:
            raise Http2StreamError(stream_id, ErrorCode.PROTOCOL_ERROR, str(error)) from error
        if is_request:
            if self._goaway is None:
                self._open_stream(stream_id, head, has_body=not flags & frames.END_STREAM)
        elif stream is not None:
            self._end_body_with_trailers(stream, flags)
        elif stream_id not in self._reset_stream_ids:
            raise Http2ConnectionError(ErrorCode.STREAM_CLOSED, "HEADERS on a closed stream")

    def _end_body_with_trailers(self, stream: Http2Stream, flags: int) -> None:
        if stream.is_remote_closed:
            raise Http2StreamError(stream.stream_id, ErrorCode.STREAM_CLOSED, "HEADERS after the end of the request")
        if not flags & frames.END_STREAM:
            raise Http2StreamError(stream.stream_id, ErrorCode.PROTOCOL_ERROR, "trailers that do not end the stream")
        stream.end_body()

    def _open_stream(self, stream_id: int, head: RequestHead | None, *, has_body: bool) -> None:
        if len(self._streams) >= STREAMS_MAX:
            # A client that has seen the limit knows better; another may try again.
            code = ErrorCode.REFUSED_STREAM if self._unacknowledged_settings else ErrorCode.PROTOCOL_ERROR
            raise Http2StreamError(stream_id, code, "more streams than allowed")
        if head is None or head.error:
            self._refuse(stream_id, head, has_body=has_body)
            return
        if head.content_length and not has_body:
            raise Http2StreamError(stream_id, ErrorCode.PROTOCOL_ERROR, "content-length without a body")
        stream = Http2Stream(self, stream_id, head, self._initial_send_window)
        if has_body:
            stream.open_body(head, self.loop)
        self._streams[stream_id] = stream
        if len(self._handler_tasks) < STREAMS_MAX:
            self._start_handler(stream, head)
        elif len(self._waiting) < WAITING_REQUESTS_MAX:
            self._waiting.append((stream, head))
        else:
            raise Http2ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "too many streams were reset early")

    def _refuse(self, stream_id: int, head: RequestHead | None, *, has_body: bool) -> None:
        """Answer a request that cannot be passed on."""
        status, text = (431, "431 Request Header Fields Too Large") if head is None else (400, head.error)
        body = text.encode() + b"\n"
        if len(body) <= min(self._initial_send_window, self.send_window):
            self.send_window -= len(body)
            self.send_message(stream_id, encode_response_headers(status, _TEXT_HEADERS), body, end=True)
        else:
            self.send_head(stream_id, encode_response_headers(status, _TEXT_HEADERS), end=True)
        if has_body:
            self.send_rst_stream(stream_id, ErrorCode.NO_ERROR)

    def _process_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        frame_bytes = len(payload)
        if flags & frames.PADDED:
            payload = frames.strip_padding(payload)
        self._receive_window -= frame_bytes
        if self._receive_window < 0:
            raise Http2ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "more data than the window allows")
        stream = self._streams.get(stream_id)
        if stream is not None and not stream.is_remote_closed:
            if not payload and not flags & frames.END_STREAM:
                self._count_control_frame()
            stream.receive_data(payload, frame_bytes, end=bool(flags & frames.END_STREAM))
            return
        self._check_not_idle(stream_id)
        self.return_credit(frame_bytes)
        self._count_control_frame()
        if stream_id <= self._last_stream_id and stream_id not in self._reset_stream_ids:
            raise Http2StreamError(stream_id, ErrorCode.STREAM_CLOSED, "DATA on a closed stream")

    def _process_window_update(self, stream_id: int, payload: bytes) -> None:
        self._window_updates_left -= 1
        if self._window_updates_left < 0:
            raise Http2ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "too many WINDOW_UPDATE frames")
        if len(payload) != 4:
            raise Http2ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "WINDOW_UPDATE of a wrong size")
        increment = frames.decode_number(payload) & frames.WINDOW_LIMIT
        if stream_id == 0:
            if increment == 0:
                raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE by nothing")
            self.send_window += increment
            if self.send_window > frames.WINDOW_LIMIT:
                raise Http2ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "a window that is too large")
            self._wake_blocked()
            return
        self._check_not_idle(stream_id)
        stream = self._streams.get(stream_id)
        if stream is None:
            return
        if increment == 0:
            raise Http2StreamError(stream_id, ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE by nothing")
        stream.send_window += increment
        if stream.send_window > frames.WINDOW_LIMIT:
            raise Http2StreamError(stream_id, ErrorCode.FLOW_CONTROL_ERROR, "a window that is too large")
        stream.wake()

    def _process_rst_stream(self, stream_id: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise Http2ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "RST_STREAM of a wrong size")
        self._check_not_idle(stream_id)
        self._count_control_frame()
        if (stream := self._streams.get(stream_id)) is not None:
            stream.cancel("the client has reset the stream")

    def _process_settings(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id:
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "SETTINGS on a stream")
        if len(payload) % 6 or (payload and flags & frames.ACK):
            raise Http2ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS of a wrong size")
        if flags & frames.ACK:
            self._unacknowledged_settings -= 1
            if self._unacknowledged_settings < 0:
                raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "an acknowledgement of nothing")
            return
        self._count_control_frame()
        settings = frames.decode_settings(payload)
        if len(settings) > SETTINGS_MAX or len({name for name, _ in settings}) != len(settings):
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "too many or repeated settings")
        for name, value in settings:
            self._apply_setting(name, value)
        self._has_settings = True
        self._write_control(_SETTINGS_ACK)

    def _apply_setting(self, name: int, value: int) -> None:
        match name:
            case frames.SETTINGS_HEADER_TABLE_SIZE:
                if value < frames.HEADER_TABLE_BYTES_DEFAULT:
                    # Responses do not use the table, but the client waits to hear that it has become smaller.
                    self._block_prefix = EMPTY_TABLE
            case frames.SETTINGS_INITIAL_WINDOW_SIZE:
                if value > frames.WINDOW_LIMIT:
                    raise Http2ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "a window that is too large")
                self._resize_send_windows(value - self._initial_send_window)
                self._initial_send_window = value
            case frames.SETTINGS_MAX_FRAME_SIZE:
                if not frames.FRAME_BYTES_DEFAULT <= value <= frames.FRAME_BYTES_LIMIT:
                    raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "a frame size out of bounds")
                self.frame_bytes_max = min(value, SENT_FRAME_BYTES_MAX)
            case frames.SETTINGS_ENABLE_PUSH | frames.SETTINGS_NO_RFC7540_PRIORITIES if value > 1:
                raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "a setting that is neither 0 nor 1")

    def _resize_send_windows(self, growth: int) -> None:
        for stream in self._streams.values():
            stream.send_window += growth
            if stream.send_window > frames.WINDOW_LIMIT:
                raise Http2ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "a window that is too large")
        self._wake_blocked()

    def _process_ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != 8:
            raise Http2ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "PING of a wrong size")
        if stream_id:
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "PING on a stream")
        self._count_control_frame()
        if not flags & frames.ACK:
            self._write_control(frames.encode_ping_ack(payload))

    def _process_priority(self, stream_id: int, payload: bytes) -> None:
        if not stream_id:
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "PRIORITY without a stream")
        self._count_control_frame()
        if len(payload) != 5:
            raise Http2StreamError(stream_id, ErrorCode.FRAME_SIZE_ERROR, "PRIORITY of a wrong size")
        if frames.decode_number(payload[:4]) & frames.STREAM_ID_MASK == stream_id:
            raise Http2StreamError(stream_id, ErrorCode.PROTOCOL_ERROR, "a stream that depends on itself")

    def _process_goaway(self, stream_id: int, payload: bytes) -> None:
        if stream_id:
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "GOAWAY on a stream")
        if len(payload) < 8:
            raise Http2ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "GOAWAY of a wrong size")
        self.go_away()

    def _check_not_idle(self, stream_id: int) -> None:
        """Refuse a frame on a stream that the client has not opened; after GOAWAY its streams are not known."""
        if not stream_id & 1 or (stream_id > self._last_stream_id and self._goaway is None):
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "a frame on a stream that is not open")

    def _count_control_frame(self) -> None:
        self._control_frames_left -= 1
        if self._control_frames_left < 0:
            now = self.loop.time()
            if now - self._control_frames_since < CONTROL_FRAMES_SECONDS:
                raise Http2ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "too many control frames")
            self._control_frames_left, self._control_frames_since = CONTROL_FRAMES_MAX, now

    # Handlers.

    def _start_handler(self, stream: Http2Stream, head: RequestHead) -> None:
        task = self.loop.create_task(self._answer(stream, head))
        stream.handler_task = task
        self._handler_tasks[task] = None
        task.add_done_callback(self._note_handler_done)

    def _note_handler_done(self, task: asyncio.Task[None]) -> None:
        del self._handler_tasks[task]
        while self._waiting and len(self._handler_tasks) < STREAMS_MAX:
            stream, head = self._waiting.popleft()
            if not stream.is_closed:
                self._start_handler(stream, head)

    async def _answer(self, stream: Http2Stream, head: RequestHead) -> None:
        writer = Http2StreamWriter(stream)
        task = stream.handler_task
        assert task is not None
        request = Http2Request(
            head.message, stream.body or EMPTY_PAYLOAD, cast(web.RequestHandler, stream), writer, task, self.loop
        )
        stream.request = request
        try:
            try:
                response = await self._handler(request)
            except web.HTTPException as error:
                response = error
            await response.prepare(request)
            await response.write_eof()
        except asyncio.CancelledError:
            stream.reset(ErrorCode.INTERNAL_ERROR)
            raise
        except ConnectionError:
            _LOG.debug("%s %s: the client has closed the stream", request.method, request.path)
            stream.reset(ErrorCode.INTERNAL_ERROR)
        except Exception:  # a bug ends its own stream only
            _LOG.exception("%s %s: no response", request.method, request.path)
            stream.reset(ErrorCode.INTERNAL_ERROR)
        finally:
            stream.handler_task = stream.request = None  # break the reference cycles

    # Frames of the server.

    def send_message(
        self, stream_id: int, head: bytes | None, data: bytes | bytearray | memoryview, *, end: bool
    ) -> None:  # hot: per response and per watch event
        """Write a header block, if there is one, and data that fits into one frame and the windows."""
        if head is not None:
            self.send_head(stream_id, head, end=end and not data)
            if not data:
                return
        size = len(data)
        self._output.append(frames.encode_header(frames.DATA, frames.END_STREAM if end else 0, stream_id, size))
        self._window_updates_left += 2 + (size >> 10)
        self._write(data)

    def send_head(self, stream_id: int, block: bytes, *, end: bool) -> None:
        """Write a header block."""
        if self._block_prefix:
            block, self._block_prefix = self._block_prefix + block, b""
        self._write(frames.encode_header_block(stream_id, block, end_stream=end, frame_bytes_max=self.frame_bytes_max))

    def send_rst_stream(self, stream_id: int, code: ErrorCode) -> None:
        """Write a RST_STREAM frame, and ignore what the client sends on that stream."""
        self._reset_stream_ids.append(stream_id)
        self._write_control(frames.encode_rst_stream(stream_id, code))

    def send_stream_credit(self, stream_id: int, increment: int) -> None:
        """Let the client send more of a request body."""
        self._write_control(frames.encode_window_update(stream_id, increment))

    def return_credit(self, count: int) -> None:
        """Let the client send more data on the connection as a whole."""
        self._credit_owed += count
        if self._credit_owed >= _CREDIT_BYTES_MIN:
            owed, self._credit_owed = self._credit_owed, 0
            self._receive_window += owed
            self._write_control(frames.encode_window_update(0, owed))

    def _write_control(self, frame: bytes) -> None:
        if self.is_write_paused:
            self._queued_control_frames += 1
            if self._queued_control_frames > QUEUED_CONTROL_FRAMES_MAX and self._transport is not None:
                self._transport.abort()  # it would not read a GOAWAY frame either
                return
        self._write(frame)

    def _write(self, data: bytes | bytearray | memoryview) -> None:
        """Collect output; all frames of one turn of the event loop become one write, and one TLS record."""
        output = self._output
        output.append(data)
        if not self._output_bytes:
            self.loop.call_soon(self._flush)
        self._output_bytes += len(data)
        if self._output_bytes >= _COLLECTED_BYTES_MAX:
            self._flush()

    def _flush(self) -> None:
        output = self._output
        if output:
            data = b"".join(output)
            output.clear()
            self._output_bytes = 0
            if self._transport is not None and not self._transport.is_closing():
                self._transport.write(data)

    def _wake_blocked(self) -> None:
        for stream in list(self.blocked):
            stream.wake()

    # The end of streams and of the connection.

    def forget_stream(self, stream: Http2Stream) -> None:
        """Remove a closed stream; the last one ends a connection that goes away."""
        self._streams.pop(stream.stream_id, None)
        if not self._streams:
            self._idle_since = self.loop.time()
            if self._goaway is not None:
                self._close_soon()

    def go_away(self) -> None:
        """Accept no further streams; close the connection after the last one."""
        if self._goaway is not None or self._transport is None:
            return
        self._goaway = ErrorCode.NO_ERROR
        self._write_control(frames.encode_goaway(self._last_stream_id, ErrorCode.NO_ERROR, ""))
        if not self._streams:
            self._close_soon()

    def _fail(self, error: Http2ConnectionError) -> None:
        """End the connection because of an error of the client."""
        _LOG.debug("HTTP/2 connection of %s: %s", self.peername, error)
        self._goaway = error.code
        self._buffer.clear()
        self._block = None
        self._cancel_streams(str(error))
        self._write_control(frames.encode_goaway(self._last_stream_id, error.code, str(error)))
        self._close_soon()

    def _close_soon(self) -> None:
        if self._close_timer is None and self._transport is not None:
            self._close_timer = self.loop.call_later(GOAWAY_SECONDS, self.close)

    def close(self) -> None:
        """Close the connection after the output so far."""
        self._flush()
        if self._transport is not None:
            self._transport.close()

    def _cancel_streams(self, reason: str) -> None:
        self._waiting.clear()
        for stream in list(self._streams.values()):
            stream.cancel(reason)

    async def shutdown(self, seconds: float) -> None:
        """Wait for open streams, cancel the rest, and close the connection; each of the two waits takes this long."""
        self.go_away()
        if self._handler_tasks:
            await asyncio.wait(self._handler_tasks, timeout=seconds)
        for task in list(self._handler_tasks):
            task.cancel()
        if self._handler_tasks:
            await asyncio.wait(self._handler_tasks, timeout=seconds)
        self.close()

    # Timers.

    def _update_progress_timer(self) -> None:
        """Give a frame or header block that has begun a time to be completed."""
        is_waiting = self._block is not None or (bool(self._buffer) and not self._is_inside_data)
        if not self._has_settings or is_waiting == (self._progress_timer is not None):
            return
        if is_waiting:
            self._progress_timer = self.loop.call_later(HEADER_SECONDS_MAX, self._end_slow_client)
        elif self._progress_timer is not None:
            self._progress_timer.cancel()
            self._progress_timer = None

    def _end_slow_client(self) -> None:
        self._fail(Http2ConnectionError(ErrorCode.SETTINGS_TIMEOUT, "the client took too long"))
        self.close()

    def _end_if_idle(self) -> None:
        left = self._idle_seconds_max
        if not self._streams:
            left += self._idle_since - self.loop.time()
            if left <= 0:
                self.go_away()
                return
        self._idle_timer = self.loop.call_later(left, self._end_if_idle)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return information about the transport."""
        return default if self._transport is None else self._transport.get_extra_info(name, default)


def _find_weak_cipher(transport: asyncio.BaseTransport) -> str | None:
    """Return the cipher of a connection if HTTP/2 prohibits it (RFC 9113, appendix A)."""
    cipher: tuple[str, str, int] | None = transport.get_extra_info("cipher")
    if cipher is None or cipher[1] == "TLSv1.3":
        return None
    name = cipher[0]
    return None if name.startswith(("ECDHE-", "DHE-")) and ("GCM" in name or "CHACHA20" in name) else name
