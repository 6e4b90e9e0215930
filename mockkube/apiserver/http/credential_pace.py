"""Pace of answers to bad credentials: a client that keeps guessing waits, everybody else is answered at once."""

from typing import Final

from aiohttp import web
from cachetools import LRUCache

from mockkube.api.errors import TooManyRequests
from mockkube.apiserver.http.protocol import Handler
from mockkube.runtime.clock import Clock

BURST_MAX: Final = 20
"""Bad credentials of one peer that are answered at once: a client with an outdated token is not punished."""
INTERVAL_SECONDS: Final = 0.125
"""Time between two answers to bad credentials of one peer after that."""
WAIT_SECONDS_MAX: Final = 2.0
"""Longest time an answer is held back; with more of them waiting, further ones are refused with 429."""
PEERS_MAX: Final = 1024
"""Peers that are remembered; beyond that the one seen longest ago is forgotten."""


class CredentialPace:
    """Passes requests on to `handler`, and holds back its answers of 401.

    Good credentials never wait, whatever else their address sends. What is held per peer is one number, and at most
    `WAIT_SECONDS_MAX / INTERVAL_SECONDS` answers.
    """

    def __init__(self, handler: Handler, clock: Clock) -> None:
        self._handler = handler
        self._clock = clock
        self._slots: LRUCache[str, float] = LRUCache(PEERS_MAX)
        """When the last answer to each peer leaves."""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer the request, later or not at all if it brings one bad credential too many."""
        response = await self._handler(request)
        if response.status != web.HTTPUnauthorized.status_code or response.prepared:
            return response
        wait = self._next_slot(request.remote or "")
        if wait is None:
            return _too_many()
        if wait > 0:
            await self._clock.sleep(wait)
        return response

    def _next_slot(self, peer: str) -> float | None:
        """Return the seconds until a peer's next answer, which is counted; None if too many wait already."""
        now = self._clock.monotonic()
        earliest = now - BURST_MAX * INTERVAL_SECONDS
        slot = max(self._slots.get(peer, earliest), earliest) + INTERVAL_SECONDS
        if slot - now > WAIT_SECONDS_MAX:
            return None
        self._slots[peer] = slot
        return slot - now


def _too_many() -> web.Response:
    error = TooManyRequests("too many requests with bad credentials, please try again later", details={})
    response = web.json_response(error.status(), status=error.code, headers={"Retry-After": "1"})
    response.force_close()
    return response
