"""Serve watches: events as JSON lines or protobuf frames until the client, the server or the timeout ends them."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Final

import orjson
from aiohttp import WSMsgType

from mockkube.api.decoding.codec import DecodingState
from mockkube.api.errors import ApiError, BadRequest, Expired
from mockkube.api.json_objects import Object
from mockkube.api.protobuf.envelope import STREAM_MEDIA_TYPE, encode_watch_frame
from mockkube.api.selectors import fields
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.open_watches import WatchLabels
from mockkube.apiserver.http.requests.request_context import RequestContext
from mockkube.apiserver.http.requests.watch_delivery import get_watch_delivery
from mockkube.apiserver.http.responses import rendering
from mockkube.apiserver.http.responses.negotiation import JSON, PROTOBUF, Representation
from mockkube.apiserver.http.responses.protobuf_rendering import render_message
from mockkube.apiserver.http.streaming.websocket_streams import (
    get_requested_protocols,
    is_websocket_upgrade,
    open_websocket,
    refuse_upgrade,
)
from mockkube.apiserver.registry import watching
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.options import ListOptions, parse_resource_version
from mockkube.apiserver.registry.resource import RequestScope, Resource, plain_version_errors
from mockkube.apiserver.registry.watch_cache import ChangeType
from mockkube.apiserver.registry.watching import CacheWatcher, CacheWatchEvent

# A watch without events sends a bookmark after this time, so that the client can resume from a recent version.
BOOKMARK_SECONDS: Final = 60.0
# A last bookmark comes this long before the timeout, for the client's next watch.
LAST_BOOKMARK_SECONDS: Final = 2.0
TIMEOUT_SECONDS_MIN: Final = 1800
_INITIAL_END: Final = "k8s.io/initial-events-end"
# A client that reads nothing for so long is taken for gone.
_WRITE_SECONDS_MAX: Final = 30.0


async def serve_watch(
    resource: Resource,
    scope: RequestScope,
    options: ListOptions,
    representation: Representation,
    context: RequestContext,
) -> web.StreamResponse:
    """Open a watch and write its events until it ends."""
    rendering.validate_output_options(representation, context.output_options())
    if scope.name:
        options = _restrict_to_name(scope.name, options)
    # Opened before the response begins: an error of the watch (410, 400) is still an ordinary response.
    watch = await _open_watch(resource, scope, options, get_watch_delivery(context.request).start_revision)
    if is_websocket_upgrade(context.request):
        # Browsers cannot say which format they accept; JSON is sent as text.
        return await _serve_websocket(watch, resource, scope, options, replace(representation, media=JSON), context)
    try:
        headers = {"Content-Type": _stream_media_type(representation), "Cache-Control": "no-cache, private"}
        response = web.StreamResponse(headers={**headers, "Audit-Id": context.audit_id})
        response.enable_chunked_encoding()
        await response.prepare(context.request)
        if context.audit_event is not None:
            context.audit_event.start_response(response.status)
        sender = _WatchServer(resource, scope, options, representation, context, response)
        with suppress(ConnectionError):  # the client is gone, or does not read: either way this watch is over
            await sender.run(watch)
        return response
    finally:
        watch.close()


async def _serve_websocket(
    watch: CacheWatcher,
    resource: Resource,
    scope: RequestScope,
    options: ListOptions,
    representation: Representation,
    context: RequestContext,
) -> web.StreamResponse:
    """Write events over a WebSocket, one message each, as web pages watch."""
    # upstream 1.36: apiserver/pkg/endpoints/handlers/watch.go, HandleWS; golang.org/x/net/websocket
    try:
        protocols = get_requested_protocols(context.request)
        if len(protocols) > 1 or "Origin" not in context.request.headers:
            return refuse_upgrade(context, "a watch needs an Origin and at most one subprotocol", status=403)
        websocket = await open_websocket(context, protocols[0] if protocols else "")
        sender = _WatchServer(resource, scope, options, representation, context, _WebSocketWriter(websocket))
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(_run_until_gone(sender, watch))
            reading = group.create_task(_cancel_when_closed(websocket, watching))
            watching.add_done_callback(lambda _: reading.cancel())
        await websocket.close()
        return websocket
    finally:
        watch.close()


async def _run_until_gone(sender: "_WatchServer", watch: CacheWatcher) -> None:
    with suppress(ConnectionError):
        await sender.run(watch)


async def _cancel_when_closed(websocket: web.WebSocketResponse, watching: asyncio.Task[None]) -> None:
    """Ignore what a client sends; end the watch once it closes the connection."""
    while (await websocket.receive()).type in (WSMsgType.TEXT, WSMsgType.BINARY):
        pass
    watching.cancel()


class _WebSocketWriter:
    """Writes JSON lines as messages."""

    def __init__(self, websocket: web.WebSocketResponse) -> None:
        self._websocket = websocket

    async def write(self, data: bytes) -> None:
        """Write one message for each line."""
        for line in data.splitlines(keepends=True):
            await self._websocket.send_str(line.decode())


def _stream_media_type(representation: Representation) -> str:
    # upstream 1.36: apiserver/pkg/endpoints/handlers/watch.go, serveWatchHandler
    return STREAM_MEDIA_TYPE if representation.media == PROTOBUF else representation.media


def _restrict_to_name(name: str, options: ListOptions) -> ListOptions:
    if options.fields.get_required_value("metadata.name") not in (None, "", name):
        raise BadRequest("fieldSelector metadata.name doesn't match requested name")
    term = f"metadata.name={fields.escape(name)}"
    text = f"{options.fields},{term}" if not options.fields.is_empty else term
    return replace(options, fields=fields.parse(text))


async def _open_watch(
    resource: Resource, scope: RequestScope, options: ListOptions, start_revision: int
) -> CacheWatcher:
    with plain_version_errors():
        if start_revision and options.send_initial is None and options.resource_version in ("", "0"):
            return await watching.open_watch_at_revision(resource, scope.namespace, options, start_revision)
        return await watching.open_watch(resource, scope.namespace, options)


class _WatchServer:
    """Writer of one client's events (upstream: WatchServer)."""

    def __init__(
        self,
        resource: Resource,
        scope: RequestScope,
        options: ListOptions,
        representation: Representation,
        context: RequestContext,
        response: "web.StreamResponse | _WebSocketWriter",
    ) -> None:
        self.resource, self.options = resource, options
        self.representation, self.view, self.response = representation, context.output_options(), response
        self.open_watches = context.open_watches
        watched = "namespace" if scope.namespace else "cluster"
        self.labels = WatchLabels(resource.group, resource.version, resource.plural, watched)
        self.delivery = get_watch_delivery(context.request)
        self.columns_sent = False
        self.ends_at = 0.0
        self.start_revision = parse_resource_version(options.resource_version) or resource.collection.revision

    async def run(self, watch: CacheWatcher) -> None:
        """Write events until the timeout, the server's end, or an error of the watch."""
        if self.options.send_initial and self.options.bookmarks:
            # Only with sendInitialEvents the client expects the bookmark that marks the end of the initial state.
            await self.write_bytes(
                self.encode_events(watch.take_events()[: watch.initial_count])
                + self.encode_bookmark(watch, initial_end=True)
            )
        seconds = self.options.timeout_seconds or TIMEOUT_SECONDS_MIN
        try:
            async with asyncio.timeout(seconds) as deadline:
                self.ends_at = deadline.when() or 0.0
                with self.open_watches.track(deadline, self.labels):
                    while not (watch.has_lagged or watch.is_stopped):
                        await self.write_next(watch)
        except TimeoutError:
            pass
        # The status line has been sent, so an error becomes an ERROR event.
        except ApiError as error:
            await self.write_bytes(self.frame_event("ERROR", self.encode_unstored(error.status())))

    async def write_next(self, watch: CacheWatcher) -> None:
        """Wait for events or the next bookmark, then write."""
        if self.options.bookmarks:
            try:
                async with asyncio.timeout(self.seconds_until_bookmark()):
                    await self.delivery.wait(watch)
            except TimeoutError:
                if self.delivery.is_holding:
                    return  # a bookmark would tell the client that it has all events
                if not self.is_ending or self.resource.collection.revision > self.start_revision:
                    await self.write_bytes(self.encode_bookmark(watch))
                return
        else:
            await self.delivery.wait(watch)
        if watch.has_lagged:
            raise Expired("the client fell too far behind: list again")
        await self.write_bytes(self.encode_events(await self.delivery.take_events(watch)))

    @property
    def is_ending(self) -> bool:
        """True if the timeout is near; then a bookmark is only sent to a client that lags behind."""
        return self.ends_at - LAST_BOOKMARK_SECONDS <= asyncio.get_running_loop().time()

    def seconds_until_bookmark(self) -> float:
        """Return the seconds to wait for events before a bookmark; the last one comes shortly before the timeout."""
        # upstream 1.36: apiserver/pkg/storage/cacher/cache_watcher.go, nextBookmarkTime
        left = self.ends_at - LAST_BOOKMARK_SECONDS - asyncio.get_running_loop().time()
        return left if 0 < left < BOOKMARK_SECONDS else BOOKMARK_SECONDS

    async def write_bytes(self, data: bytes) -> None:
        """Write bytes to the client; raise ConnectionResetError if it does not read them in time."""
        if data:
            try:
                async with asyncio.timeout(_WRITE_SECONDS_MAX):
                    await self.response.write(data)
            except TimeoutError as error:
                raise ConnectionResetError("the client does not read") from error

    def encode_events(self, events: list[CacheWatchEvent]) -> bytes:
        """Return the frames of the events."""
        return b"".join([self.frame_event(one.type, self.encode_event_object(one)) for one in events])

    def encode_event_object(self, event: CacheWatchEvent) -> bytes:
        """Return the object of an event in the format of this watch."""
        match self.representation.transform:
            case "" if self.representation.media == PROTOBUF:
                return render_message(self.resource, event.object)
            case "":
                return self.resource.body(event.object)
            case "Table":
                table = rendering.build_table(
                    self.resource, [event.object], self.representation, self.view, columns=not self.columns_sent
                )
                # upstream: only the first table of a watch defines the columns.
                self.columns_sent = True
                return orjson.dumps(table)
            case _:
                return self.encode_unstored(
                    rendering.to_partial_metadata(self.resource, event.object, self.representation)
                )

    def encode_unstored(self, obj: Object) -> bytes:
        """Encode an object that was built for this watch."""
        if self.representation.media == PROTOBUF:
            return self.resource.dependencies.protobuf.encode(obj)
        return orjson.dumps(obj)

    def frame_event(self, kind: str, body: bytes) -> bytes:
        """Return one event as a JSON line or a length-prefixed frame."""
        if self.representation.media == PROTOBUF:
            return encode_watch_frame(kind, body)
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), body)

    def encode_bookmark(self, watch: CacheWatcher, *, initial_end: bool = False) -> bytes:
        """Return a bookmark at the watch's revision."""
        metadata: Object = {"resourceVersion": str(watch.revision)}
        if initial_end:
            metadata["annotations"] = {_INITIAL_END: "true"}
        resource, kind = self.resource, self.resource.kind
        # upstream's bookmark is a new object of the kind: fields that Go writes even when they are empty are in it.
        empty = resource.dependencies.codec.decode(resource.node, {"metadata": {}}, DecodingState())
        obj: Object = {**empty, "kind": kind.kind, "apiVersion": resource.api_version, "metadata": metadata}
        if self.representation.transform:
            cached = CachedObject("", "", "", watch.revision, b"", orjson.dumps(obj))
            return self.frame_event("BOOKMARK", self.encode_event_object(CacheWatchEvent(ChangeType.MODIFIED, cached)))
        return self.frame_event("BOOKMARK", self.encode_unstored(obj))
