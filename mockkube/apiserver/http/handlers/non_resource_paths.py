"""Non-resource paths: discovery, health, version, metrics, OpenAPI, zpages, issuer keys; and create-only kinds."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

import orjson

from mockkube.api.errors import MethodNotAllowed, NotAcceptable, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.apiserver.http import web
from mockkube.apiserver.http.handlers import discovery, health
from mockkube.apiserver.http.handlers.discovery import Discovery
from mockkube.apiserver.http.handlers.health import HealthCheck
from mockkube.apiserver.http.handlers.zpages import Zpages, ZpagesComponent
from mockkube.apiserver.http.metrics import ApiServerMetrics
from mockkube.apiserver.http.requests.request_context import TEXT, RequestContext
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.http.responses import negotiation
from mockkube.apiserver.registry.registry import Registry
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.versions import Version, binary_version

if TYPE_CHECKING:
    from mockkube.apiserver.http.openapi.openapi_handler import OpenApiHandler

ReviewHandler = Callable[[RequestContext, RequestInfo], Awaitable[web.StreamResponse]]
METRICS_MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"
_ISSUER: Final = "/.well-known/openid-configuration"
_KEYS: Final = "/openid/v1/jwks"
# Time for which clients may cache the issuer's metadata and keys, as upstream.
_KEYS_MAX_AGE_SECONDS: Final = 3600
_HEALTH_ENDPOINTS: Final = ("healthz", "livez", "readyz")
# Segments of the path `/apis/GROUP`.
_GROUP_SEGMENTS: Final = 2
_SLASHES_MAX: Final = 5


class NonResourcePaths:
    """Answers paths that are no resources."""

    def __init__(
        self,
        registry: Registry,
        metrics: ApiServerMetrics,
        checks: list[HealthCheck],
        reviews: dict[tuple[str, str], ReviewHandler],
        zpages_component: ZpagesComponent,
        custom_schemas: Callable[[], Mapping[GroupVersionKind, ReadOnlyObject]] = dict,
    ) -> None:
        self._registry = registry
        self._metrics = metrics
        self._checks = checks
        self._reviews = reviews
        self._zpages = Zpages(zpages_component, registry.dependencies.clock, self._list_paths)
        self.discovery = Discovery(registry)
        self._custom_schemas = custom_schemas

    @cached_property
    def _openapi(self) -> "OpenApiHandler":
        from mockkube.apiserver.http.openapi.openapi_handler import (
            OpenApiHandler,  # many servers are never asked for it
        )

        return OpenApiHandler(self._registry, self._custom_schemas)

    def is_create_only(self, info: RequestInfo) -> bool:
        """Return whether a resource can only be created, like SelfSubjectAccessReview."""
        return info.version == "v1" and (info.group, info.resource) in self._reviews

    def find_review_handler(self, info: RequestInfo) -> ReviewHandler | None:
        """Return the handler of a create-only resource, None for others; raise MethodNotAllowed for other verbs."""
        review = self._reviews.get((info.group, info.resource))
        if review is None or info.version != "v1":
            return None
        if info.verb != "create":
            raise MethodNotAllowed
        return review

    async def respond(self, context: RequestContext, path: str) -> web.StreamResponse:
        """Answer a path, with 404 if it is unknown."""
        parts = path.removeprefix("/").split("/")
        # upstream serves discovery with and without a trailing slash, other paths only as registered.
        if parts[-1] == "" and parts[0] in ("api", "apis", "version") and path.count("/") < _SLASHES_MAX:
            parts.pop()
        match parts:
            case ["api"] | ["apis"] | ["api", _] | ["apis", _] | ["apis", _, _]:
                return self._respond_discovery(context, parts)
            case [endpoint, *rest] if endpoint in _HEALTH_ENDPOINTS and rest != [""]:
                return self._respond_health(context, endpoint, "/".join(rest))
            case ["version"]:
                _require_get(context)
                if not negotiation.accepts_json(context.accept):
                    raise negotiation.route_not_acceptable()
                return context.respond_json(version_info(self._registry.dependencies.capabilities.version))
            case ["metrics"]:
                return context.respond(self._metrics.render(), media=METRICS_MEDIA)
            case [page] if page in self._zpages.enabled_pages:
                return self._zpages.respond(context, page)
            case [".well-known", "openid-configuration"] | ["openid", "v1", "jwks"]:
                return self._respond_issuer(context, parts)
            case ["openapi", *_]:
                return self._openapi.respond(context, path)
            case [""]:
                return context.respond_json({"paths": self._list_paths()})
        return context.respond_not_found()

    def _respond_issuer(self, context: RequestContext, parts: list[str]) -> web.StreamResponse:
        """Answer with the issuer's metadata or public keys, which verify service account tokens."""
        _require_get(context)
        issuer, request = self._registry.dependencies.token_issuer, context.request
        if parts[0] == "openid":
            body, media = issuer.public_keys(), "application/jwk-set+json"
        else:
            body, media = issuer.openid_configuration(f"{request.scheme}://{request.host}{_KEYS}"), negotiation.JSON
        response = context.respond(orjson.dumps(body), media=media)
        response.headers["Cache-Control"] = f"public, max-age={_KEYS_MAX_AGE_SECONDS}"
        return response

    def _respond_discovery(self, context: RequestContext, parts: list[str]) -> web.StreamResponse:
        if len(parts) == 1 and discovery.wants_aggregated(context.accept):
            return self._respond_aggregated_discovery(context, core=parts[0] == "api")
        if parts[0] == "api" or len(parts) > _GROUP_SEGMENTS:
            _require_get(context)
        representation = negotiation.negotiate_output(context.accept, protobuf=True)
        if representation.transform:
            raise NotAcceptable(negotiation.ACCEPTED_MEDIA_TYPES)
        document = self._find_discovery_document(context, parts)
        if document is None:
            if parts[0] == "apis" and (len(parts) == _GROUP_SEGMENTS or not self.discovery.is_builtin(parts[1])):
                return context.respond_not_found()
            # An unknown version of a built-in group is answered by the group's handler with a Status.
            raise NotFound.for_path()
        return context.respond_json(document, representation=representation)

    def _respond_aggregated_discovery(self, context: RequestContext, *, core: bool) -> web.StreamResponse:
        """Answer with aggregated discovery, or 304 if the client has it already."""
        body = orjson.dumps(self.discovery.build_aggregated(core=core))
        tag = f'"{hashlib.sha512(body).hexdigest().upper()}"'
        known = context.request.headers.get("If-None-Match", "") == tag
        response = context.respond(b"" if known else body, status=304 if known else 200, media=discovery.AGGREGATED)
        response.headers["Cache-Control"], response.headers["ETag"] = "public", tag
        return response

    def _find_discovery_document(self, context: RequestContext, parts: list[str]) -> Object | None:
        match parts:
            case ["api"]:
                return self.discovery.core_versions(context.request.host)
            case ["apis"]:
                return self.discovery.group_list()
            case ["api", version]:
                return self.discovery.find_resource_list("", version)
            case ["apis", group]:
                return self.discovery.find_group(group)
            case ["apis", group, version]:
                return self.discovery.find_resource_list(group, version)
        return None

    def _respond_health(self, context: RequestContext, endpoint: str, name: str) -> web.StreamResponse:
        report = health.run_checks(endpoint, name, self._checks, context.query)
        if report is None:
            return context.respond_not_found()
        response = context.respond(report.text.encode(), status=report.code, media=TEXT)
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    def _list_paths(self) -> list[str]:
        more = [_ISSUER, _KEYS, "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
        more += [
            f"/{end}/{check.name}" for end in _HEALTH_ENDPOINTS for check in health.endpoint_checks(end, self._checks)
        ]
        more += [f"/{page}" for page in self._zpages.enabled_pages]
        return sorted([*self.discovery.list_paths(), *more])


def _require_get(context: RequestContext) -> None:
    if context.request.method != "GET":
        raise MethodNotAllowed


# Some clients parse the Go version, so it has to be one.
_GO_VERSION: Final = "go1.25.5"


def version_info(version: Version) -> Object:
    """Return the content of `/version` for the emulated version."""
    effective = EffectiveVersion.from_version(version)
    return {
        "major": str(version.major),
        "minor": str(version.minor),
        "emulationMajor": str(version.major),
        "emulationMinor": str(version.minor),
        "minCompatibilityMajor": str(effective.min_compatibility.major),
        "minCompatibilityMinor": str(effective.min_compatibility.minor),
        "gitVersion": f"v{binary_version(version)}",
        "gitCommit": hashlib.sha1(binary_version(version).encode(), usedforsecurity=False).hexdigest(),
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": _GO_VERSION,
        "compiler": "gc",
        "platform": "linux/amd64",
    }
