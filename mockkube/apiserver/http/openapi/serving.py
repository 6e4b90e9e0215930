"""HTTP handler of `/openapi/v2` and `/openapi/v3`: negotiation, ETags and caching."""

# upstream 1.36: vendor/k8s.io/kube-openapi/pkg/handler, pkg/handler3; kube-aggregator/pkg/controllers/openapiv3
from collections.abc import Callable
from datetime import timedelta
from email.utils import format_datetime
from typing import Final

from aiohttp import web

from mockkube.apiserver.http.exchange import TEXT, Exchange
from mockkube.apiserver.http.negotiation import JSON, clauses
from mockkube.apiserver.http.openapi.edition import Custom, Document, Edition
from mockkube.apiserver.registry.options import first
from mockkube.apiserver.registry.registry import Registry

_KEPT: Final = timedelta(days=365)
_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_SECOND: Final = {
    JSON: JSON,
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf": _PROTOBUF,
    _PROTOBUF: _PROTOBUF,
}
"""Media types accepted for the v2 document, with the Content-Type of the response."""
_THIRD: Final = {JSON: JSON}
# differs: upstream also has version 3 as protobuf; no client we know asks for it


class OpenApi:
    """Serves the OpenAPI documents of one server."""

    def __init__(self, registry: Registry, custom: Callable[[], Custom] = dict) -> None:
        self._registry = registry
        self._custom = custom
        self._edition = Edition((), registry.schema, {})

    def answer(self, exchange: Exchange, path: str) -> web.StreamResponse:
        """Answer a request below `/openapi`."""
        edition = self._current()
        match path.removeprefix("/").split("/", 2):
            case ["openapi", "v2"]:
                return _second(exchange, edition)
            case ["openapi", "v3"]:
                return exchange.respond(edition.index(), media=TEXT)
            case ["openapi", "v3", place]:
                if place not in edition.places:
                    return exchange.respond(b"", status=404, media="")
                return self._third(exchange, edition.third(place), place)
        return exchange.nothing_here()

    def _current(self) -> Edition:
        """Return the documents of what is served now; kinds come and go with CRDs."""
        served, definitions = self._registry.served_kinds(), self._custom()
        # Compared by value: kinds and schemas change rarely, building documents is expensive.
        if (served, definitions) != (self._edition.served, self._edition.definitions):
            self._edition = Edition(served, self._registry.schema, definitions)
        return self._edition

    def _third(self, exchange: Exchange, document: Document, place: str) -> web.StreamResponse:
        if _chosen(exchange.accept, _THIRD) is None:
            return _not_acceptable(exchange)
        wanted = first(exchange.query, "hash")
        # A URL with a hash may be cached for ever, so an outdated hash is redirected to the current one.
        if wanted and wanted != document.tag:
            moved = exchange.respond(b"", status=301)
            moved.headers["Location"] = document.url(place)
            _mark(moved, document.tag)
            return moved
        response = _unchanged(exchange, document.tag) or exchange.respond(document.body)
        _mark(response, document.tag)
        if wanted:
            response.headers["Cache-Control"] = "public, immutable"
            expires = self._registry.services.clock.now() + _KEPT
            response.headers["Expires"] = format_datetime(expires, usegmt=True)
        return response


def _second(exchange: Exchange, edition: Edition) -> web.StreamResponse:
    media = _chosen(exchange.accept, _SECOND)
    if media is None:
        return _not_acceptable(exchange)
    tag = edition.second.tag
    response = _unchanged(exchange, tag)
    if response is None:
        body = edition.second_as_protobuf if media == _PROTOBUF else edition.second.body
        response = exchange.respond(body, media=media)
    _mark(response, tag)
    return response


def _chosen(accept: str, offered: dict[str, str]) -> str | None:
    """Return the Content-Type for the media type the client prefers; None if it accepts none."""
    for clause in clauses(accept or "*/*"):
        media = JSON if clause.media in ("*/*", "application/*", "*/json") else clause.media
        if media in offered:
            return offered[media]
    return None


def _not_acceptable(exchange: Exchange) -> web.Response:
    response = exchange.respond(b"", status=406, media="")
    response.headers["Vary"] = "Accept"
    return response


def _unchanged(exchange: Exchange, tag: str) -> web.Response | None:
    """Return a 304 response if the client has the content already, else None."""
    known = exchange.request.headers.get("If-None-Match", "")
    tags = [text.strip().removeprefix("W/").strip('"') for text in known.split(",")]
    if tag not in tags and "*" not in tags:
        return None
    response = exchange.respond(b"", status=304)
    del response.headers["Content-Type"]  # it would replace the cached one
    return response


def _mark(response: web.Response, tag: str) -> None:
    response.headers["Etag"] = f'"{tag}"'
    response.headers["Vary"] = "Accept, Accept-Encoding" if "Vary" in response.headers else "Accept"
