"""Client of an API server in the same process: calls the registry without HTTP.

Requests pass the same authorization, admission and registry functions; only parsing and rendering are left out.
"""

import asyncio
import logging
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from mockkube_storage import errors as store_errors
from mockkube_storage.store import BatchStore

from mockkube.api.errors import ApiError, Internal, MethodNotAllowed, NotFound, Unavailable, UnsupportedMediaType
from mockkube.api.fields import quote
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.authorization.errors import new_forbidden_request
from mockkube.apiserver.http.metrics import scope_label, verb_label
from mockkube.apiserver.http.request_metrics import RequestLabels
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.local import reviews, subresources
from mockkube.apiserver.local.endpoint import LocalEndpoint, LocalServer
from mockkube.apiserver.local.kind_view import KindView, LocalWatch
from mockkube.apiserver.registry import (
    creation,
    deletion,
    encoding,
    heartbeats,
    listing,
    patching,
    updating,
    watching,
)
from mockkube.apiserver.registry import options as registry_options
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes
from mockkube.apiserver.registry.heartbeats import (
    HeartbeatRound,
    HeartbeatSender,
    ObservedUpdate,
    PreparedHeartbeat,
)
from mockkube.apiserver.registry.options import ListOptions, WriteOptions, parse_list_options
from mockkube.apiserver.registry.patching import Patch
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.updating import UpdateResult
from mockkube.apiserver.registry.watch_cache import CachedObject
from mockkube.client.batches import try_create, try_update
from mockkube.client.identity import ClientIdentity
from mockkube.client.protocol import (
    DELETE_DEFAULT,
    EVERYTHING,
    NO_QUERY,
    DeleteOptions,
    Key,
    ObjectList,
    Selection,
    key_of,
)
from mockkube.client.versioned_decoder import VersionedDecoder
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.component_log import Level, LogLine
from mockkube.runtime.steps import yield_to_event_loop
from mockkube.runtime.tracing import current_span

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mockkube.apiserver.local.computed_objects import ComputedKind
    from mockkube.runtime.tracing import Span, Tracer

_LOG: Final = logging.getLogger("mockkube.apiserver")
_WRITE_OPTIONS: Final = WriteOptions(field_validation="Ignore")
_ERROR_CODE_MIN: Final = 400
_HTTP_VERBOSITY: Final = 3
WarningHandler = Callable[[Sequence[str]], None]


def _ignore_warnings(warnings: Sequence[str]) -> None:
    pass


# Heartbeats in one commit; a kubelet's component has those of a tenth of all its nodes to write at one moment.
_BATCH_MAX: Final = 128
_SLICE_BYTES: Final = 256 * 1024
_LARGE_BYTES: Final = 8 * 1024


