"""Proxy requests for aggregated APIs to the servers that serve them, with the user in headers."""

# upstream 1.36: kube-aggregator/pkg/apiserver/handler_proxy.go, apimachinery/pkg/util/proxy
import logging
from typing import Final

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from mockkube.apiserver.aggregation.availability_controller import AvailabilityController
from mockkube.apiserver.aggregation.service_resolver import Endpoint, NoEndpoint, resolve_endpoint
from mockkube.apiserver.aggregation.transport import ServerUnreachable, set_user_headers
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.request_context import TEXT, RequestContext
from mockkube.apiserver.registry.aggregated_api import AggregatedApi
from mockkube.apiserver.registry.registry import Registry

DISCOVERY_SECONDS: Final = 5.0
_UNAVAILABLE: Final = b"service unavailable\n"
_REDIRECT_ERROR: Final = b"the backend attempted to redirect this request, which is not permitted\n"
_HOP_HEADERS: Final = (
    "Connection", "Expect", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "TE",
    "Trailer", "Transfer-Encoding", "Upgrade",
)  # fmt: skip
_LOG: Final = logging.getLogger("mockkube.apiserver")


class ProxyHandler:
    """Answers requests for aggregated APIs (upstream: proxyHandler)."""

    def __init__(self, registry: Registry, availability_controller: AvailabilityController) -> None:
        self._registry = registry
        self._availability = availability_controller

    def find_aggregated_api(self, path: str) -> AggregatedApi | None:
        """Return the aggregated API of a path; None if this server serves it."""
        # hot: per request
        known = self._availability.aggregated_apis
        if not known:
            return None
        parts = path.split("/", 4)
        if len(parts) < 4 or parts[1] != "apis":
            return known.get(("", parts[2])) if len(parts) > 2 and parts[1] == "api" else None
        return known.get((parts[2], parts[3]))

    async def proxy(self, context: RequestContext, aggregated_api: AggregatedApi) -> web.StreamResponse:
        """Send the request to the server and stream its response back."""
        if not aggregated_api.is_available:
            return _respond_text(context, _UNAVAILABLE, 503)
        try:
            where = resolve_endpoint(self._registry, aggregated_api.spec["service"])
        except NoEndpoint as error:
            _LOG.warning("%s: %s", aggregated_api.spec["service"]["name"], error)
            return _respond_text(context, _UNAVAILABLE, 503)
        request = context.request
        if "upgrade" in request.headers.get("Connection", "").lower():
            # differs: upstream hands the connection over
            return context.respond(
                b"connection upgrades are not supported for aggregated APIs\n", status=501, media=TEXT
            )
        try:
            return await self._forward(context, aggregated_api, where)
        except ServerUnreachable as error:
            return context.respond(f"error trying to reach service: {error}".encode(), status=503, media=TEXT)

    async def _forward(
        self, context: RequestContext, aggregated_api: AggregatedApi, where: Endpoint
    ) -> web.StreamResponse:
        request = context.request
        # Only discovery has a timeout, as it must be quick; any other request may be a watch.
        discovering = request.path.strip("/").count("/") == 2
        sent = self._availability.transport.send(
            request.method,
            URL(where.url + request.raw_path, encoded=True),
            aggregated_api.spec,
            headers=_forwarded_headers(context, where),
            body=context.read_parts() if request.body_exists else None,
            seconds=DISCOVERY_SECONDS if discovering else None,
        )
        async with sent as response:
            if 300 <= response.status < 400 and "Location" in response.headers:
                return context.respond(_REDIRECT_ERROR, status=502, media=TEXT)
            return await _stream_response(context, response)


def _forwarded_headers(context: RequestContext, where: Endpoint) -> CIMultiDict[str]:
    """Return the client's headers without those of its connection, its credentials and impersonation."""
    request = context.request
    headers: CIMultiDict[str] = CIMultiDict(request.headers)
    named = [name.strip() for name in request.headers.get("Connection", "").split(",") if name.strip()]
    for name in (*_HOP_HEADERS, *named, "Host", "Authorization"):
        headers.popall(name, None)
    for name in tuple(dict.fromkeys(headers)):
        if name.lower().startswith("impersonate-"):
            headers.popall(name)
    earlier = headers.getall("X-Forwarded-For", [])
    headers["X-Forwarded-For"] = ", ".join([*earlier, request.remote or ""])
    headers["X-Forwarded-Host"] = where.url.removeprefix("https://")
    headers["X-Forwarded-Proto"] = "https"
    headers["X-Forwarded-Uri"] = request.raw_path.partition("?")[0]
    set_user_headers(headers, context.user)
    return headers


async def _stream_response(context: RequestContext, response: aiohttp.ClientResponse) -> web.StreamResponse:
    """Stream the response of the server to the client."""
    headers: CIMultiDict[str] = CIMultiDict(response.headers)
    for name in (*_HOP_HEADERS, "Date", "Server"):
        headers.popall(name, None)
    headers.setdefault("Cache-Control", "no-cache, private")
    answer = web.StreamResponse(status=response.status, reason=response.reason, headers=headers)
    await context.prepare(answer)
    try:
        async for part in response.content.iter_any():
            await answer.write(part)
    except (aiohttp.ClientError, OSError) as error:
        _LOG.warning("the response of %s broke off: %s", response.url.host, error)
        # The status has been sent: breaking off is the only way left to show that the body is incomplete.
        if context.request.transport is not None:
            context.request.transport.abort()
        return answer
    await answer.write_eof()
    return answer


def _respond_text(context: RequestContext, body: bytes, status: int) -> web.StreamResponse:
    response = context.respond(body, status=status, media=TEXT)
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
