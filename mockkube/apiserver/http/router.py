"""Route a request: authenticate, parse its path, authorize, call the handler; turn errors into a Status."""

import asyncio
import logging
import traceback
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from mockkube_storage import errors as store_errors

from mockkube.api.decoding import documents
from mockkube.api.errors import (
    ApiError,
    BadRequest,
    Forbidden,
    Internal,
    MethodNotAllowed,
    NotFound,
    Unauthorized,
    Unavailable,
)
from mockkube.apiserver.http import web
from mockkube.apiserver.http.connections import Http2Request
from mockkube.apiserver.http.filters.audit import RequestAuditor
from mockkube.apiserver.http.filters.authentication import Authenticator, bearer_token
from mockkube.apiserver.http.filters.authorization import RequestAuthorizer, get_attributes
from mockkube.apiserver.http.handlers import resource_handlers, subresources
from mockkube.apiserver.http.handlers.non_resource_paths import NonResourcePaths
from mockkube.apiserver.http.handlers.proxy_handler import ProxyHandler
from mockkube.apiserver.http.metrics import ApiServerMetrics, dry_run_label, scope_label, verb_label
from mockkube.apiserver.http.request_metrics import RequestLabels
from mockkube.apiserver.http.requests import request_info
from mockkube.apiserver.http.requests.open_watches import OpenWatches
from mockkube.apiserver.http.requests.request_context import RequestContext, parse_query
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.http.requests.resource_request import ResourceRequest
from mockkube.apiserver.identity.user import ALL_UNAUTHENTICATED, ANONYMOUS_USER, InvalidCredentials, User
from mockkube.apiserver.registry.options import Query, parse_bool, validate_timeout
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random

if TYPE_CHECKING:
    from mockkube.apiserver.http.handlers.kubelet_forwarder import KubeletForwarder
    from mockkube.apiserver.http.requests.request_tracing import RequestTrace
    from mockkube.runtime.tracing import Tracer

_LOG: Final = logging.getLogger("mockkube.apiserver")


