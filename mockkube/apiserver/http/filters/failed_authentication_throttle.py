"""Throttle 401 responses per peer, so that a client cannot guess credentials quickly."""

from typing import Final

from cachetools import LRUCache

from mockkube.api.errors import TooManyRequests
from mockkube.apiserver.http import web
from mockkube.apiserver.http.connections import HttpHandler
from mockkube.runtime.clock import Clock

# Rejected credentials of one peer that are answered without delay: a client with an outdated token is not punished.
BURST_MAX: Final = 20
# Seconds between two further 401 responses to one peer.
INTERVAL_SECONDS: Final = 0.125
# Longest delay of a response; a request that would have to wait longer gets 429.
WAIT_SECONDS_MAX: Final = 2.0
# Peers that are remembered; beyond that the least recently seen one is forgotten.
PEERS_MAX: Final = 1024


class FailedAuthenticationThrottle:
    """Handler that passes requests on and delays their 401 responses.

    Requests with valid credentials never wait, whatever else their address sends. Each peer costs one number, and at
    most `WAIT_SECONDS_MAX / INTERVAL_SECONDS` delayed responses.
    """

    def __init__(self, handler: HttpHandler, clock: Clock) -> None:
        self._handler = handler
        self._clock = clock
        self._next_times: LRUCache[str, float] = LRUCache(PEERS_MAX)
        """Time at which the last response to each peer is sent."""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer the request; delay a 401, or replace it by 429 if too many wait."""
        response = await self._handler(request)
        if response.status != web.HTTPUnauthorized.status_code or response.prepared:
            return response
        wait = self._reserve_delay(request.remote or "")
        if wait is None:
            return _too_many_requests()
        if wait > 0:
            await self._clock.sleep(wait)
        return response

    def _reserve_delay(self, peer: str) -> float | None:
        """Return the delay of the peer's next response and count it; None if too many wait."""
        now = self._clock.monotonic()
        # A token bucket in one number: the time lies at most the burst in the past, and each response moves it on.
        earliest = now - BURST_MAX * INTERVAL_SECONDS
        slot = max(self._next_times.get(peer, earliest), earliest) + INTERVAL_SECONDS
        if slot - now > WAIT_SECONDS_MAX:
            return None
        self._next_times[peer] = slot
        return slot - now


def _too_many_requests() -> web.Response:
    error = TooManyRequests("too many requests with bad credentials, please try again later", details={})
    response = web.json_response(error.status(), status=error.code, headers={"Retry-After": "1"})
    response.force_close()
    return response
