"""Frames of SPDY/3.1."""

import struct
import zlib

import pytest

from mockkube.apiserver.http.streaming.spdy_frames import (
    CONTROL_BYTES_MAX,
    DATA_BYTES_MAX,
    DICTIONARY,
    ControlFrame,
    DataFrame,
    FrameDecoder,
    FrameEncoder,
    FrameType,
    MalformedFrame,
)


def make_syn_stream(headers: bytes) -> bytes:
    payload = struct.pack(">IIH", 1, 0, 0) + headers
    return struct.pack(">II", 0x8003_0001, len(payload)) + payload


def test_the_dictionary_is_that_of_the_protocol():
    # The checksum that zlib puts into the head of a stream is that of the dictionary.
    assert len(DICTIONARY) == 1423
    assert zlib.compressobj(zdict=DICTIONARY).compress(b"")[2:6] == bytes.fromhex("e3c6a7c2")


def test_frames_that_arrive_in_pieces_are_whole():
    encoder, decoder = FrameEncoder(), FrameDecoder()
    sent = encoder.encode_headers(FrameType.SYN_STREAM, 1, {"streamtype": "error"})
    sent += encoder.encode_headers(FrameType.SYN_STREAM, 3, {"streamtype": "stdin", "port": "80"})
    sent += encoder.encode_data(3, b"text", is_last=True) + encoder.encode_control(FrameType.PING, 5)
    frames = [frame for at in range(len(sent)) for frame in decoder.feed(sent[at : at + 1])]
    assert frames == [
        ControlFrame(FrameType.SYN_STREAM, 1, headers={"streamtype": "error"}),
        ControlFrame(FrameType.SYN_STREAM, 3, headers={"streamtype": "stdin", "port": "80"}),
        DataFrame(3, b"text", is_last=True),
        ControlFrame(FrameType.PING, 5, content=b"\x00\x00\x00\x05"),
    ]


def test_long_data_is_divided_and_ends_once():
    frames = FrameDecoder().feed(FrameEncoder().encode_data(1, b"x" * (DATA_BYTES_MAX + 1), is_last=True))
    assert [(len(frame.data), frame.is_last) for frame in frames] == [(DATA_BYTES_MAX, False), (1, True)]


def test_header_names_are_lower_case():
    (frame,) = FrameDecoder().feed(FrameEncoder().encode_headers(FrameType.SYN_STREAM, 1, {"StreamType": "Data"}))
    assert frame.headers == {"streamtype": "Data"}


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="HTTP"),
        pytest.param(struct.pack(">II", 0x8002_0001, 4) + bytes(4), id="SPDY/2"),
        pytest.param(struct.pack(">II", 0x8003_0001, CONTROL_BYTES_MAX + 1), id="a long control frame"),
        pytest.param(struct.pack(">II", 1, 0xFF_FFFF), id="a long data frame"),
        pytest.param(struct.pack(">II", 0x8003_0001, 4) + bytes(4), id="a short frame"),
        pytest.param(make_syn_stream(b"no zlib"), id="headers that are not compressed"),
    ],
)
def test_what_is_no_frame_is_refused(sent):
    with pytest.raises(MalformedFrame):
        FrameDecoder().feed(sent)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(bytes(CONTROL_BYTES_MAX * 100), id="a bomb"),
        pytest.param(struct.pack(">I", 0xFFFF_FFFF), id="too many headers"),
        pytest.param(struct.pack(">II", 1, 0xFFFF_FFFF), id="a name without end"),
    ],
)
def test_headers_are_bounded(text):
    deflate = zlib.compressobj(zdict=DICTIONARY)
    block = deflate.compress(text) + deflate.flush(zlib.Z_SYNC_FLUSH)
    with pytest.raises(MalformedFrame):
        FrameDecoder().feed(make_syn_stream(block))