class LocalClient:
    """Client of the API server at a local endpoint; it outlives restarts of the server.

    `decoder` decodes objects as the component's version does (None: as the server's). `write_options` are the options
    of its writes; `handle_warnings` receives the warnings of each response, errors included.
    """

    def __init__(
        self,
        endpoint: LocalEndpoint,
        identity: ClientIdentity,
        decoder: VersionedDecoder | None = None,
        *,
        write_options: WriteOptions = _WRITE_OPTIONS,
        handle_warnings: WarningHandler = _ignore_warnings,
    ) -> None:
        self.identity = identity
        self._endpoint, self._decoder, self._write_options, self._handle_warnings = (
            endpoint,
            decoder,
            write_options,
            handle_warnings,
        )
        self._user = User(identity.user, groups=identity.groups)

    def _open_request(
        self, verb: str, kind: str, key: Key, *, subresource: str = "", options: ListOptions | None = None
    ) -> "_LocalRequest":
        server = self._endpoint.get_server()
        view = server.get_view(kind, self._decoder)
        scope = RequestScope(self._user, key.namespace, key.name, subresource, self.identity.user_agent)
        # As in a path of HTTP: a cluster-scoped kind has no namespace.
        if not view.resource.kind.namespaced:
            scope.namespace = ""
        return _LocalRequest(
            server, view, scope, verb, options, self._write_options.field_validation, self._handle_warnings
        )

    def _find_computed_kind(self, kind: str) -> "ComputedKind | None":
        server = self._endpoint.get_server()
        if server.has_view(kind, self._decoder):
            return None
        from mockkube.apiserver.local.computed_objects import find_computed_kind  # only autoscalers read such kinds

        return find_computed_kind(server, kind, self._user)

    async def get(self, kind: str, key: Key, *, subresource: str = "") -> ReadOnlyObject:
        """Return the current object, or its subresource `scale`."""
        if (computed := self._find_computed_kind(kind)) is not None:
            return await computed.get(key)
        with self._open_request("get", kind, key, subresource=subresource) as request:
            resource = request.resource
            if subresource:
                return await subresources.read_subresource(resource, request.scope)
            await resource.dependencies.watch_cache.wait_until_fresh()
            cached = resource.get_cached(request.scope.namespace, request.scope.name)
            if cached is None:
                raise NotFound.for_object(resource.group, resource.plural, key.name)
            return request.view.get_object(cached)

    async def get_path(self, path: str, query: Mapping[str, str] = NO_QUERY) -> ReadOnlyObject:
        """Return the values of a metric at a path."""
        from mockkube.apiserver.local.computed_objects import read_metric_values  # only autoscalers read them

        return await read_metric_values(self._endpoint.get_server(), path, query, self._user)

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> ObjectList:
        """Return the selected objects."""
        options = _to_list_options(selection)
        if (computed := self._find_computed_kind(kind)) is not None:
            return await computed.list(selection.namespace, options)
        with self._open_request("list", kind, Key(selection.namespace, ""), options=options) as request:
            page = await listing.list_page(request.resource, request.scope.namespace, options)
            objects, size = list[ReadOnlyObject](), 0
            for cached in page.items:
                objects.append(request.view.get_object(cached))
                size += cached.size
                if size > _SLICE_BYTES:  # decoding takes milliseconds, which others need not wait for
                    await yield_to_event_loop()
                    size = 0
            return ObjectList(objects, str(page.revision))

    async def watch(self, kind: str, selection: Selection, after: str) -> LocalWatch:
        """Watch the selected objects from a resource version on; raise Expired if it is too old."""
        options = _to_list_options(selection, after)
        with self._open_request("watch", kind, Key(selection.namespace, ""), options=options) as request:
            opened = await watching.open_watch(request.resource, request.scope.namespace, options)
            return LocalWatch(opened, request.view, request.server.watches)

    async def create(self, kind: str, obj: Object, *, subresource: str = "", name: str = "") -> ReadOnlyObject:
        """Create an object, or a subresource (binding, eviction) of the object `name`."""
        # Reviews are not stored, so the registry has no resource for them.
        if kind == reviews.REVIEW:
            return reviews.review_access(self._endpoint.get_server().authorizer, self._user, obj)
        metadata = obj.get("metadata", {})
        key = Key(metadata.get("namespace", ""), (name or metadata.get("name", "")) if subresource else "")
        with self._open_request("create", kind, key, subresource=subresource) as request:
            if subresource:
                return await subresources.create_subresource(request.resource, request.scope, obj, self._write_options)
            return request.view.get_object(await request.create(obj, self._write_options))

    async def create_all(self, kind: str, objects: Sequence[Object]) -> Sequence[Exception | None]:
        """Create objects, each like `create`; return what it raises for each."""
        try:
            dependencies = self._endpoint.get_server().get_view(kind, self._decoder).resource.dependencies
        except ApiError:  # the server is away, or does not serve the kind
            return [await try_create(self, kind, obj) for obj in objects]
        if not isinstance(dependencies.store, BatchStore):
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._try_create(kind, obj, self._write_options)) for obj in objects]
            return [task.result() for task in tasks]
        # This store commits at once, so the watch cache is what each creation would wait for.
        options = replace(self._write_options, waits_for_cache=False)
        errors = [await self._try_create(kind, obj, options) for obj in objects]
        await dependencies.watch_cache.wait_until_fresh()
        return errors

    async def _try_create(self, kind: str, obj: Object, options: WriteOptions) -> Exception | None:
        """Create an object without reading the answer; return what `create` raises."""
        try:
            with self._open_request("create", kind, Key(obj["metadata"].get("namespace", ""), "")) as request:
                await request.create(obj, options)
        except Exception as error:  # the caller handles it as that of one object
            return error
        return None

    async def update(self, kind: str, obj: Object, *, subresource: str = "") -> ReadOnlyObject:
        """Replace an object; raise Conflict if its resource version is outdated."""
        metadata = obj["metadata"]
        key = Key(metadata.get("namespace", ""), metadata.get("name", ""))
        with self._open_request("update", kind, key, subresource=subresource) as request:
            if subresource == "scale":
                return await subresources.update_scale(request.resource, request.scope, obj, self._write_options)
            if (shown := await self._repeat_heartbeat(request, obj)) is not None:
                return shown
            request.scope.body_bytes = len(encoding.dumps(obj))  # what is large is worked on in a thread
            decoded = request.decode(obj)
            updated = await updating.replace(request.resource, request.scope, decoded, self._write_options)
            await _give_way_after(updated.object)
            return self._show_updated(request, obj, updated)

    async def update_all(self, kind: str, objects: Sequence[Object]) -> Sequence[ReadOnlyObject | Exception]:
        """Replace objects, each like `update`; return what it returns or raises for each."""
        results: list[ReadOnlyObject | Exception] = []
        batch: _HeartbeatBatch | None = None
        for obj in objects:
            if batch is None:
                batch = self._open_batch(kind, obj)
            if batch is None or not batch.add(obj):
                # Whatever is no heartbeat keeps its place among the others.
                results += await self._write_batch(kind, batch)
                results.append(await try_update(self, kind, obj))
                batch = None
        return [*results, *await self._write_batch(kind, batch)]

    def _open_batch(self, kind: str, obj: Object) -> "_HeartbeatBatch | None":
        """Return a batch of updates that begins with that of an object; None if there is nothing to batch."""
        try:
            request = self._open_request("update", kind, key_of(obj))
        except ApiError:  # the server is away, or does not serve the kind
            return None
        resource = request.resource
        is_possible = "" in resource.strategy.heartbeat_times and isinstance(resource.dependencies.store, BatchStore)
        # A span covers one request.
        if not is_possible or request.server.tracer is not None:
            return None
        return _HeartbeatBatch(request, HeartbeatSender(self, "update", ""))

    async def _write_batch(self, kind: str, batch: "_HeartbeatBatch | None") -> Sequence[ReadOnlyObject | Exception]:
        """Write a batch; update in full what somebody else has written meanwhile."""
        if batch is None or not batch.sent:
            return ()
        shown = await batch.write()
        return [
            await try_update(self, kind, obj) if one is None else one
            for obj, one in zip(batch.sent, shown, strict=True)
        ]

    async def patch(
        self, kind: str, key: Key, patch: object, *, patch_type: PatchType = PatchType.STRATEGIC, subresource: str = ""
    ) -> ReadOnlyObject:
        """Apply a patch to an object."""
        with self._open_request("patch", kind, key, subresource=subresource) as request:
            if patch_type not in request.resource.patch_types:
                raise UnsupportedMediaType(f"the body of the request was in an unknown format: {patch_type}")
            # Bodies of other types say something else, though they may be equal.
            may_be_heartbeat = patch_type is PatchType.STRATEGIC and isinstance(patch, dict)
            if may_be_heartbeat and (shown := await self._repeat_heartbeat(request, patch)) is not None:
                return shown
            # The text is only needed to find repeated fields, which ignored field validation does not look for.
            text = b"" if self._write_options.field_validation == "Ignore" else encoding.dumps(patch)
            given = Patch(patch_type, text, patch)
            if subresource == "scale":
                return await subresources.patch_scale(request.resource, request.scope, given, self._write_options)
            write = patching.apply if patch_type is PatchType.APPLY else patching.patch
            patched = await write(request.resource, request.scope, given, self._write_options)
            await _give_way_after(patched.object)
            if may_be_heartbeat:
                return self._show_updated(request, patch, patched)
            return request.view.get_object(patched.object)

    async def _repeat_heartbeat(self, request: "_LocalRequest", body: Any) -> ReadOnlyObject | None:
        """Return the object after an update that repeats this client's last one; None if it does not."""
        resource, scope = request.resource, request.scope
        if scope.subresource not in resource.strategy.heartbeat_times:
            return None
        sender = HeartbeatSender(self, request.verb, scope.subresource)
        written = await heartbeats.repeat_heartbeat(resource, scope, sender, body)
        if written is None:
            return None
        request.view.keep(written.object, written.shown)
        await _give_way_after(written.object)
        return written.shown

    def _show_updated(self, request: "_LocalRequest", body: Any, updated: UpdateResult) -> ReadOnlyObject:
        """Return the object after an update, and expect another if this was a heartbeat."""
        resource, scope, shown = request.resource, request.scope, request.view.get_object(updated.object)
        if updated.before is not None and scope.subresource in resource.strategy.heartbeat_times:
            sender = HeartbeatSender(self, request.verb, scope.subresource)
            update = ObservedUpdate(sender, body, updated.before, updated.object, shown)
            heartbeats.note_heartbeat(resource, scope, self._write_options, update)
        return shown

    async def delete(self, kind: str, key: Key, options: DeleteOptions = DELETE_DEFAULT) -> None:
        """Delete an object; finalizers or its grace period may keep it."""
        with self._open_request("delete", kind, key) as request:
            await deletion.delete(request.resource, request.scope, _to_registry_options(options))

    async def delete_collection(self, kind: str, selection: Selection, options: DeleteOptions = DELETE_DEFAULT) -> None:
        """Delete the selected objects."""
        list_options, delete_options = _to_list_options(selection), _to_registry_options(options)
        with self._open_request(
            "deletecollection", kind, Key(selection.namespace, ""), options=list_options
        ) as request:
            listed = await listing.list_page(request.resource, request.scope.namespace, list_options)
            for cached in listed.items:
                one = RequestScope(
                    request.scope.user, cached.namespace, cached.name, user_agent=request.scope.user_agent
                )
                try:
                    await deletion.delete(request.resource, one, delete_options)
                except NotFound:
                    continue


