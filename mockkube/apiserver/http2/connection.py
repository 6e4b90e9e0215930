"""One HTTP/2 connection: processes frames, and starts a handler for each stream (RFC 9113).

States, limits and error codes are those of golang.org/x/net/http2, on which the real API server is built.
"""

# upstream 1.36: golang.org/x/net/http2/server.go, apiserver/pkg/server/secure_serving.go
import asyncio
import logging
import ssl
from collections import deque
from collections.abc import Callable
from typing import Any, Final, cast

from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.tcp_helpers import tcp_keepalive, tcp_nodelay
from multidict import CIMultiDict

from mockkube.apiserver.http import connections, web
from mockkube.apiserver.http.connections import Http2Request, HttpHandler
from mockkube.apiserver.http2 import frames
from mockkube.apiserver.http2.errors import ErrorCode, Http2ConnectionError, Http2StreamError
from mockkube.apiserver.http2.frame_limits import FrameLimits
from mockkube.apiserver.http2.frame_reader import FRAME_BYTES_MAX, FrameReader, ProgressTimer
from mockkube.apiserver.http2.frame_writer import COLLECTED_BYTES_MAX, FrameWriter
from mockkube.apiserver.http2.header_decoder import HeaderBlockError
from mockkube.apiserver.http2.header_encoder import encode_response_headers
from mockkube.apiserver.http2.request_head import LIST_BYTES_MAX, MalformedRequest, RequestHead, RequestHeadReader
from mockkube.apiserver.http2.stream import RECEIVE_WINDOW, Http2Stream
from mockkube.apiserver.http2.stream_writer import Http2StreamWriter

