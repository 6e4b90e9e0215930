"""HTTP middleware in front of an API server that injects the cluster's faults into requests."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from mockkube_storage.errors import Compacted

from mockkube.api.errors import ApiError, Expired, NotFound
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests import request_info
from mockkube.apiserver.http.requests.body_observers import add_body_observer
from mockkube.apiserver.http.requests.observed_request import ObservedRequest
from mockkube.apiserver.http.requests.request_context import RequestContext, parse_query
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.http.requests.watch_delivery import set_watch_delivery
from mockkube.apiserver.http.responses import negotiation, rendering
from mockkube.apiserver.identity.user import ANONYMOUS_USER
from mockkube.apiserver.registry.options import Query, parse_bool
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Resource
from mockkube.cluster.api_servers.tcp_listener import Handler
from mockkube.cluster.faults.faults import READS, FaultInjection, FaultRequest, Faults
from mockkube.cluster.faults.watch_delivery import FaultyWatchDelivery
from mockkube.runtime.clock import Clock

if TYPE_CHECKING:
    from mockkube.apiserver.server import ApiServer

_VERSION: Final = "resourceVersion"
_MATCH: Final = "resourceVersionMatch"
_STALE_STATUSES: Final = (200, 404)
_ERROR_MIN: Final = 400


class FaultInjectionMiddleware:
    """Passes requests on to one server after injecting faults; requests to the control API are exempt."""

    def __init__(self, server: str, faults: Faults, clock: Clock, *, is_exempt: Callable[[str], bool]) -> None:
        self._server = server
        self._faults = faults
        self._clock = clock
        self._is_exempt = is_exempt
        self._watches: dict[asyncio.Transport, FaultRequest] = {}

    def wrap(self, handler: Handler, server: "ApiServer | None") -> Handler:
        """Return a handler that wraps this one; `server` identifies users, and its registry serves stale reads."""
        registry = None if server is None else server.registry

        async def handle(request: web.BaseRequest) -> web.StreamResponse:  # hot: per request
            # Without faults only watches are described and tracked: a fault that comes later may cut them.
            if not self._faults and self._faults.on_request is None and not _may_watch(request):
                return await handler(request)
            needs_user = self._faults.on_request is not None or self._faults.matches_users
            user = server.handler.find_user_name(request) if needs_user and server is not None else ""
            fault_request, target = self._describe_request(request, user)
            observed = self._observe(request, fault_request, target, registry)
            injection = None if self._is_exempt(request.path) else self._faults.find_injection(fault_request)
            if injection is not None and injection.delay_seconds:
                await self._clock.sleep(injection.delay_seconds)
            with self._track_watch(fault_request, request):
                if fault_request.verb == "watch":
                    start_revision = 0 if injection is None else injection.stale_revision
                    set_watch_delivery(request, FaultyWatchDelivery(self._faults, fault_request, start_revision))
                response = await self._answer(request, injection, target, registry, handler)
            if observed is not None:
                observed.status = response.status
                self._faults.on_response(observed)
            return response

        return handle

    def _observe(
        self, request: web.BaseRequest, fault_request: FaultRequest, info: RequestInfo | None, registry: Registry | None
    ) -> ObservedRequest | None:
        """Pass a request to the observer of the cluster; return None if there is no observer."""
        if self._faults.on_request is None:
            return None
        version = "" if info is None else info.version
        resource = (
            None if registry is None else registry.resources.get((fault_request.group, version, fault_request.resource))
        )
        observed = ObservedRequest(
            at=self._clock.now(),
            verb=fault_request.verb,
            user=fault_request.user,
            user_agent=fault_request.user_agent,
            is_from_component=False,
            path=request.path,
            group=fault_request.group,
            version=version,
            kind="" if resource is None else resource.kind.kind,
            resource=fault_request.resource,
            subresource=fault_request.subresource,
            namespace=fault_request.namespace,
            name=fault_request.name,
            from_cache=fault_request.from_cache,
        )
        add_body_observer(request, observed.set_body)
        self._faults.on_request(observed)
        return observed

    def cut_watches(self, names: Iterable[str]) -> None:
        """Cut the open watches that match these new faults."""
        names = tuple(names)
        for transport, fault_request in list(self._watches.items()):
            if self._faults.cuts_watch(fault_request, names):
                # Aborted, not closed: the client sees a broken connection, as when a load balancer drops it.
                transport.abort()

    def _describe_request(self, request: web.BaseRequest, user: str) -> tuple[FaultRequest, RequestInfo | None]:
        """Return a request as faults match it, and its target."""
        query = parse_query(request.query_string)
        target = request_info.parse_request_info(
            request.method, request.path, watch="watch" in query and parse_bool(query, "watch")
        )
        user_agent = request.headers.get("User-Agent", "")
        if target is None:
            return FaultRequest(self._server, user_agent, request.method.lower(), user=user), None
        return (
            FaultRequest(
                server=self._server,
                user_agent=user_agent,
                verb=target.verb,
                group=target.group,
                resource=target.resource,
                subresource=target.subresource,
                namespace=target.namespace,
                name=target.name,
                from_resource_version=query.get(_VERSION, ["0"])[0] not in ("", "0") or "continue" in query,
                from_cache=query.get(_VERSION, [""])[0] == "0" and _MATCH not in query,
                user=user,
            ),
            target,
        )

    @contextmanager
    def _track_watch(self, fault_request: FaultRequest, request: web.BaseRequest) -> Iterator[None]:
        """Track an open watch, so that it can be cut."""
        transport = request.transport
        if fault_request.verb != "watch" or transport is None:
            yield
            return
        self._watches[transport] = fault_request
        try:
            yield
        finally:
            self._watches.pop(transport, None)

    async def _answer(
        self,
        request: web.BaseRequest,
        injection: FaultInjection | None,
        info: RequestInfo | None,
        registry: Registry | None,
        handler: Handler,
    ) -> web.StreamResponse:
        """Answer with the injected error, cut connection or stale read, else by the handler."""
        if injection is None:
            return await handler(request)
        if (error := injection.make_error()) is not None:
            return _respond_error(request, error)
        if injection.cuts_watch:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if (error := injection.make_error(after_effect=True)) is not None:
            response = await handler(request)
            return response if response.status >= _ERROR_MIN else _respond_error(request, error)
        if injection.stale_revision and info is not None and info.verb in READS and registry is not None:
            return await _answer_stale_read(request, info, injection.stale_revision, registry, handler)
        return await handler(request)


def _respond_error(request: web.BaseRequest, error: ApiError) -> web.Response:
    return RequestContext(request, ANONYMOUS_USER, {}).respond_error(error)


def _may_watch(request: web.BaseRequest) -> bool:
    """Return whether a request may be a watch; cheap, because every request is checked."""
    return "watch" in request.query_string or "/watch/" in request.path


async def _answer_stale_read(
    request: web.BaseRequest, info: RequestInfo, revision: int, registry: Registry, handler: Handler
) -> web.StreamResponse:
    """Answer a read from a past revision, with the authorization of the real handler."""
    if info.verb == "list":
        query = parse_query(request.query_string)
        return await handler(
            request.clone(rel_url=request.rel_url.with_query(_make_query_at_revision(query, revision)))
        )
    # The real handler runs first, so that authentication and authorization apply; its object is replaced then.
    answer = await handler(request)
    resource = registry.find(info.group, info.version, info.resource)
    if answer.status not in _STALE_STATUSES or resource is None:
        return answer
    exchange = RequestContext(request, ANONYMOUS_USER, parse_query(request.query_string))
    try:
        return await _answer_at_revision(exchange, resource, info, revision)
    except ApiError as error:
        return exchange.respond_error(error)


def _make_query_at_revision(query: Query, revision: int) -> list[tuple[str, str]]:
    """Return a list query for an exact revision; continue tokens have one already."""
    pairs = [(name, value) for name, values in query.items() for value in values]
    if "continue" in query:
        return pairs
    kept = [(name, value) for name, value in pairs if name not in (_VERSION, _MATCH)]
    return [*kept, (_VERSION, str(revision)), (_MATCH, "Exact")]


async def _answer_at_revision(
    context: RequestContext, resource: Resource, info: RequestInfo, revision: int
) -> web.Response:
    """Answer with an object as of a revision."""
    namespace = info.namespace if resource.kind.namespaced else ""
    try:
        entry = await resource.dependencies.store.get(resource.key(namespace, info.name), revision=revision)
    except Compacted as error:
        raise Expired(f"too old resource version: {revision} ({error.oldest})") from error
    if entry is None:
        raise NotFound.for_object(resource.group, resource.plural, info.name)
    representation = negotiation.negotiate_output(context.accept)
    body = rendering.render_object(
        resource, resource.storage_resource.decode_entry(entry), representation, context.output_options()
    )
    return context.respond(body, media=representation.media)