@dataclass(slots=True)
class _LocalRequest:
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
        await _give_way_after(created)
        return created

    def __enter__(self) -> Self:
        # Counted before authorization, so that a stopping server waits for this request, too.
        self.server.requests_in_flight += 1 + len(self.others)
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
            case ApiError():
                self._finish(error.code)
            case store_errors.Unavailable():
                self._finish(Unavailable.code)
                raise Unavailable(str(error)) from error
            case Exception():  # a bug in the server is its own, not the component's
                self._finish(Internal.code)
                _LOG.error("%s: %s", self.verb, "".join(traceback.format_exception(error)))
                raise Internal("an unexpected error, see the server's log") from error
            # Cancellation and other BaseExceptions have no status code, so they are not counted in the metrics.
            case _:
                self._finish(0)

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
        server.requests_in_flight -= 1 + len(self.others)
        if not server.requests_in_flight:
            server.idle.set()
        if self.trace is not None and (span := current_span()) is not None:
            span.attributes["http.status_code"] = code
            self.trace.__exit__(None, None, None)
        if code:
            scope, resource = self.scope, self.resource
            label = scope_label(self.verb, scope.namespace, scope.name)
            labels = _make_labels(
                resource.group, resource.version, resource.plural, scope.subresource, self.verb, label
            )
            now = server.clock.monotonic()
            server.metrics.observe(labels, code, now - self.started, count=1 + len(self.others))
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


