"""What a connection says to bytes that are no request a handler could be given."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

import orjson
from aiohttp import http_exceptions, web

from mockkube.api.errors import MethodNotAllowed

_REQUEST_LINE: Final = re.compile(r"b'[!#$%&*+.^_`|~0-9A-Za-z-]+ [!-~]+ HTTP/1\.[01]")
"""How the parser shows a request of which it knows all but the method."""
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_HEADERS: Final = {"Content-Type": "application/json", "Cache-Control": "no-cache, private"}


class RequestHandler(web.RequestHandler):
    """One connection. What its parser refuses is answered in upstream's words, and ends it."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer a request that could not be read.

        The parser ends at a method it does not know, so that nobody learns who asks: the answer is that for a user
        who may. Anything else was never HTTP.
        """
        if exc is None or not isinstance(exc, http_exceptions.HttpProcessingError):
            return super().handle_error(request, status, exc, message)
        response = _refusal(exc)
        response.force_close()
        return response


def _refusal(error: http_exceptions.HttpProcessingError) -> web.Response:
    match error:
        case http_exceptions.BadHttpMethod() if _REQUEST_LINE.search(error.message):
            refused = MethodNotAllowed()
            return web.Response(body=orjson.dumps(refused.status()), status=refused.code, headers=_HEADERS)
        case http_exceptions.LineTooLong():
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        case _:
            status = HTTPStatus.BAD_REQUEST
    # as Go's net/http, which upstream's server is built on
    return web.Response(status=status, text=f"{status.value} {status.phrase}")


class Server(web.Server):
    """Serves one handler on however many connections."""

    def __init__(self, handler: Handler, **options: Any) -> None:
        super().__init__(handler)
        self._options = options

    def __call__(self) -> RequestHandler:
        """Return what speaks for one connection."""
        return RequestHandler(self, loop=asyncio.get_running_loop(), **self._options)
