"""Non-resource paths: discovery, health, version, metrics, OpenAPI, zpages, issuer keys; and create-only kinds."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

import orjson
from aiohttp import web

from mockkube.api.errors import MethodNotAllowed, NotAcceptable, NotFound
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.http import discovery, health, negotiation
from mockkube.apiserver.http.discovery import Discovery
from mockkube.apiserver.http.exchange import TEXT, Exchange
from mockkube.apiserver.http.health import Check
from mockkube.apiserver.http.metrics import Metrics
from mockkube.apiserver.http.paths import Target
from mockkube.apiserver.http.zpages import Pages, Subject
from mockkube.apiserver.registry.registry import Registry
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.versions import Version, binary_version

if TYPE_CHECKING:
    from mockkube.apiserver.http.openapi.serving import OpenApi

Review = Callable[[Exchange, Target], Awaitable[web.StreamResponse]]
METRICS_MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"
_ISSUER: Final = "/.well-known/openid-configuration"
_KEYS: Final = "/openid/v1/jwks"
# Time for which clients may cache the issuer's metadata and keys, as upstream.
_KEYS_SECONDS: Final = 3600
_HEALTH: Final = ("healthz", "livez", "readyz")
# Segments of the path `/apis/GROUP`.
_GROUP_DEPTH: Final = 2
_SLASHES_MAX: Final = 5


class PlainPaths:
    """Answers paths that are no resources."""

    def __init__(
        self,
        registry: Registry,
        metrics: Metrics,
        checks: list[Check],
        reviews: dict[tuple[str, str], Review],
        subject: Subject,
        custom: Callable[[], Mapping[GroupVersionKind, ReadOnlyObject]] = dict,
    ) -> None:
        self._registry = registry
        self._metrics = metrics
        self._checks = checks
        self._reviews = reviews
        self._pages = Pages(subject, registry.services.clock, self._paths)
        self.discovery = Discovery(registry)
        self._custom = custom

    @cached_property
    def _openapi(self) -> "OpenApi":
        from mockkube.apiserver.http.openapi.serving import OpenApi  # many servers are never asked for it

        return OpenApi(self._registry, self._custom)

    def reviews(self, target: Target) -> bool:
        """Return whether a resource can only be created, like SelfSubjectAccessReview."""
        return target.version == "v1" and (target.group, target.resource) in self._reviews

    def review(self, target: Target) -> Review | None:
        """Return the handler of a create-only resource, None for others; raise MethodNotAllowed for other verbs."""
        review = self._reviews.get((target.group, target.resource))
        if review is None or target.version != "v1":
            return None
        if target.verb != "create":
            raise MethodNotAllowed
        return review

    async def answer(self, exchange: Exchange, path: str) -> web.StreamResponse:
        """Answer a path, with 404 if it is unknown."""
        parts = path.removeprefix("/").split("/")
        # upstream serves discovery with and without a trailing slash, other paths only as registered.
        if parts[-1] == "" and parts[0] in ("api", "apis", "version") and path.count("/") < _SLASHES_MAX:
            parts.pop()
        match parts:
            case ["api"] | ["apis"] | ["api", _] | ["apis", _] | ["apis", _, _]:
                return self._discover(exchange, parts)
            case [endpoint, *rest] if endpoint in _HEALTH and rest != [""]:
                return self._health(exchange, endpoint, "/".join(rest))
            case ["version"]:
                _only_get(exchange)
                if not negotiation.accepts_json(exchange.accept):
                    raise negotiation.unroutable()
                return exchange.json(version_info(self._registry.services.caps.version))
            case ["metrics"]:
                return exchange.respond(self._metrics.render(), media=METRICS_MEDIA)
            case [page] if page in self._pages.served:
                return self._pages.answer(exchange, page)
            case [".well-known", "openid-configuration"] | ["openid", "v1", "jwks"]:
                return self._issuer(exchange, parts)
            case ["openapi", *_]:
                return self._openapi.answer(exchange, path)
            case [""]:
                return exchange.json({"paths": self._paths()})
        return exchange.nothing_here()

    def _issuer(self, exchange: Exchange, parts: list[str]) -> web.StreamResponse:
        """Answer with the issuer's metadata or public keys, which verify service account tokens."""
        _only_get(exchange)
        issuer, request = self._registry.services.accounts, exchange.request
        if parts[0] == "openid":
            body, media = issuer.public_keys(), "application/jwk-set+json"
        else:
            body, media = issuer.discovery(f"{request.scheme}://{request.host}{_KEYS}"), negotiation.JSON
        response = exchange.respond(orjson.dumps(body), media=media)
        response.headers["Cache-Control"] = f"public, max-age={_KEYS_SECONDS}"
        return response

    def _discover(self, exchange: Exchange, parts: list[str]) -> web.StreamResponse:
        if len(parts) == 1 and discovery.wants_aggregated(exchange.accept):
            return self._aggregated(exchange, core=parts[0] == "api")
        if parts[0] == "api" or len(parts) > _GROUP_DEPTH:
            _only_get(exchange)
        representation = negotiation.negotiate(exchange.accept, protobuf=True)
        if representation.transform:
            raise NotAcceptable(negotiation.NONE_ACCEPTED)
        document = self._document(exchange, parts)
        if document is None:
            if parts[0] == "apis" and (len(parts) == _GROUP_DEPTH or not self.discovery.is_builtin(parts[1])):
                return exchange.nothing_here()
            # An unknown version of a built-in group is answered by the group's handler with a Status.
            raise NotFound.for_path()
        return exchange.json(document, representation=representation)

    def _aggregated(self, exchange: Exchange, *, core: bool) -> web.StreamResponse:
        """Answer with aggregated discovery, or 304 if the client has it already."""
        body = orjson.dumps(self.discovery.aggregated(core=core))
        tag = f'"{hashlib.sha512(body).hexdigest().upper()}"'
        known = exchange.request.headers.get("If-None-Match", "") == tag
        response = exchange.respond(b"" if known else body, status=304 if known else 200, media=discovery.AGGREGATED)
        response.headers["Cache-Control"], response.headers["ETag"] = "public", tag
        return response

    def _document(self, exchange: Exchange, parts: list[str]) -> Object | None:
        match parts:
            case ["api"]:
                return self.discovery.core_versions(exchange.request.host)
            case ["apis"]:
                return self.discovery.group_list()
            case ["api", version]:
                return self.discovery.resource_list("", version)
            case ["apis", group]:
                return self.discovery.group(group)
            case ["apis", group, version]:
                return self.discovery.resource_list(group, version)
        return None

    def _health(self, exchange: Exchange, endpoint: str, name: str) -> web.StreamResponse:
        report = health.report(endpoint, name, self._checks, exchange.query)
        if report is None:
            return exchange.nothing_here()
        response = exchange.respond(report.text.encode(), status=report.code, media=TEXT)
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    def _paths(self) -> list[str]:
        more = [_ISSUER, _KEYS, "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
        more += [f"/{end}/{check.name}" for end in _HEALTH for check in health.checks_of(end, self._checks)]
        more += [f"/{page}" for page in self._pages.served]
        return sorted([*self.discovery.paths(), *more])


def _only_get(exchange: Exchange) -> None:
    if exchange.request.method != "GET":
        raise MethodNotAllowed


# Some clients parse the Go version, so it has to be one.
_GO: Final = "go1.25.5"


def version_info(version: Version) -> Object:
    """Return the content of `/version` for the emulated version."""
    standing = EffectiveVersion.from_version(version)
    return {
        "major": str(version.major),
        "minor": str(version.minor),
        "emulationMajor": str(version.major),
        "emulationMinor": str(version.minor),
        "minCompatibilityMajor": str(standing.min_compatibility.major),
        "minCompatibilityMinor": str(standing.min_compatibility.minor),
        "gitVersion": f"v{binary_version(version)}",
        "gitCommit": hashlib.sha1(binary_version(version).encode(), usedforsecurity=False).hexdigest(),
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": _GO,
        "compiler": "gc",
        "platform": "linux/amd64",
    }