class _HeartbeatBatch:
    """Updates of one kind that repeat earlier ones of a sender, to be written in one commit."""

    def __init__(self, request: _LocalRequest, sender: HeartbeatSender) -> None:
        """Begin with a request for the first object; it stands for those for the others, too."""
        self.sent: list[Object] = []
        self._request = request
        self._round = HeartbeatRound(request.resource, request.scope, sender)
        self._prepared: list[PreparedHeartbeat] = []
        self._is_namespaced = request.resource.kind.namespaced

    def add(self, obj: Object) -> bool:  # hot: per heartbeat
        """Add an update if it repeats an earlier one and there is room; return whether it was added."""
        metadata = obj["metadata"]
        key = Key(metadata.get("namespace", "") if self._is_namespaced else "", metadata.get("name", ""))
        prepared = self._round.prepare(key.namespace, key.name, obj) if len(self.sent) < _BATCH_MAX else None
        if prepared is None:
            return False
        if self.sent:
            self._request.others.append(key)
        self.sent.append(obj)
        self._prepared.append(prepared)
        return True

    async def write(self) -> Sequence[ReadOnlyObject | None]:
        """Write the objects; return them as they are now, and None for each that takes an update of its own."""
        resource, keep = self._request.resource, self._request.view.keep
        store = resource.dependencies.store
        assert isinstance(store, BatchStore), "there are no batches for others"
        try:
            with self._request:
                updates = await heartbeats.repeat_heartbeats(resource, store, self._prepared)
        except ApiError:
            return [None for _ in self.sent]
        for update in updates:
            if update is not None:
                keep(update.object, update.shown)
        return [None if update is None else update.shown for update in updates]


@lru_cache(maxsize=1024)
def _make_labels(
    group: str, version: str, plural: str, subresource: str, verb: str, scope: str
) -> RequestLabels:  # hot: per request
    return RequestLabels("", group, plural, scope, subresource, verb_label(verb), version)


def _to_list_options(selection: Selection, after: str = "") -> ListOptions:
    given = {"labelSelector": selection.labels, "fieldSelector": selection.fields, "resourceVersion": after}
    return parse_list_options({name: (value,) for name, value in given.items() if value})


def _to_registry_options(options: DeleteOptions) -> registry_options.DeleteOptions:
    return registry_options.DeleteOptions(
        grace_seconds=options.grace_seconds,
        propagation=options.propagation,
        uid=options.uid or None,
        resource_version=options.resource_version or None,
    )


async def _give_way_after(cached: CachedObject) -> None:
    """Let others run after a large object: a component may write hundreds of them in one step."""
    if cached.size > _LARGE_BYTES:
        await yield_to_event_loop()
