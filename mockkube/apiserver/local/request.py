"""Request of a component in the same process: authorized, counted and traced like a request over HTTP."""

import logging
import traceback
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from mockkube_storage import errors as store_errors

from mockkube.api.errors import ApiError, Internal, MethodNotAllowed, NotFound, Unavailable
from mockkube.api.fields import quote
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.authorization.errors import new_forbidden_request
from mockkube.apiserver.http.metrics import scope_label, verb_label
from mockkube.apiserver.http.request_metrics import RequestLabels
from mockkube.apiserver.local.endpoint import LocalServer
from mockkube.apiserver.local.kind_view import KindView
from mockkube.apiserver.registry import creation, encoding
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.options import ListOptions, WriteOptions
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.client.protocol import Key
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.component_log import Level, LogLine
from mockkube.runtime.steps import yield_to_event_loop
from mockkube.runtime.tracing import current_span

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mockkube.runtime.tracing import Span, Tracer

_LOG: Final = logging.getLogger("mockkube.apiserver")
_ERROR_CODE_MIN: Final = 400
_HTTP_VERBOSITY: Final = 3
_LARGE_BYTES: Final = 8 * 1024
# Receives the warnings of a response.
WarningHandler = Callable[[Sequence[str]], None]


@dataclass(slots=True)
class LocalRequest:
    """One request as a context: authorized when entered, counted when left, with errors as the API has them."""

    server: LocalServer
    view: KindView
    scope: RequestScope
    verb: str
    options: ListOptions | None
    field_validation: str
    handle_warnings: WarningHandler
    started: float = 0.0
    trace: "AbstractContextManager[Span] | None" = None
    """Span of the request; None without a tracer."""
    others: list[Key] = field(default_factory=list)
    """Further objects, for which equal requests are sent together with this one."""
    count: int = 1
    """For how many requests it stands in the metrics."""

    @property
    def resource(self) -> Resource:
        """Requested resource."""
        return self.view.resource

    def decode(self, obj: ReadOnlyObject) -> Object:
        """Decode an object; components may leave out kind and apiVersion."""
        resource = self.resource
        if resource.accepts_other_kinds:
            # Custom resources are decoded without a Go type that would imply their kind.
            obj = {**obj, "kind": resource.kind.kind, "apiVersion": resource.api_version}
        return resource.decode(obj, self.scope, self.field_validation)

    async def create(self, obj: Object, options: WriteOptions) -> CachedObject:
        """Decode and store a new object."""
        self.scope.body_bytes = len(encoding.dumps(obj))  # what is large is worked on in a thread
        created = await creation.create(self.resource, self.scope, self.decode(obj), options)
        await give_way_after(created)
        return created

    async def create_all(self, objects: Sequence[Object], options: WriteOptions) -> list[Exception | None]:
        """Create objects in the namespace, each like `create`; return what that raises for each."""
        # Whether the user may create objects is the same for all: a creation names none.
        scope, errors = self.scope, list[Exception | None]()
        for obj in objects:
            self.scope = RequestScope(scope.user, scope.namespace, user_agent=scope.user_agent)
            try:
                await self.create(obj, options)
            except Exception as error:  # the caller handles it as that of one object
                errors.append(reported := self._to_reported_error(error))
                self._count_response(reported.code, 1)
            else:
                errors.append(None)
            if self.scope.warnings:
                self.handle_warnings(self.scope.warnings)
        self.scope, self.count = scope, errors.count(None)
        return errors

    def __enter__(self) -> Self:
        # Counted before authorization, so that a stopping server waits for this request, too.
        self.server.requests_in_flight += 1
        self.started = self.server.clock.monotonic()
        if self.server.tracer is not None:
            self._start_span(self.server.tracer)
        try:
            self._authorize()
            self._check_verb()
        except ApiError as error:
            self._finish(error.code)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.scope.warnings:
            self.handle_warnings(self.scope.warnings)
        match error:
            case None:
                self._finish(201 if self.verb == "create" else 200)
            case Exception():
                reported = self._to_reported_error(error)
                self._finish(reported.code)
                if reported is not error:
                    raise reported from error
            # Cancellation and other BaseExceptions have no status code, so they are not counted in the metrics.
            case _:
                self._finish(0)

    def _to_reported_error(self, error: Exception) -> ApiError:
        """Return the error that the API has for this one."""
        match error:
            case ApiError():
                return error
            case store_errors.Unavailable():
                return Unavailable(str(error))
            case _:  # a bug in the server is its own, not the component's
                _LOG.error("%s: %s", self.verb, "".join(traceback.format_exception(error)))
                return Internal("an unexpected error, see the server's log")

    def _start_span(self, tracer: "Tracer") -> None:
        """Start the span of the request, below that of the component if it has one."""
        from mockkube.apiserver.local.request_spans import start_request_span  # most servers have no tracer

        self.trace = start_request_span(tracer, self.verb, self.scope, self.resource)
        self.trace.__enter__()

    def _authorize(self) -> None:
        scope, resource, options = self.scope, self.resource, self.options
        requirements = options.fields.requirements if options is not None else ()
        name = scope.name or (options is not None and options.fields.get_required_value("metadata.name")) or ""
        for key in (Key(scope.namespace, name), *self.others):
            attributes = AuthorizationAttributes(
                scope.user, self.verb, resource.group, resource.plural, scope.subresource, key.namespace, key.name,
                field_requirements=requirements,
            )  # fmt: skip
            decision = self.server.authorizer.authorize(attributes)
            if not decision.allowed:
                raise new_forbidden_request(attributes, decision.reason)

    def _check_verb(self) -> None:
        """Refuse a verb that the resource or subresource does not have."""
        kind, name = self.resource.kind, self.scope.subresource
        sub = kind.subresource(name) if name else None
        if name and sub is None:
            raise NotFound.for_path()
        if self.verb not in (kind.verbs if sub is None else sub.verbs):
            raise MethodNotAllowed

    def _finish(self, code: int) -> None:
        server = self.server
        server.requests_in_flight -= 1
        if not server.requests_in_flight:
            server.idle.set()
        if self.trace is not None and (span := current_span()) is not None:
            span.attributes["http.status_code"] = code
            self.trace.__exit__(None, None, None)
        if code and self.count:
            self._count_response(code, self.count)

    def _count_response(self, code: int, count: int) -> None:
        """Count responses with a status code, and log those that are errors."""
        server, scope, resource = self.server, self.scope, self.resource
        label = scope_label(self.verb, scope.namespace, scope.name)
        labels = _make_labels(resource.group, resource.version, resource.plural, scope.subresource, self.verb, label)
        now = server.clock.monotonic()
        server.metrics.observe(labels, code, now - self.started, count=count)
        if code >= _ERROR_CODE_MIN:
            self._log_error(now, labels.verb, code)

    def _log_error(self, now: float, verb: str, code: int) -> None:
        """Log a failed request as upstream does with `-v=3`, without the reason."""
        # upstream 1.36: staging/src/k8s.io/apiserver/pkg/server/httplog/httplog.go
        # differs: successful requests are not logged, as components send far too many of them.
        scope, resource = self.scope, self.resource
        namespace = ("namespaces", scope.namespace) if scope.namespace else ()
        root = ("apis", resource.group) if resource.group else ("api",)
        parts = (*root, resource.version, *namespace, resource.plural, scope.name, scope.subresource)
        uri, agent = quote("/" + "/".join(filter(None, parts))), quote(scope.user_agent)
        text = f'"HTTP" verb="{verb}" URI={uri} userAgent={agent} resp={code}'
        self.server.log.write(now, LogLine(Level.INFO, text, _HTTP_VERBOSITY))


@lru_cache(maxsize=1024)
def _make_labels(
    group: str, version: str, plural: str, subresource: str, verb: str, scope: str
) -> RequestLabels:  # hot: per request
    return RequestLabels("", group, plural, scope, subresource, verb_label(verb), version)


async def give_way_after(cached: CachedObject) -> None:
    """Let others run after a large object: a component may write hundreds of them in one step."""
    if cached.size > _LARGE_BYTES:
        await yield_to_event_loop()
