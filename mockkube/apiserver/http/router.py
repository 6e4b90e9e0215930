"""Route a request: authenticate, parse its path, authorize, call the handler; turn errors into a Status."""

import logging
import traceback
from typing import Final

from aiohttp import web
from mockkube_storage import errors as store_errors

from mockkube.api import documents
from mockkube.api.errors import ApiError, BadRequest, Internal, MethodNotAllowed, NotFound, Unauthorized, Unavailable
from mockkube.apiserver.http import handlers, paths, subresources
from mockkube.apiserver.http.aggregated_apis import Proxy
from mockkube.apiserver.http.asked import Asked
from mockkube.apiserver.http.authentication import Authenticator
from mockkube.apiserver.http.authorization import Doorkeeper, asking_for_path, asking_for_resource
from mockkube.apiserver.http.exchange import Exchange, parse_query
from mockkube.apiserver.http.metrics import Metrics, dry_run_label, scope_label, verb_label
from mockkube.apiserver.http.paths import Target
from mockkube.apiserver.http.plain import PlainPaths
from mockkube.apiserver.http.request_metrics import RequestLabels
from mockkube.apiserver.http.streams import Streams
from mockkube.apiserver.identity.user import ANONYMOUS, InvalidCredentials, User
from mockkube.apiserver.registry.authorizer import Attributes
from mockkube.apiserver.registry.options import Query, flag, judge_timeout
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource
from mockkube.runtime.chance import Random
from mockkube.runtime.clock import Clock

_LOG: Final = logging.getLogger("mockkube.apiserver")