class Router:
    """HTTP handler of one API server, from authentication to the response."""

    def __init__(
        self,
        registry: Registry,
        authenticator: Authenticator,
        request_authorizer: RequestAuthorizer,
        clock: Clock,
        metrics: ApiServerMetrics,
        non_resource_paths: NonResourcePaths,
        proxy_handler: ProxyHandler,
        auditor: RequestAuditor | None = None,
        kubelet_forwarder: "KubeletForwarder | None" = None,
        tracer: "Tracer | None" = None,
    ) -> None:
        self._registry = registry
        self._tracer = tracer
        self._authenticator = authenticator
        self._request_authorizer = request_authorizer
        self._clock = clock
        self._metrics = metrics
        self._non_resource_paths = non_resource_paths
        self._proxy_handler = proxy_handler
        self._auditor = auditor
        self._kubelet_forwarder = kubelet_forwarder
        self._limits_http2 = registry.dependencies.capabilities.enabled("UnauthenticatedHTTP2DOSMitigation")
        self._random = Random()  # not seeded: these ids are never stored
        self.open_watches = OpenWatches()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; a bug in a handler becomes a logged 500."""
        if self._tracer is not None:
            from mockkube.apiserver.http.requests.request_tracing import trace_request  # most servers have no tracer

            return await trace_request(self._tracer, request, self._answer)
        return await self._answer(request)

    async def _answer(self, request: web.BaseRequest, trace: "RequestTrace | None" = None) -> web.StreamResponse:
        started = self._clock.monotonic()
        path, _, query_text = request.raw_path.partition("?")
        protobuf = self._registry.dependencies.protobuf
        # The id comes back as a response header, so a client's id is only taken if it cannot break the header.
        given_id = request.headers.get("Audit-Id", "")
        audit_id = given_id if given_id and given_id.isascii() and given_id.isprintable() else self._random.new_uid()
        context = RequestContext(
            request, ANONYMOUS_USER, {}, open_watches=self.open_watches, protobuf=protobuf, audit_id=audit_id
        )
        info: RequestInfo | None = None
        try:
            context.query = query = parse_query(query_text)
            # upstream refuses a malformed `timeout` before it authenticates (filter WithRequestDeadline).
            validate_timeout(query)
            context.user = await self._authenticate(context)
            info = request_info.parse_request_info(
                request.method, _decode_path(path, request), watch="watch" in query and parse_bool(query, "watch")
            )
            if self._auditor is not None:
                context.audit_event = self._auditor.begin(context, info, path)
            context.trace = trace
            if trace is not None:
                trace.start(context.user, info, path, audit_id)
            response = await self._dispatch(context, info, path)
        except ApiError as error:
            response = context.respond_error(error)
        # A document that the parser accepts can still be too deep for the recursive functions behind it.
        except RecursionError:
            response = context.respond_error(BadRequest(f"the request is nested too deeply: {documents.TOO_DEEP}"))
        except store_errors.Unavailable as error:
            response = context.respond_error(Unavailable(str(error)))
        # The client is gone, or aiohttp answers for itself: there is no response to build.
        except (ConnectionError, web.HTTPException, asyncio.CancelledError):
            if context.audit_event is not None:
                context.audit_event.complete_early()
            raise
        except Exception as error:  # a bug must neither end the server nor show its internals to clients
            _LOG.error("%s %s: %s", request.method, path, "".join(traceback.format_exception(error)))
            response = context.respond_error(Internal("an unexpected error, see the server's log"))
        if context.audit_event is not None and self._auditor is not None:
            self._auditor.complete(context.audit_event, response)
        self._record_metrics(info, query=context.query, code=response.status, seconds=self._clock.monotonic() - started)
        return response

    def find_user_name(self, request: web.BaseRequest) -> str:
        """Return the user that a request wants to act as, before any check of permissions; empty if it has none."""
        try:
            user = self._authenticator.authenticate(request)
        except InvalidCredentials:
            return ""
        return request.headers.get("Impersonate-User") or ("" if user is None else user.name)

    async def _authenticate(self, context: RequestContext) -> User:
        request = context.request
        try:
            user = self._authenticator.authenticate(request)
        except InvalidCredentials:
            user = await self._authenticate_again(request)
        # upstream 1.36: apiserver/pkg/endpoints/filters/authentication.go: streams are cheap for attackers
        if isinstance(request, Http2Request) and (user is None or ALL_UNAUTHENTICATED in user.groups):
            request.ends_connection = self._limits_http2
        if user is None:
            if self._auditor is not None:
                self._auditor.record_failed_authentication(context, request.path)
            raise Unauthorized
        return user

    async def _authenticate_again(self, request: web.BaseRequest) -> User | None:
        """Return the user of a token of a service account that is new to this server, or one the webhook knows."""
        if self._registry.dependencies.is_store_shared:
            await self._registry.dependencies.watch_cache.wait_until_fresh()
            with suppress(InvalidCredentials):
                return self._authenticator.authenticate(request)
        return await self._ask_webhook(request)

    async def _ask_webhook(self, request: web.BaseRequest) -> User | None:
        """Return the user of a token that only the token webhook knows; None if it does not, or there is none."""
        token = bearer_token(request.headers.get("Authorization", ""))
        if self._authenticator.webhook is None or token is None:
            return None
        try:
            return (await self._authenticator.review_token(token)).user
        except InvalidCredentials:
            return None

    async def _authorize(self, context: RequestContext, info: RequestInfo | None, path: str) -> None:
        attributes = get_attributes(context.user, context.request.method, path, info, context.query)
        authorize, headers = self._request_authorizer.authorize, context.request.headers
        try:
            context.user = authorize(attributes, headers, context.audit_event)
        except Forbidden:
            if not self._registry.dependencies.is_store_shared:
                raise
            # Another server may just have answered the request that grants the permission.
            await self._registry.dependencies.watch_cache.wait_until_fresh()
            context.user = authorize(attributes, headers, context.audit_event)
        if context.trace is not None:
            context.trace.record_authorization(info)

    async def _dispatch(self, context: RequestContext, info: RequestInfo | None, path: str) -> web.StreamResponse:
        # An APIService also claims paths below its group that are no resources, like its discovery, so this comes
        # before the check for a resource path.
        if (aggregated_api := self._proxy_handler.find_aggregated_api(path)) is not None:
            await self._authorize(context, info, path)
            if aggregated_api.computed is not None:
                from mockkube.apiserver.http.handlers import computed_apis  # many servers are never asked for usage

                await self._registry.dependencies.watch_cache.wait_until_fresh()
                return computed_apis.respond(context, aggregated_api.computed, info)
            return await self._proxy_handler.proxy(context, aggregated_api)
        await self._authorize(context, info, path)
        if info is None:
            return await self._non_resource_paths.respond(context, path)
        # upstream authorizes before it routes: a user without permission gets 403, not 405, for an unknown method.
        method = context.request.method
        is_refused = not info.verb or method == "HEAD"
        if is_refused and not (info.subresource == "proxy" and method in ("HEAD", "OPTIONS")):
            raise MethodNotAllowed
        registry = self._registry.registry_of_group(info.group)
        review = self._non_resource_paths.find_review_handler(info)
        if review is not None:
            return await review(context, info)
        resource = registry.resources.get((info.group, info.version, info.resource))
        if resource is None and await registry.serve_new_crd(info.group, info.resource):
            resource = registry.resources.get((info.group, info.version, info.resource))
        if resource is None and (info.group, info.resource, info.subresource) in registry.kind_set.get_handlers:
            return await self._respond_extra_subresource(registry, info, context)
        if resource is None or info.has_empty_segment or _is_out_of_scope(info, resource):
            # upstream: inside an installed group the group's handler answers with a Status, elsewhere the mux with
            # plain text.
            if registry.has_built_in_group(info.group):
                raise NotFound.for_path()
            return context.respond_not_found()
        namespace = info.namespace if resource.kind.namespaced else ""
        scope = RequestScope(
            context.user, namespace, info.name, info.subresource, context.user_agent, warnings=context.warnings
        )
        if info.verb in ("update", "patch"):
            scope.authorize_creation = partial(self._request_authorizer.authorize_creation, context.user, info)
        if resource.kind.deprecation:
            scope.warn([resource.kind.deprecation])
        if resource.dependencies.warnings:
            scope.warn(resource.dependencies.warnings)
        if self._kubelet_forwarder is not None:
            response = await self._kubelet_forwarder.respond(context, info)
            if response is not None:
                return response
        find_handler = subresources.find_handler if info.subresource else resource_handlers.find_handler
        return await find_handler(info, resource)(ResourceRequest(registry, resource, info, context, scope))

    async def _respond_extra_subresource(
        self, registry: Registry, info: RequestInfo, context: RequestContext
    ) -> web.StreamResponse:
        """Answer a subresource that a group serves for an object of the core group (metrics, flagz, statusz)."""
        resource = self._registry.resources.get(("", "v1", info.resource))
        known = any(info.group == group and info.version == version for group, version, _ in registry.resources)
        if (
            resource is None
            or not known
            or not info.name
            or info.rest
            or resource.kind.namespaced != bool(info.namespace)
        ):
            raise NotFound.for_path()
        if info.verb != "get":
            raise MethodNotAllowed
        scope = RequestScope(context.user, info.namespace, info.name, info.subresource, context.user_agent)
        handler = registry.kind_set.get_handlers[info.group, info.resource, info.subresource]
        response: web.StreamResponse = await handler(ResourceRequest(registry, resource, info, context, scope))
        return response

    def _record_metrics(self, info: RequestInfo | None, *, query: Query, code: int, seconds: float) -> None:
        if info is None or not self._is_served(info):
            return  # labels are what is served, so that no client decides how many there are
        labels = RequestLabels(
            dry_run_label(query["dryRun"]) if "dryRun" in query else "",
            info.group,
            info.resource,
            scope_label(info.verb, info.namespace, info.name),
            info.subresource,
            verb_label(info.verb),
            info.version,
        )
        self._metrics.observe(labels, code, seconds)

    def _is_served(self, info: RequestInfo) -> bool:
        """Return whether the request is for a resource, or subresource, that is served."""
        registry = self._registry.registry_of_group(info.group)
        resource = registry.resources.get((info.group, info.version, info.resource))
        if resource is None:
            return not info.subresource and self._non_resource_paths.is_create_only(info)
        return not info.subresource or resource.kind.subresource(info.subresource) is not None


def _is_out_of_scope(info: RequestInfo, resource: Resource) -> bool:
    """Return whether a custom resource is requested with a namespace it has not, or without the one it needs."""
    if not resource.accepts_other_kinds or bool(info.namespace) == resource.kind.namespaced:
        return False
    # A namespaced kind can be listed and watched over all namespaces.
    return bool(info.namespace) or info.verb not in ("list", "watch")


def _decode_path(path: str, request: web.BaseRequest) -> str:
    return request.path if "%" in path else path
