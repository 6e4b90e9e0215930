"""Gate between a listener and the API server behind it: requests wait while the server restarts."""

import asyncio
from collections.abc import Callable
from typing import Final

from mockkube.api.errors import Unavailable
from mockkube.apiserver.http import web
from mockkube.cluster.api_servers.tcp_listener import Handler

# A request waits this long for the next server before it is answered with 503.
HOLD_SECONDS_MAX: Final = 10.0
# Requests in flight are cancelled this long after the gate was closed.
DRAIN_SECONDS_MAX: Final = 5.0


def _admit_all(_path: str) -> bool:
    return True


class RequestGate:
    """Passes requests to the present server; one task opens and closes it."""

    def __init__(self) -> None:
        self._handler: Handler | None = None
        self._is_admitted: Callable[[str], bool] = _admit_all
        self._opened = asyncio.Event()
        self._drained = asyncio.Event()
        self._in_flight: dict[asyncio.Task[object], None] = {}

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request by the server, or with 503 if there is none."""
        # A loop, since the gate may have closed again before this task ran.
        while self._handler is None:
            if not await self._wait_until_open():
                return _make_unavailable_response("the server is restarting", retry_after_seconds=1)
        is_admitted = self._is_admitted
        if is_admitted is not _admit_all and not is_admitted(request.path):
            return _make_unavailable_response("the server is stopped: only the control API answers")
        task = asyncio.current_task()
        assert task is not None, "a listener runs each request in a task"
        self._in_flight[task] = None
        try:
            return await self._handler(request)
        finally:
            del self._in_flight[task]
            if not self._in_flight:
                self._drained.set()

    async def _wait_until_open(self) -> bool:
        try:
            async with asyncio.timeout(HOLD_SECONDS_MAX):
                return await self._opened.wait()
        except TimeoutError:
            return False

    def open(self, handler: Handler, admits: Callable[[str], bool] | None = None) -> None:
        """Pass requests to a handler, all of them or those whose path is admitted."""
        self._handler, self._is_admitted = handler, admits or _admit_all
        self._opened.set()

    def close(self) -> None:
        """Hold new requests; those in flight continue."""
        self._handler = None
        self._opened.clear()

    async def drain(self) -> None:
        """Return once no request is in flight; cancel those that take too long."""
        self._drained.clear()
        if not self._in_flight:
            return
        try:
            async with asyncio.timeout(DRAIN_SECONDS_MAX):
                await self._drained.wait()
        except TimeoutError:
            stragglers = list(self._in_flight)
            for task in stragglers:
                task.cancel()
            await asyncio.wait(stragglers)


def _make_unavailable_response(why: str, *, retry_after_seconds: int = 0) -> web.Response:
    error = Unavailable(why)
    headers = {"Retry-After": str(retry_after_seconds)} if retry_after_seconds else {}
    return web.json_response(error.status(), status=error.code, headers=headers)
