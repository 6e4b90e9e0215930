"""Requests without a socket."""

import asyncio
from typing import Any, cast

import orjson
import pytest
from aiohttp import HttpVersion11, StreamReader
from aiohttp.base_protocol import BaseProtocol
from aiohttp.web import BaseRequest, Response
from multidict import CIMultiDict, CIMultiDictProxy

from mockkube.apiserver.http.requests import request_info
from mockkube.apiserver.http.requests.request_context import RequestContext
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.identity.user import MASTERS_GROUP, User

ADMIN = User("admin", groups=(MASTERS_GROUP, "system:authenticated"))


class Request(dict[str, Any]):
    """What an exchange reads of a request: headers and a body."""

    def __init__(self, body: Any, headers: dict[str, str]) -> None:
        super().__init__()
        self._text = body if isinstance(body, bytes) else orjson.dumps(body)
        self.headers = CIMultiDictProxy(CIMultiDict({"Content-Type": "application/json", **headers}))
        self.version = HttpVersion11
        self.body_exists, self.content_length, self.content = True, len(self._text), _read(self._text)


def _read(body: bytes) -> StreamReader:
    """Return a stream in which the whole body has arrived."""
    loop = asyncio.get_running_loop()
    reader = StreamReader(BaseProtocol(loop), len(body) + 1, loop=loop)
    reader.feed_data(body)
    reader.feed_eof()
    return reader


class Post:
    """Makes exchanges and targets of requests that create something."""

    def __call__(
        self, path: str, body: Any, *, user: User = ADMIN, query: dict[str, list[str]] | None = None, **headers: str
    ) -> tuple[RequestContext, RequestInfo]:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        target = request_info.parse_request_info("POST", path)
        assert target is not None
        return RequestContext(cast("BaseRequest", Request(body, sent)), user, query or {}), target

    def answer(self, response: Any) -> Any:
        """The JSON of an answer."""
        assert isinstance(response, Response)
        assert isinstance(response.body, bytes)
        return orjson.loads(response.body)


@pytest.fixture
def post() -> Post:
    return Post()
