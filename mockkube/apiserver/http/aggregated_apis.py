"""Proxy requests for aggregated APIs to the servers that serve them, with the user in headers."""

# upstream 1.36: kube-aggregator/pkg/apiserver/handler_proxy.go, apimachinery/pkg/util/proxy
import logging
from typing import Final

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from mockkube.apiserver.aggregation.backends import Backends
from mockkube.apiserver.aggregation.routes import NoRoute, Route, route
from mockkube.apiserver.aggregation.transport import Unreachable, identify
from mockkube.apiserver.http.exchange import TEXT, Exchange
from mockkube.apiserver.registry.elsewhere import Backend
from mockkube.apiserver.registry.registry import Registry

DISCOVERY_SECONDS: Final = 5.0
_UNAVAILABLE: Final = b"service unavailable\n"
_REDIRECTED: Final = b"the backend attempted to redirect this request, which is not permitted\n"
_OF_ONE_HOP: Final = (
    "Connection", "Expect", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "TE",
    "Trailer", "Transfer-Encoding", "Upgrade",
)  # fmt: skip
_LOG: Final = logging.getLogger("mockkube.apiserver")


class Proxy:
    """Answers requests for aggregated APIs (upstream: proxyHandler)."""

    def __init__(self, registry: Registry, backends: Backends) -> None:
        self._registry = registry
        self._backends = backends

    def backend(self, path: str) -> Backend | None:
        """Return the aggregated API of a path; None if this server serves it."""
        # hot: per request
        known = self._backends.known
        if not known:
            return None
        parts = path.split("/", 4)
        if len(parts) < 4 or parts[1] != "apis":
            return known.get(("", parts[2])) if len(parts) > 2 and parts[1] == "api" else None
        return known.get((parts[2], parts[3]))

    async def answer(self, exchange: Exchange, backend: Backend) -> web.StreamResponse:
        """Send the request to the server and stream its response back."""
        if not backend.available:
            return _plainly(exchange, _UNAVAILABLE, 503)
        try:
            where = route(self._registry, backend.spec["service"])
        except NoRoute as error:
            _LOG.warning("%s: %s", backend.spec["service"]["name"], error)
            return _plainly(exchange, _UNAVAILABLE, 503)
        request = exchange.request
        if "upgrade" in request.headers.get("Connection", "").lower():
            # differs: upstream hands the connection over
            return exchange.respond(
                b"connection upgrades are not supported for aggregated APIs\n", status=501, media=TEXT
            )
        try:
            return await self._sent(exchange, backend, where)
        except Unreachable as error:
            return exchange.respond(f"error trying to reach service: {error}".encode(), status=503, media=TEXT)

    async def _sent(self, exchange: Exchange, backend: Backend, where: Route) -> web.StreamResponse:
        request = exchange.request
        # Only discovery has a timeout, as it must be quick; any other request may be a watch.
        discovering = request.path.strip("/").count("/") == 2
        sent = self._backends.transport.sent(
            request.method,
            URL(where.url + request.raw_path, encoded=True),
            backend.spec,
            headers=_headers(exchange, where),
            body=exchange.parts() if request.body_exists else None,
            seconds=DISCOVERY_SECONDS if discovering else None,
        )
        async with sent as response:
            if 300 <= response.status < 400 and "Location" in response.headers:
                return exchange.respond(_REDIRECTED, status=502, media=TEXT)
            return await _brought(exchange, response)


def _headers(exchange: Exchange, where: Route) -> CIMultiDict[str]:
    """Return the client's headers without those of its connection, its credentials and impersonation."""
    request = exchange.request
    headers: CIMultiDict[str] = CIMultiDict(request.headers)
    named = [name.strip() for name in request.headers.get("Connection", "").split(",") if name.strip()]
    for name in (*_OF_ONE_HOP, *named, "Host", "Authorization"):
        headers.popall(name, None)
    for name in tuple(dict.fromkeys(headers)):
        if name.lower().startswith("impersonate-"):
            headers.popall(name)
    earlier = headers.getall("X-Forwarded-For", [])
    headers["X-Forwarded-For"] = ", ".join([*earlier, request.remote or ""])
    headers["X-Forwarded-Host"] = where.url.removeprefix("https://")
    headers["X-Forwarded-Proto"] = "https"
    headers["X-Forwarded-Uri"] = request.raw_path.partition("?")[0]
    identify(headers, exchange.user)
    return headers


async def _brought(exchange: Exchange, response: aiohttp.ClientResponse) -> web.StreamResponse:
    """Stream the response of the server to the client."""
    headers: CIMultiDict[str] = CIMultiDict(response.headers)
    for name in (*_OF_ONE_HOP, "Date", "Server"):
        headers.popall(name, None)
    headers.setdefault("Cache-Control", "no-cache, private")
    answer = web.StreamResponse(status=response.status, reason=response.reason, headers=headers)
    await answer.prepare(exchange.request)
    try:
        async for part in response.content.iter_any():
            await answer.write(part)
    except (aiohttp.ClientError, OSError) as error:
        _LOG.warning("the response of %s broke off: %s", response.url.host, error)
        # The status has been sent: closing the connection is the only way left to show that the body is incomplete.
        answer.force_close()
        return answer
    await answer.write_eof()
    return answer


def _plainly(exchange: Exchange, body: bytes, status: int) -> web.StreamResponse:
    response = exchange.respond(body, status=status, media=TEXT)
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
