"""HTTP handler of `/openapi/v2` and `/openapi/v3`: negotiation, ETags and caching."""

# upstream 1.36: vendor/k8s.io/kube-openapi/pkg/handler, pkg/handler3; kube-aggregator/pkg/controllers/openapiv3
from collections.abc import Callable, Iterator
from datetime import timedelta
from email.utils import format_datetime
from typing import Final

from mockkube.api.catalogue import KindInfo
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.apiserver.http import web
from mockkube.apiserver.http.openapi.openapi_documents import CustomSchemaMap, OpenApiDocument, OpenApiDocuments
from mockkube.apiserver.http.requests.request_context import TEXT, RequestContext
from mockkube.apiserver.http.responses.negotiation import JSON, parse_accept
from mockkube.apiserver.registry.options import first_value
from mockkube.apiserver.registry.registry import Registry

_CACHE_LIFETIME: Final = timedelta(days=365)
_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_V2_MEDIA_TYPES: Final = {
    JSON: JSON,
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf": _PROTOBUF,
    _PROTOBUF: _PROTOBUF,
}
"""Media types accepted for the v2 document, with the Content-Type of the response."""
_V3_MEDIA_TYPES: Final = {JSON: JSON}
# differs: upstream also has version 3 as protobuf; no client we know asks for it


class OpenApiHandler:
    """Serves the OpenAPI documents of one server."""

    def __init__(self, registry: Registry, custom_schemas: Callable[[], CustomSchemaMap] = dict) -> None:
        self._registry = registry
        self._custom_schemas = custom_schemas
        self._documents = OpenApiDocuments((), registry.schema, {})

    def respond(self, context: RequestContext, path: str) -> web.StreamResponse:
        """Answer a request below `/openapi`."""
        edition = self._current_documents()
        match path.removeprefix("/").split("/", 2):
            case ["openapi", "v2"]:
                return _respond_v2(context, edition)
            case ["openapi", "v3"]:
                return context.respond(edition.index(), media=TEXT)
            case ["openapi", "v3", place]:
                if place not in edition.v3_paths:
                    return context.respond(b"", status=404, media="")
                return self._respond_v3(context, edition.get_v3(place), place)
        return context.respond_not_found()

    def _current_documents(self) -> OpenApiDocuments:
        """Return the documents of what is served now; kinds come and go with CRDs."""
        served, definitions = self._registry.served_kinds(), self._custom_schemas()
        if computed := list(self._list_computed_kinds()):
            served = [*served, *((kind, kind.versions) for kind, _ in computed)]
            definitions = {**definitions, **{_identify(kind): schema for kind, schema in computed}}
        # Compared by value: kinds and schemas change rarely, building documents is expensive.
        if (served, definitions) != (self._documents.served, self._documents.custom_schemas):
            self._documents = OpenApiDocuments(served, self._registry.schema, definitions)
        return self._documents

    def _list_computed_kinds(self) -> Iterator[tuple[KindInfo, ReadOnlyObject]]:
        for aggregated_api in self._registry.aggregated_apis.values():
            if aggregated_api.computed is not None:
                yield from aggregated_api.computed.kind_schemas

    def _respond_v3(self, context: RequestContext, document: OpenApiDocument, path: str) -> web.StreamResponse:
        if _negotiate(context.accept, _V3_MEDIA_TYPES) is None:
            return _respond_not_acceptable(context)
        wanted = first_value(context.query, "hash")
        # A URL with a hash may be cached for ever, so an outdated hash is redirected to the current one.
        if wanted and wanted != document.hash:
            moved = context.respond(b"", status=301)
            moved.headers["Location"] = document.url(path)
            _set_cache_headers(moved, document.hash)
            return moved
        response = _not_modified(context, document.hash) or context.respond(document.body)
        _set_cache_headers(response, document.hash)
        if wanted:
            response.headers["Cache-Control"] = "public, immutable"
            expires = self._registry.dependencies.clock.now() + _CACHE_LIFETIME
            response.headers["Expires"] = format_datetime(expires, usegmt=True)
        return response


def _identify(kind: KindInfo) -> GroupVersionKind:
    return GroupVersionKind(kind.group, kind.versions[0], kind.kind)


def _respond_v2(context: RequestContext, documents: OpenApiDocuments) -> web.StreamResponse:
    media = _negotiate(context.accept, _V2_MEDIA_TYPES)
    if media is None:
        return _respond_not_acceptable(context)
    tag = documents.v2.hash
    response = _not_modified(context, tag)
    if response is None:
        body = documents.v2_protobuf if media == _PROTOBUF else documents.v2.body
        response = context.respond(body, media=media)
    _set_cache_headers(response, tag)
    return response


def _negotiate(accept: str, offered: dict[str, str]) -> str | None:
    """Return the Content-Type for the media type the client prefers; None if it accepts none."""
    for clause in parse_accept(accept or "*/*"):
        media = JSON if clause.media in ("*/*", "application/*", "*/json") else clause.media
        if media in offered:
            return offered[media]
    return None


def _respond_not_acceptable(context: RequestContext) -> web.Response:
    response = context.respond(b"", status=406, media="")
    response.headers["Vary"] = "Accept"
    return response


def _not_modified(context: RequestContext, tag: str) -> web.Response | None:
    """Return a 304 response if the client has the content already, else None."""
    known = context.request.headers.get("If-None-Match", "")
    tags = [text.strip().removeprefix("W/").strip('"') for text in known.split(",")]
    if tag not in tags and "*" not in tags:
        return None
    response = context.respond(b"", status=304)
    del response.headers["Content-Type"]  # it would replace the cached one
    return response


def _set_cache_headers(response: web.Response, tag: str) -> None:
    response.headers["Etag"] = f'"{tag}"'
    response.headers["Vary"] = "Accept, Accept-Encoding" if "Vary" in response.headers else "Accept"
