"""gRPC of the etcd client, without a server: frames in any parts, windows, limits, and what a server may do wrong."""

import asyncio
import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mockkube_storage.encoding import Malformed
from mockkube_storage.etcd import grpc, http2, messages
from mockkube_storage.etcd.grpc import GrpcConnection, GrpcError, frame_message
from mockkube_storage.etcd.http2 import encode_frame, encode_headers
from mockkube_storage.etcd.protobuf import decode_fields, encode_bytes, encode_int, to_int64

HEADERS = encode_headers([(b":status", b"200"), (b"content-type", b"application/grpc")])
TRAILERS = encode_headers([(b"grpc-status", b"0")])
METHOD = "/service/Method"


class Transport(asyncio.Transport):
    """Keeps what is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)

    def abort(self) -> None:
        self.aborted = True

    def is_closing(self) -> bool:
        return self.aborted

    def frames(self) -> list[tuple[int, int, int, bytes]]:
        """Type, flags, stream and payload of all frames after the preface."""
        data, found = self.sent.partition(b"SM\r\n\r\n")[2], []
        while data:
            high, low, kind, flags, stream_id = struct.unpack_from(">HBBBI", data)
            end = 9 + (high << 8 | low)
            found.append((kind, flags, stream_id, data[9:end]))
            data = data[end:]
        return found

    def body(self, stream_id: int) -> bytes:
        return b"".join(frame[3] for frame in self.frames() if frame[0] == http2.DATA and frame[2] == stream_id)


@pytest.fixture
async def transport() -> Transport:
    return Transport()


@pytest.fixture
async def connection(transport: Transport) -> GrpcConnection:
    made = GrpcConnection("etcd:2379", tls=False)
    made.connection_made(transport)
    return made


def respond(stream_id: int, message: bytes, *, trailers: bytes = TRAILERS) -> bytes:
    return (
        encode_frame(http2.HEADERS, http2.END_HEADERS, stream_id, HEADERS)
        + encode_frame(http2.DATA, 0, stream_id, frame_message(message))
        + encode_frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, stream_id, trailers)
    )


async def test_a_response_may_arrive_in_any_parts(connection: GrpcConnection) -> None:
    for number, size in enumerate((1, 2, 7, 1000)):
        answer = connection.call(METHOD, b"question")
        data = encode_frame(http2.SETTINGS, 0, 0, b"") + respond(2 * number + 1, b"answer" * 20)
        for start in range(0, len(data), size):
            connection.data_received(data[start : start + size])
        assert await answer == b"answer" * 20


async def test_a_request_waits_for_the_windows_of_the_server(connection: GrpcConnection, transport: Transport) -> None:
    body = bytes(range(256)) * 1000
    connection.call(METHOD, body)
    await asyncio.sleep(0)
    assert len(transport.body(1)) == http2.WINDOW_DEFAULT
    connection.data_received(encode_frame(http2.WINDOW_UPDATE, 0, 1, struct.pack(">I", 1_000_000)))
    await asyncio.sleep(0)
    assert len(transport.body(1)) == http2.WINDOW_DEFAULT
    connection.data_received(encode_frame(http2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 100_000)))
    await asyncio.sleep(0)
    assert len(transport.body(1)) == http2.WINDOW_DEFAULT + 100_000
    connection.data_received(encode_frame(http2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 1_000_000)))
    await asyncio.sleep(0)
    assert transport.body(1) == frame_message(body)
    assert [frame[1] for frame in transport.frames() if frame[0] == http2.DATA][-1] == http2.END_STREAM


async def test_no_more_streams_are_open_than_the_server_allows(
    connection: GrpcConnection, transport: Transport
) -> None:
    setting = struct.pack(">HI", http2.SETTINGS_MAX_CONCURRENT_STREAMS, 2)
    connection.data_received(encode_frame(http2.SETTINGS, 0, 0, setting))
    answers = [connection.call(METHOD, b"%d" % n) for n in range(4)]
    await asyncio.sleep(0)
    assert {frame[2] for frame in transport.frames() if frame[0] == http2.HEADERS} == {1, 3}
    for stream_id in (3, 1, 5, 7):
        connection.data_received(respond(stream_id, b"%d" % stream_id))
    assert [await answer for answer in answers] == [b"1", b"3", b"5", b"7"]


async def test_an_error_of_the_server_has_its_code_and_message(connection: GrpcConnection) -> None:
    answer = connection.call(METHOD, b"")
    trailers = encode_headers(
        [(b":status", b"200"), (b"grpc-status", b"14"), (b"grpc-message", b"no%20leader: 100%25")]
    )
    connection.data_received(encode_frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, 1, trailers))
    with pytest.raises(GrpcError, match="no leader: 100%") as caught:
        await answer
    assert caught.value.code == grpc.UNAVAILABLE
    assert not connection.closed.is_set()


async def test_a_response_that_is_no_grpc_is_an_error(connection: GrpcConnection) -> None:
    answer = connection.call(METHOD, b"")
    fields = encode_headers([(b":status", b"404")])
    connection.data_received(encode_frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, 1, fields))
    with pytest.raises(GrpcError, match="HTTP status 404"):
        await answer


async def test_a_stream_hands_over_messages_as_they_complete(connection: GrpcConnection, transport: Transport) -> None:
    received: list[bytes] = []
    ended: list[GrpcError | None] = []
    stream = connection.open_stream(METHOD, b"begin", received.append, ended.append)
    data = frame_message(b"one") + frame_message(b"") + frame_message(b"three" * 100)
    connection.data_received(encode_frame(http2.HEADERS, http2.END_HEADERS, 1, HEADERS))
    for start in range(0, len(data), 9):
        connection.data_received(encode_frame(http2.DATA, 0, 1, data[start : start + 9]))
    assert received == [b"one", b"", b"three" * 100]
    stream.cancel()
    connection.data_received(encode_frame(http2.DATA, 0, 1, frame_message(b"late")))
    await asyncio.sleep(0)
    assert len(received) == 3
    assert transport.frames()[-1][0] == http2.RST_STREAM
    assert ended == []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(encode_frame(http2.GOAWAY, 0, 0, bytes(8) + b"bye"), "closes the connection: bye", id="GOAWAY"),
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", "violates HTTP/2", id="HTTP/1.1"),
        pytest.param(encode_frame(http2.DATA, http2.PADDED, 1, b"\xff"), "padding", id="padding"),
        pytest.param(encode_frame(http2.DATA, http2.PADDED, 1, b""), "violates HTTP/2", id="no padding length"),
        pytest.param(encode_frame(http2.HEADERS, http2.END_HEADERS, 1, b"\xff\xff\xff"), "violates", id="headers"),
        pytest.param(encode_frame(http2.HEADERS, 0, 1, b"") * 2, "not continued", id="continuation"),
        pytest.param(encode_frame(http2.CONTINUATION, 0, 1, b""), "CONTINUATION", id="continuation of nothing"),
        pytest.param(encode_frame(http2.PUSH_PROMISE, 0, 1, b""), "PUSH_PROMISE", id="push"),
        pytest.param(encode_frame(http2.SETTINGS, 0, 0, b"\0"), "violates", id="settings"),
        pytest.param(encode_frame(http2.WINDOW_UPDATE, 0, 0, b""), "violates", id="window update"),
    ],
)
async def test_what_a_server_does_wrong_ends_all_calls_with_the_reason(
    connection: GrpcConnection, transport: Transport, data: bytes, reason: str
) -> None:
    answer = connection.call(METHOD, b"")
    connection.data_received(data)
    with pytest.raises(GrpcError, match=reason):
        await answer
    assert transport.aborted
    with pytest.raises(GrpcError, match=reason):
        await connection.call(METHOD, b"")


async def test_a_reset_stream_ends_its_call_alone(connection: GrpcConnection) -> None:
    first, second = connection.call(METHOD, b""), connection.call(METHOD, b"")
    connection.data_received(encode_frame(http2.RST_STREAM, 0, 1, struct.pack(">I", 7)))
    connection.data_received(respond(3, b"fine"))
    with pytest.raises(GrpcError, match="reset the stream with code 7"):
        await first
    assert await second == b"fine"


async def test_header_blocks_that_use_a_dynamic_table_are_decoded_each_time(connection: GrpcConnection) -> None:
    # The server ignores that the client wants no table: one added field, then a reference to the newest one.
    added = [b"\x40" + b"\x0bgrpc-status" + b"\x010", b"\x40" + b"\x0bgrpc-status" + b"\x015"]
    for number, block in enumerate([added[0], b"\xbe", added[1], b"\xbe"]):
        answer = connection.call(METHOD, b"")
        stream_id = 2 * number + 1
        connection.data_received(respond(stream_id, b"x", trailers=block))
        assert (answer.exception() is None) == (number < 2)


MESSAGES: list[tuple[Callable[[bytes], object], bytes]] = [
    (messages.decode_txn, encode_bytes(1, encode_int(1, 2**63) + encode_int(3, 7)) + encode_int(2, 1)),
    (messages.decode_range, encode_bytes(2, encode_bytes(1, b"k") + encode_int(3, 5)) + encode_int(4, 300)),
    (messages.decode_watch, encode_int(3, 1) + encode_bytes(11, encode_bytes(2, encode_bytes(1, b"k") * 40))),
]


@pytest.mark.parametrize(("decode", "data"), MESSAGES)
def test_a_message_that_is_cut_off_is_malformed_or_shorter(decode: Callable[[bytes], object], data: bytes) -> None:
    whole = decode(data)
    for end in range(len(data)):
        try:
            assert decode(data[:end]) != whole
        except Malformed:
            continue


@given(st.binary(max_size=60))
def test_any_bytes_are_decoded_or_malformed(data: bytes) -> None:
    for decode in (messages.decode_txn, messages.decode_range, messages.decode_watch, messages.decode_header):
        try:
            decode(data)
        except Malformed:
            continue


@given(st.integers(-(2**63), 2**63 - 1), st.integers(1, 2000), st.binary(max_size=300))
def test_fields_are_decoded_as_they_were_encoded(number: int, field: int, value: bytes) -> None:
    found = list(decode_fields(encode_bytes(field, value) + encode_int(field, number)))
    assert found[0] == (field, 0, value)
    assert [to_int64(integer) for _, integer, _ in found[1:]] == ([number] if number else [])