class Router:
    """HTTP handler of one API server, from authentication to the response."""

    def __init__(
        self,
        registry: Registry,
        authenticator: Authenticator,
        doorkeeper: Doorkeeper,
        clock: Clock,
        metrics: Metrics,
        plain: PlainPaths,
        proxy: Proxy,
    ) -> None:
        self._registry = registry
        self._authenticator = authenticator
        self._doorkeeper = doorkeeper
        self._clock = clock
        self._metrics = metrics
        self._plain = plain
        self._proxy = proxy
        self._chance = Random()  # not seeded: these ids are never stored
        self.streams = Streams()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; a bug in a handler becomes a logged 500."""
        started = self._clock.monotonic()
        path, _, query_text = request.raw_path.partition("?")
        protobuf = self._registry.services.protobuf
        # The id comes back as a response header, so a client's id is only taken if it cannot break the header.
        given_id = request.headers.get("Audit-Id", "")
        audit_id = given_id if given_id and given_id.isascii() and given_id.isprintable() else self._chance.new_uid()
        context = Exchange(request, ANONYMOUS, {}, streams=self.streams, protobuf=protobuf, audit_id=audit_id)
        target: Target | None = None
        try:
            context.query = query = parse_query(query_text)
            # upstream refuses a malformed `timeout` before it authenticates (filter WithRequestDeadline).
            judge_timeout(query)
            context.user = self._user(request)
            target = paths.parse(
                request.method, _decoded(path, request), watch="watch" in query and flag(query, "watch")
            )
            response = await self._dispatch(context, target, path)
        except ApiError as error:
            response = context.error(error)
        # A document that the parser accepts can still be too deep for the recursive functions behind it.
        except RecursionError:
            response = context.error(BadRequest(f"the request is nested too deeply: {documents.TOO_DEEP}"))
        except store_errors.Unavailable as error:
            response = context.error(Unavailable(str(error)))
        # The client is gone, or aiohttp answers for itself: there is no response to build.
        except (ConnectionError, web.HTTPException):
            raise
        except Exception as error:  # a bug must neither end the server nor show its internals to clients
            _LOG.error("%s %s: %s", request.method, path, "".join(traceback.format_exception(error)))
            response = context.error(Internal("an unexpected error, see the server's log"))
        self._observe(target, query=context.query, code=response.status, seconds=self._clock.monotonic() - started)
        return response

    def _user(self, request: web.BaseRequest) -> User:
        try:
            user = self._authenticator.authenticate(request)
        except InvalidCredentials as error:
            raise Unauthorized from error
        if user is None:
            raise Unauthorized
        return user

    def _admit(self, exchange: Exchange, asked: Attributes) -> None:
        exchange.user = self._doorkeeper.admit(asked, exchange.request.headers)

    async def _dispatch(self, exchange: Exchange, target: Target | None, path: str) -> web.StreamResponse:
        # An APIService also claims paths below its group that are no resources, like its discovery, so this comes
        # before the check for a resource path.
        if (backend := self._proxy.backend(path)) is not None:
            self._admit(exchange, _asking(exchange, target, path))
            return await self._proxy.answer(exchange, backend)
        if target is None:
            self._admit(exchange, asking_for_path(exchange.user, exchange.request.method, path))
            return await self._plain.answer(exchange, path)
        self._admit(exchange, asking_for_resource(exchange.user, target, exchange.query))
        # upstream authorizes before it routes: a user without permission gets 403, not 405, for an unknown method.
        if not target.verb or exchange.request.method == "HEAD":
            raise MethodNotAllowed
        registry = self._registry.of_group(target.group)
        review = self._plain.review(target)
        if review is not None:
            return await review(exchange, target)
        resource = registry.resources.get((target.group, target.version, target.resource))
        if resource is None and (target.group, target.resource, target.subresource) in registry.family.pages:
            return await self._tell(registry, target, exchange)
        if resource is None or target.misplaced or _out_of_scope(target, resource):
            # upstream: inside an installed group the group's handler answers with a Status, elsewhere the mux with
            # plain text.
            if registry.has_group(target.group):
                raise NotFound.for_path()
            return exchange.nothing_here()
        namespace = target.namespace if resource.kind.namespaced else ""
        scope = Call(
            exchange.user, namespace, target.name, target.subresource, exchange.user_agent, warnings=exchange.warnings
        )
        if resource.kind.deprecation:
            scope.warn([resource.kind.deprecation])
        choose = subresources.handler_of if target.subresource else handlers.handler_of
        return await choose(target, resource)(Asked(registry, resource, target, exchange, scope))

    async def _tell(self, registry: Registry, target: Target, exchange: Exchange) -> web.StreamResponse:
        """Answer a subresource that a group serves for an object of the core group (metrics, flagz, statusz)."""
        resource = self._registry.resources.get(("", "v1", target.resource))
        known = any(target.group == group and target.version == version for group, version, _ in registry.resources)
        if (
            resource is None
            or not known
            or not target.name
            or target.rest
            or resource.kind.namespaced != bool(target.namespace)
        ):
            raise NotFound.for_path()
        if target.verb != "get":
            raise MethodNotAllowed
        scope = Call(exchange.user, target.namespace, target.name, target.subresource, exchange.user_agent)
        page = registry.family.pages[target.group, target.resource, target.subresource]
        response: web.StreamResponse = await page(Asked(registry, resource, target, exchange, scope))
        return response

    def _observe(self, target: Target | None, *, query: Query, code: int, seconds: float) -> None:
        if target is None or not self._is_served(target):
            return  # labels are what is served, so that no client decides how many there are
        labels = RequestLabels(
            dry_run=dry_run_label(query.get("dryRun", ())),
            group=target.group,
            resource=target.resource,
            scope=scope_label(target.verb, target.namespace, target.name),
            subresource=target.subresource,
            verb=verb_label(target.verb),
            version=target.version,
        )
        self._metrics.observe(labels, code, seconds)

    def _is_served(self, target: Target) -> bool:
        """Return whether the request is for a resource, or subresource, that is served."""
        registry = self._registry.of_group(target.group)
        resource = registry.resources.get((target.group, target.version, target.resource))
        if resource is None:
            return not target.subresource and self._plain.reviews(target)
        return not target.subresource or resource.kind.subresource(target.subresource) is not None


def _asking(exchange: Exchange, target: Target | None, path: str) -> Attributes:
    """Return the authorizer attributes of a request for an aggregated API."""
    if target is None:
        return asking_for_path(exchange.user, exchange.request.method, path)
    return asking_for_resource(exchange.user, target, exchange.query)


def _out_of_scope(target: Target, resource: Resource) -> bool:
    """Return whether a custom resource is requested with a namespace it has not, or without the one it needs."""
    if not resource.open_kind or bool(target.namespace) == resource.kind.namespaced:
        return False
    # A namespaced kind can be listed and watched over all namespaces.
    return bool(target.namespace) or target.verb not in ("list", "watch")


def _decoded(path: str, request: web.BaseRequest) -> str:
    return request.path if "%" in path else path
