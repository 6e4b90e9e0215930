"""What comes over a connection is taken in order, however it is cut, and no more of it than fits."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from itertools import pairwise
from typing import Any

import orjson
import pytest
from aiohttp import ClientError
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.errors import Expired
from mockkube.client.discovery import ServedResource
from mockkube.client.http_watch import PENDING_MAX, HttpWatch
from mockkube.client.protocol import WatchEnded

PODS = ServedResource("", "v1", "Pod", "pods", namespaced=True)


class Response:
    """An answer that comes in these chunks, then ends or breaks."""

    def __init__(self, chunks: Iterable[bytes], failure: Exception | None = None) -> None:
        self._chunks, self._failure = chunks, failure
        self.content = self
        self.closed = False

    async def iter_any(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        self.closed = True


def opened(response: Response) -> HttpWatch:
    untyped: Any = response
    return HttpWatch(untyped, PODS, "0")


def event(number: int, kind: str = "ADDED") -> bytes:
    return orjson.dumps({"type": kind, "object": {"metadata": {"name": "p", "resourceVersion": str(number)}}}) + b"\n"


def taken(watch: HttpWatch) -> list[str]:
    return [one.object["metadata"]["resourceVersion"] for one in watch.take()]


@given(cuts=st.lists(st.integers(0, 400), max_size=8))
async def test_lines_are_whole_however_they_are_cut(cuts: list[int]) -> None:
    text = b"".join(event(number) for number in range(1, 5))
    edges = [0, *sorted(cuts), len(text)]
    watch = opened(Response([text[start:end] for start, end in pairwise(edges)]))
    await watch.read()
    assert taken(watch) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("failure", [None, ClientError("broken"), OSError("reset"), TimeoutError()])
async def test_a_watch_that_is_over_says_how_far_it_came(failure: Exception | None) -> None:
    response = Response([event(1), event(7, "BOOKMARK")], failure)
    watch = opened(response)
    await watch.read()
    assert taken(watch) == ["1"]
    with pytest.raises(WatchEnded) as caught:
        watch.take()
    assert (caught.value.resource_version, response.closed) == ("7", True)


async def test_an_expired_watch_gives_first_what_it_has() -> None:
    error = {"type": "ERROR", "object": {"kind": "Status", "reason": "Expired", "code": 410, "message": "too old"}}
    watch = opened(Response([event(1), orjson.dumps(error) + b"\n"]))
    await watch.read()
    assert taken(watch) == ["1"]
    with pytest.raises(Expired, match="too old"):
        watch.take()


async def test_another_error_ends_a_watch() -> None:
    error = {"type": "ERROR", "object": {"kind": "Status", "code": 500, "message": "oh"}}
    watch = opened(Response([orjson.dumps(error) + b"\n"]))
    await watch.read()
    with pytest.raises(WatchEnded):
        watch.take()


async def test_what_does_not_fit_waits_for_room() -> None:
    watch = opened(Response([event(number) for number in range(PENDING_MAX + 5)]))
    async with asyncio.TaskGroup() as group:
        following = group.create_task(watch.read())
        await watch.signal.wait()
        assert not following.done()
        assert len(watch.take()) == PENDING_MAX
    assert len(watch.take()) == 5


async def test_a_watch_is_closed_before_it_has_begun() -> None:
    response = Response([event(1)])
    watch = opened(response)
    async with asyncio.TaskGroup() as group:
        watch.task = group.create_task(watch.read())
        await watch.close()
    assert response.closed
    with pytest.raises(WatchEnded):
        watch.take()
