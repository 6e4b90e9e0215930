"""Large bodies, as they go through a writer."""

import gzip
import zlib

import pytest
from aiohttp.abc import AbstractStreamWriter

from mockkube.apiserver.http.responses.large_bodies import BLOCK_BYTES, CompressedBody, LargeBody, total_size
from mockkube.apiserver.registry.compressible_bytes import CompressibleBytes

PARTS = {
    "nothing": [b""],
    "less than a block": [b'{"items":[', b"1,2,3", b"]}\n"],
    "many blocks": [b"[", b"0123456789" * BLOCK_BYTES, b"]"],
    "an empty part": [b"a", b"", b"b"],
}


class Written(AbstractStreamWriter):
    """Keeps what is written, block by block."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        self.blocks.append(bytes(chunk))

    async def write_eof(self, chunk: bytes = b"") -> None:
        raise AssertionError("the response ends itself")

    async def drain(self) -> None:
        raise AssertionError("writing waits by itself")

    def enable_compression(self, encoding: str = "deflate", strategy: int | None = None) -> None:
        raise AssertionError("nothing is compressed twice")

    def enable_chunking(self) -> None:
        raise AssertionError("the response knows")

    async def write_headers(self, status_line: str, headers: object) -> None:
        raise AssertionError("the response has written them")


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS.keys())
async def test_a_large_body_is_its_parts_in_blocks(parts: list[bytes]) -> None:
    body, writer = LargeBody([CompressibleBytes(part) for part in parts]), Written()
    await body.write(writer)
    whole = b"".join(parts)
    assert b"".join(writer.blocks) == whole == body.decode().encode()
    assert body.size == len(whole)
    assert all(len(block) <= BLOCK_BYTES for block in writer.blocks)


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS.keys())
async def test_a_compressed_body_is_one_member_of_gzip(parts: list[bytes]) -> None:
    body, writer = CompressedBody([CompressibleBytes(part) for part in parts]), Written()
    await body.write(writer)
    sent = b"".join(writer.blocks)
    one_member = zlib.decompressobj(wbits=31)
    assert one_member.decompress(sent) == gzip.decompress(sent) == b"".join(parts)
    assert one_member.eof
    assert one_member.unused_data == b""
    assert body.size is None


def test_bytes_are_compressed_once() -> None:
    bulk = CompressibleBytes(b"a" * 1000)
    assert bulk.deflate() is bulk.deflate()


def test_the_size_is_that_before_compressing() -> None:
    assert total_size([CompressibleBytes(b"abc"), CompressibleBytes(b"d")]) == 4
