"""Requests, responses and servers of aiohttp, without the rest of `aiohttp.web`.

That module also imports routes, applications, a command line and tables of HTML: a megabyte, and a thirtieth of the
start.
"""

import contextlib

from aiohttp.web_exceptions import HTTPException, HTTPUnauthorized
from aiohttp.web_protocol import RequestHandler, RequestPayloadError
from aiohttp.web_request import BaseRequest, Request
from aiohttp.web_response import Response, StreamResponse, json_response
from aiohttp.web_server import Server
from aiohttp.web_ws import WebSocketResponse

with contextlib.suppress(ImportError):  # aiohttp before 3.14 has none
    from aiohttp.helpers import RequestKey

__all__ = [
    "BaseRequest",
    "HTTPException",
    "HTTPUnauthorized",
    "Request",
    "RequestHandler",
    "RequestKey",
    "RequestPayloadError",
    "Response",
    "Server",
    "StreamResponse",
    "WebSocketResponse",
    "json_response",
]
