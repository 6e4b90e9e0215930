"""Header blocks: decoded as the package hpack does, encoded for any decoder, turned into requests or refused."""

import pytest
from hpack import Decoder, Encoder
from hpack.exceptions import HPACKError
from hypothesis import given, settings
from hypothesis import strategies as st
from multidict import CIMultiDict

from mockkube.apiserver.http2.header_decoder import HeaderBlockError, HeaderDecoder
from mockkube.apiserver.http2.header_encoder import encode_response_headers
from mockkube.apiserver.http2.request_head import MalformedRequest, RequestHead, RequestHeadReader, parse_head

BYTES_MAX = 1 << 20
NAMES = st.sampled_from([b":path", b"accept", b"x-a", b"x-b", b"authorization"])
VALUES = st.binary(max_size=40)
FIELDS = st.lists(st.tuples(NAMES, VALUES), max_size=8)
REQUEST = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"host:1"), (b":path", b"/api")]


@settings(deadline=None)
@given(st.lists(FIELDS, max_size=12), st.booleans())
def test_blocks_of_another_encoder_are_decoded(lists: list[list[tuple[bytes, bytes]]], huffman: bool):
    encoder, decoder = Encoder(), HeaderDecoder(BYTES_MAX, 100)
    for number, fields in enumerate(lists):
        if number == 5:
            encoder.header_table_size = 100  # announced in the next block
        assert decoder.decode(encoder.encode(fields, huffman=huffman)) == fields


@settings(deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=6))
def test_any_bytes_are_decoded_as_by_the_package_or_refused(blocks: list[bytes]):
    theirs, ours = Decoder(max_header_list_size=BYTES_MAX), HeaderDecoder(BYTES_MAX, 1000)
    for block in blocks:
        try:
            expected = [tuple(field) for field in theirs.decode(block, raw=True)]
        except HPACKError:
            with pytest.raises(HeaderBlockError):
                ours.decode(block)
            return
        assert ours.decode(block) == expected


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(b"\x80", id="index zero"),
        pytest.param(b"\xbe", id="an index beyond the table"),
        pytest.param(b"\xff\xff\xff\xff\xff\xff\x01", id="an endless index"),
        pytest.param(b"\x00\x05ab", id="a name beyond the end"),
        pytest.param(b"\x00\x01a\x7f\xff\xff\xff\x7f", id="a value of 256 megabytes"),
        pytest.param(b"\x00\x81\x00\x01a", id="a bad Huffman code"),
        pytest.param(b"\x82\x20", id="a table size after a field"),
        pytest.param(b"\x3f\xe2\x1f", id="a table size beyond the limit"),
    ],
)
def test_a_bad_block_is_refused(block: bytes):
    with pytest.raises(HeaderBlockError):
        HeaderDecoder(BYTES_MAX, 100).decode(block)


def test_a_list_beyond_the_limits_leaves_the_table_intact():
    encoder, decoder = Encoder(), HeaderDecoder(200, 3)
    assert decoder.decode(encoder.encode([(b"a", b"1" * 200), (b"b", b"2")])) is None
    assert decoder.decode(encoder.encode([(b"b", b"2")])) == [(b"b", b"2")]
    assert decoder.decode(encoder.encode([(b"b", b"2")] * 4)) is None


@settings(deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z-]{1,20}", fullmatch=True),
        st.text(st.characters(codec="latin-1", min_codepoint=32, exclude_characters="\x7f"), max_size=300),
        max_size=6,
    ),
    st.integers(100, 599),
)
def test_responses_are_decoded_by_another_decoder(headers: dict[str, str], status: int):
    hidden = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
    kept = [(name.lower(), value) for name, value in headers.items() if name.lower() not in hidden]
    block = encode_response_headers(status, CIMultiDict(headers))
    decoded = Decoder(max_header_list_size=BYTES_MAX).decode(block)
    assert decoded == [(":status", str(status)), *kept]


def test_a_header_with_a_line_break_is_not_sent():
    with pytest.raises(ValueError, match="control character"):
        encode_response_headers(200, CIMultiDict({"X-A": "b\r\nX-C: d"}))


def read(*fields: tuple[bytes, bytes]) -> RequestHead:
    return parse_head([*REQUEST, *fields])