# Streams that may be open at once, and handlers that may run: a stream that was reset may leave its handler running.
STREAMS_MAX: Final = 100
# Requests that wait for such a handler; a client that resets streams faster than handlers end is disconnected.
WAITING_REQUESTS_MAX: Final = 4 * STREAMS_MAX
# Bytes of request bodies that all streams together may send before handlers read.
RECEIVE_WINDOW_OF_CONNECTION: Final = STREAMS_MAX * RECEIVE_WINDOW
# A smaller part of a body costs more memory than its bytes; the last part may be small.
SMALL_DATA_BYTES: Final = 64
PREFACE_SECONDS_MAX: Final = 10.0
SETTINGS_MAX: Final = 100
# Time for the client to read a GOAWAY frame: closing at once could discard it together with unread input.
GOAWAY_SECONDS: Final = 1.0
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
        self._limits = FrameLimits(loop)
        self._reader = FrameReader(self)
        self._heads = RequestHeadReader()
        self.output = FrameWriter(loop, self._limits)
        self.ssl_context: ssl.SSLContext | None = None
        self.peername: Any = None
        self.sockname: Any = None
        self._streams: dict[int, Http2Stream] = {}
        self._last_stream_id = 0
        # Streams that this side has reset: what the client has sent before it could know is ignored.
        self._reset_stream_ids: deque[int] = deque(maxlen=STREAMS_MAX)
        self._handler_tasks: dict[asyncio.Task[None], None] = {}
        self._waiting: deque[tuple[Http2Stream, RequestHead]] = deque()
        self.blocked: dict[Http2Stream, None] = {}
        """Streams whose response waits for the client, those that wait longest first."""
        self._unacknowledged_settings = 1
        self._initial_send_window = frames.WINDOW_DEFAULT
        self._receive_window = RECEIVE_WINDOW_OF_CONNECTION
        self._credit_owed = 0
        self._goaway: ErrorCode | None = None
        self._progress_timer = ProgressTimer(loop, self._end_slow_client)
        self._idle_timer: asyncio.TimerHandle | None = None
        self._close_timer: asyncio.TimerHandle | None = None
        self._idle_since = loop.time()

    # Events of the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the settings, and start the timer for those of the client."""
        self.output.transport = stream_transport = cast(asyncio.Transport, transport)
        tcp_nodelay(stream_transport, True)
        tcp_keepalive(stream_transport)
        self.ssl_context = transport.get_extra_info("sslcontext")
        self.peername = transport.get_extra_info("peername")
        self.sockname = transport.get_extra_info("sockname")
        self.output.send_control(_OUR_SETTINGS)
        self._progress_timer.start(PREFACE_SECONDS_MAX)
        self._idle_timer = self.loop.call_later(self._idle_seconds_max, self._end_if_idle)
        cipher = transport.get_extra_info("cipher")
        if cipher is not None and is_prohibited_cipher(*cipher[:2]):
            self._fail(Http2ConnectionError(ErrorCode.INADEQUATE_SECURITY, f"prohibited TLS 1.2 cipher {cipher[0]}"))

    def connection_lost(self, exc: Exception | None) -> None:
        """End all streams and timers."""
        self.output.transport = None
        self._reader.stop()
        self._progress_timer.stop()
        for timer in (self._idle_timer, self._close_timer):
            if timer is not None:
                timer.cancel()
        self._cancel_streams("the connection is closed")
        self._on_lost(self)

    def pause_writing(self) -> None:
        """Hold responses until the client reads."""
        self.output.is_paused = True

    def resume_writing(self) -> None:
        """Let responses go on."""
        self.output.resume()
        self.wake_blocked()

    def data_received(self, data: bytes) -> None:  # hot: per read from the socket
        """Process the frames that are complete."""
        try:
            self._reader.feed(data)
        except Http2ConnectionError as error:
            self._fail(error)
        else:
            if self._reader.is_waiting:
                self._progress_timer.start(connections.HEADER_SECONDS_MAX)
            else:
                self._progress_timer.stop()

    @property
    def transport(self) -> asyncio.Transport | None:
        """Transport of the connection while it is open."""
        return self.output.transport

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return information about the transport."""
        transport = self.output.transport
        return default if transport is None else transport.get_extra_info(name, default)

    # Frames of the client.

    def process_block(self, flags: int, stream_id: int, block: bytes, dependency: int) -> None:  # hot: per request
        """Process a header block: a request, or trailers."""
        if not stream_id & 1:
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "HEADERS on a stream that no client can open")
        try:
            # Every block is decoded, also that of an ignored request: the next one may refer to its fields.
            if stream_id > self._last_stream_id:
                self._process_request(flags, stream_id, block)
            else:
                self._process_trailers(flags, stream_id, block)
            if dependency == stream_id:
                raise Http2StreamError(stream_id, ErrorCode.PROTOCOL_ERROR, "a stream that depends on itself")
        except HeaderBlockError as error:
            raise Http2ConnectionError(ErrorCode.COMPRESSION_ERROR, str(error)) from error
        except MalformedRequest as error:
            self._reset_stream(Http2StreamError(stream_id, ErrorCode.PROTOCOL_ERROR, str(error)))
        except Http2StreamError as error:
            self._reset_stream(error)

    def _process_request(self, flags: int, stream_id: int, block: bytes) -> None:
        if self._goaway is None:
            self._last_stream_id = stream_id
        head = self._heads.read(block)
        has_body = not flags & frames.END_STREAM
        if self._goaway is not None:
            return
        if len(self._streams) >= STREAMS_MAX:
            # A client that has seen the limit knows better; another may try again.
            code = ErrorCode.REFUSED_STREAM if self._unacknowledged_settings else ErrorCode.PROTOCOL_ERROR
            raise Http2StreamError(stream_id, code, "more streams than allowed")
        if head is None:
            self._refuse(stream_id, 431, "431 Request Header Fields Too Large", has_body=has_body)
        elif head.error:
            self._refuse(stream_id, 400, head.error, has_body=has_body)
        elif head.content_length and not has_body:
            raise Http2StreamError(stream_id, ErrorCode.PROTOCOL_ERROR, "content-length without a body")
        else:
            self._open_stream(stream_id, head, has_body=has_body)

    def _process_trailers(self, flags: int, stream_id: int, block: bytes) -> None:
        self._heads.read_trailers(block)
        stream = self._streams.get(stream_id)
        if stream is None:
            if stream_id not in self._reset_stream_ids:
                raise Http2ConnectionError(ErrorCode.STREAM_CLOSED, "HEADERS on a closed stream")
        elif stream.is_remote_closed:
            raise Http2StreamError(stream_id, ErrorCode.STREAM_CLOSED, "HEADERS after the end of the request")
        elif not flags & frames.END_STREAM:
            raise Http2StreamError(stream_id, ErrorCode.PROTOCOL_ERROR, "trailers that do not end the stream")
        else:
            stream.end_body()

    def process_frame(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        """Process a frame that is not part of a header block."""
        try:
            match kind:
                case frames.DATA:
                    self._process_data(flags, stream_id, payload)
                case frames.WINDOW_UPDATE:
                    self._process_window_update(stream_id, payload)
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
                    self._limits.count_control_frame()
        except Http2StreamError as error:
            self._reset_stream(error)

    def _process_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        frame_bytes = len(payload)
        if flags & frames.PADDED:
            payload = frames.strip_padding(payload)
        self._receive_window -= frame_bytes
        if self._receive_window < 0:
            raise Http2ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "more data than the window allows")
        is_last = bool(flags & frames.END_STREAM)
        if len(payload) < SMALL_DATA_BYTES and not is_last:
            self._limits.count_control_frame()
        stream = self._streams.get(stream_id)
        if stream is not None and not stream.is_remote_closed:
            stream.receive_data(payload, frame_bytes, end=is_last)
            return
        self._check_not_idle(stream_id)
        self.return_credit(frame_bytes)
        self._limits.count_control_frame()
        if stream_id <= self._last_stream_id and stream_id not in self._reset_stream_ids:
            raise Http2StreamError(stream_id, ErrorCode.STREAM_CLOSED, "DATA on a closed stream")

    def _process_window_update(self, stream_id: int, payload: bytes) -> None:
        self._limits.count_window_update()
        if len(payload) != 4:
            raise Http2ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "WINDOW_UPDATE of a wrong size")
        increment = frames.decode_number(payload) & frames.WINDOW_LIMIT
        if stream_id:
            self._check_not_idle(stream_id)
            if (stream := self._streams.get(stream_id)) is not None:
                stream.receive_credit(increment)
            return
        if increment == 0:
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE by nothing")
        self.output.window += increment
        if self.output.window > frames.WINDOW_LIMIT:
            raise Http2ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "a window that is too large")
        self.wake_blocked()

    def _process_rst_stream(self, stream_id: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise Http2ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "RST_STREAM of a wrong size")
        self._check_not_idle(stream_id)
        self._limits.count_control_frame()
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
        self._limits.count_control_frame()
        settings = frames.decode_settings(payload)
        if len(settings) > SETTINGS_MAX or len({name for name, _ in settings}) != len(settings):
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "too many or repeated settings")
        for name, value in settings:
            self._apply_setting(name, value)
        self.output.send_control(_SETTINGS_ACK)

    def _apply_setting(self, name: int, value: int) -> None:
        match name:
            case frames.SETTINGS_HEADER_TABLE_SIZE:
                self.output.limit_header_table(value)
            case frames.SETTINGS_INITIAL_WINDOW_SIZE:
                self._resize_send_windows(value)
            case frames.SETTINGS_MAX_FRAME_SIZE:
                if not frames.FRAME_BYTES_DEFAULT <= value <= frames.FRAME_BYTES_LIMIT:
                    raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "a frame size out of bounds")
                self.output.limit_frame_bytes(value)
            case frames.SETTINGS_ENABLE_PUSH | frames.SETTINGS_NO_RFC7540_PRIORITIES if value > 1:
                raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "a setting that is neither 0 nor 1")

    def _resize_send_windows(self, window: int) -> None:
        growth = window - self._initial_send_window
        self._initial_send_window = window
        for stream in self._streams.values():
            stream.send_window += growth
        if max([window, *(stream.send_window for stream in self._streams.values())]) > frames.WINDOW_LIMIT:
            raise Http2ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "a window that is too large")
        self.wake_blocked()

    def _process_ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != 8:
            raise Http2ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "PING of a wrong size")
        if stream_id:
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "PING on a stream")
        self._limits.count_control_frame()
        if not flags & frames.ACK:
            self.output.send_control(frames.encode_ping_ack(payload))

    def _process_priority(self, stream_id: int, payload: bytes) -> None:
        if not stream_id:
            raise Http2ConnectionError(ErrorCode.PROTOCOL_ERROR, "PRIORITY without a stream")
        self._limits.count_control_frame()
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

    # Requests and their handlers.

    def _open_stream(self, stream_id: int, head: RequestHead, *, has_body: bool) -> None:
        stream = Http2Stream(self, stream_id, head, self._initial_send_window)
        if has_body:
            stream.open_body(head)
        self._streams[stream_id] = stream
        if len(self._handler_tasks) < STREAMS_MAX:
            self._start_handler(stream, head)
        elif len(self._waiting) < WAITING_REQUESTS_MAX:
            self._waiting.append((stream, head))
        else:
            raise Http2ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "too many streams were reset early")

    def _refuse(self, stream_id: int, status: int, text: str, *, has_body: bool) -> None:
        """Answer a request that cannot be passed on; without a body if the client accepts none at once."""
        body = text.encode() + b"\n"
        if len(body) > min(self._initial_send_window, self.output.window):
            body = b""
        self.output.send_message(stream_id, encode_response_headers(status, _TEXT_HEADERS), body, end=True)
        if has_body:
            self.send_rst_stream(stream_id, ErrorCode.NO_ERROR)

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
        """Pass a request to the handler and send its response."""
        task = stream.handler_task
        assert task is not None
        protocol, writer = cast(web.RequestHandler, stream), Http2StreamWriter(stream)
        request = Http2Request(head.message, stream.body or EMPTY_PAYLOAD, protocol, writer, task, self.loop)
        stream.request = request
        try:
            try:
                response = await self._handler(request)
            except web.HTTPException as error:
                response = error
            await response.prepare(request)
            await response.write_eof()
        except ConnectionError:
            _LOG.debug("%s %s: the client has closed the stream", request.method, request.path)
        except Exception:  # a bug ends its own stream only
            _LOG.exception("%s %s: no response", request.method, request.path)
        finally:
            stream.reset(ErrorCode.INTERNAL_ERROR)  # unless the response has been sent
            stream.handler_task = stream.request = None  # they refer to each other

    # The end of streams and of the connection.

    def _reset_stream(self, error: Http2StreamError) -> None:
        _LOG.debug("HTTP/2 stream %d of %s: %s", error.stream_id, self.peername, error)
        self._limits.count_control_frame()  # a client can have its streams reset as fast as it can reset them
        self.send_rst_stream(error.stream_id, error.code)
        if (stream := self._streams.get(error.stream_id)) is not None:
            stream.cancel(str(error))

    def send_rst_stream(self, stream_id: int, code: ErrorCode) -> None:
        """Write a RST_STREAM frame, and ignore what the client sends on that stream."""
        self._reset_stream_ids.append(stream_id)
        self.output.send_control(frames.encode_rst_stream(stream_id, code))

    def return_credit(self, count: int) -> None:
        """Let the client send more data on the connection as a whole."""
        self._credit_owed += count
        if self._credit_owed >= _CREDIT_BYTES_MIN:
            owed, self._credit_owed = self._credit_owed, 0
            self._receive_window += owed
            self.output.send_control(frames.encode_window_update(0, owed))

    def forget_stream(self, stream: Http2Stream) -> None:
        """Remove a closed stream; the last one ends a connection that goes away."""
        self._streams.pop(stream.stream_id, None)
        if not self._streams:
            self._idle_since = self.loop.time()
            if self._goaway is not None:
                self._close_soon()

    def wake_blocked(self) -> None:
        """Wake as many waiting responses as there is room for; each of them wakes others when it needs no more.

        With a small window and many streams, waking all of them for each bit of credit would be most of the work.
        """
        if self.output.is_paused:
            return
        room = min(self.output.window, COLLECTED_BYTES_MAX)
        for stream in self.blocked:
            if room <= 0:
                return
            if stream.can_send:
                stream.wake()
                room -= self.output.frame_bytes_max

    def _cancel_streams(self, reason: str) -> None:
        self._waiting.clear()
        for stream in list(self._streams.values()):
            stream.cancel(reason)

    def go_away(self) -> None:
        """Accept no further streams; close the connection after the last one."""
        if self._goaway is None:
            self._goaway = ErrorCode.NO_ERROR
            self.output.send_control(frames.encode_goaway(self._last_stream_id, ErrorCode.NO_ERROR, ""))
            if not self._streams:
                self._close_soon()

    def _fail(self, error: Http2ConnectionError) -> None:
        """End the connection because of an error of the client."""
        _LOG.debug("HTTP/2 connection of %s: %s", self.peername, error)
        self._goaway = error.code
        self._reader.stop()
        self._progress_timer.stop()
        self._cancel_streams(str(error))
        self.output.send_control(frames.encode_goaway(self._last_stream_id, error.code, str(error)))
        self._close_soon()

    def _close_soon(self) -> None:
        if self._close_timer is None and self.output.transport is not None:
            self._close_timer = self.loop.call_later(GOAWAY_SECONDS, self.output.close)

    async def shutdown(self, seconds: float) -> None:
        """Wait for open streams, cancel the rest, and close the connection; each of the two waits takes this long."""
        self.go_away()
        if self._handler_tasks:
            await asyncio.wait(self._handler_tasks, timeout=seconds)
        for task in list(self._handler_tasks):
            task.cancel()
        if self._handler_tasks:
            await asyncio.wait(self._handler_tasks, timeout=seconds)
        self.output.close()

    def _end_slow_client(self) -> None:
        self._fail(Http2ConnectionError(ErrorCode.SETTINGS_TIMEOUT, "the client took too long"))
        self.output.close()

    def _end_if_idle(self) -> None:
        left = self._idle_seconds_max
        if not self._streams:
            left += self._idle_since - self.loop.time()
            if left <= 0:
                self.go_away()
                return
        self._idle_timer = self.loop.call_later(left, self._end_if_idle)


def is_prohibited_cipher(name: str, protocol: str) -> bool:
    """Return whether HTTP/2 prohibits a cipher (RFC 9113, appendix A)."""
    if protocol == "TLSv1.3":
        return False
    return not (name.startswith(("ECDHE-", "DHE-")) and ("GCM" in name or "CHACHA20" in name))