def test_a_head_becomes_a_request():
    head = parse_head(
        [(b":method", b"PUT"), (b":scheme", b"http"), (b":authority", b"[::1]:6443"), (b":path", b"/a%2Fb//c?d=e&f"),
         (b"cookie", b"a=1"), (b"cookie", b"b=2"), (b"x-blank", b" v\t"), (b"content-length", b"12"),
         (b"expect", b"100-Continue")]
    )  # fmt: skip
    message = head.message
    assert (message.method, message.path) == ("PUT", "/a%2Fb//c?d=e&f")
    assert (message.url.raw_path, message.url.raw_query_string) == ("/a%2Fb//c", "d=e&f")
    assert dict(message.headers) == {
        "Host": "[::1]:6443",
        "Cookie": "a=1; b=2",
        "x-blank": "v",
        "content-length": "12",
    }
    assert (head.content_length, head.expects_continue, head.error) == (12, True, "")


def test_a_path_that_begins_with_two_slashes_names_no_host():
    head = parse_head([*REQUEST[:3], (b":path", b"//evil.example/api")])
    assert head.message.url.host is None
    assert head.message.url.raw_path == "//evil.example/api"


def test_the_authority_replaces_the_host_header():
    assert read((b"host", b"other")).message.headers.getall("Host") == ["host:1"]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param([], id="nothing"),
        pytest.param(REQUEST[1:], id="no method"),
        pytest.param([*REQUEST[:1], *REQUEST[2:]], id="no scheme"),
        pytest.param(REQUEST[:3], id="no path"),
        pytest.param([*REQUEST, (b":path", b"/b")], id="two paths"),
        pytest.param([*REQUEST, (b":status", b"200")], id="a pseudo-header of responses"),
        pytest.param([*REQUEST, (b":protocol", b"websocket")], id="extended CONNECT"),
        pytest.param([*REQUEST[:3], (b"a", b"b"), REQUEST[3]], id="a late pseudo-header"),
        pytest.param([*REQUEST[:3], (b":path", b"")], id="an empty path"),
        pytest.param([*REQUEST[:3], (b":path", b"api")], id="a relative path"),
        pytest.param([*REQUEST[:3], (b":path", b"http://h/api")], id="a URL as path"),
        pytest.param([*REQUEST[:3], (b":path", b"/a\r\nb")], id="a line break in the path"),
        pytest.param([(b":method", b"G T"), *REQUEST[1:]], id="a blank in the method"),
        pytest.param([REQUEST[0], (b":scheme", b"ftp"), *REQUEST[2:]], id="another scheme"),
        pytest.param([*REQUEST[:2], (b":authority", b"me@host"), REQUEST[3]], id="user information"),
        pytest.param([(b":method", b"CONNECT"), *REQUEST[1:]], id="CONNECT with a path"),
        pytest.param([*REQUEST, (b"Accept", b"b")], id="a capital letter"),
        pytest.param([*REQUEST, (b"", b"b")], id="an empty name"),
        pytest.param([*REQUEST, (b"a b", b"c")], id="a blank in a name"),
        pytest.param([*REQUEST, (b"a", b"b\0")], id="NUL in a value"),
        pytest.param([*REQUEST, (b"a", b"b\nc: d")], id="a line break in a value"),
        pytest.param([*REQUEST, (b"content-length", b"-1")], id="a negative length"),
        pytest.param([*REQUEST, (b"content-length", b"1"), (b"content-length", b"2")], id="two lengths"),
    ],
)
def test_what_is_no_request_is_refused(fields: list[tuple[bytes, bytes]]):
    with pytest.raises(MalformedRequest):
        parse_head(fields)


@pytest.mark.parametrize(
    ("field", "error"),
    [
        pytest.param((b"connection", b"close"), '"Connection" is not valid in HTTP/2', id="Connection"),
        pytest.param((b"transfer-encoding", b"chunked"), '"Transfer-Encoding" is not valid', id="Transfer-Encoding"),
        pytest.param((b"upgrade", b"websocket"), '"Upgrade" is not valid', id="Upgrade"),
        pytest.param((b"te", b"gzip"), '"TE" may only be "trailers"', id="TE"),
        pytest.param((b"te", b"trailers"), "", id="TE of trailers"),
    ],
)
def test_headers_of_the_connection_are_errors(field: tuple[bytes, bytes], error: str):
    assert error in read(field).error
    assert bool(read(field).error) == bool(error)


def test_equal_blocks_have_one_head_until_the_table_changes():
    encoder, reader = Encoder(), RequestHeadReader()
    first = [*REQUEST, (b"x-a", b"1")]
    assert reader.read(encoder.encode(first)) is not None
    block = encoder.encode(first)
    head = reader.read(block)
    assert reader.read(block) is head
    other = reader.read(encoder.encode([*REQUEST, (b"x-a", b"2")]))
    assert other is not None
    assert other.message.headers["x-a"] == "2"
    # The same bytes now mean the newest entry of the table.
    again = reader.read(block)
    assert again is not None
    assert again is not head
