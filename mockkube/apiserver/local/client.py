"""Client of an API server in the same process: calls the registry without HTTP.

Requests pass the same authorization, admission and registry functions; only parsing and rendering are left out.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from mockkube_storage.store import BatchStore

from mockkube.api.errors import ApiError, NotFound, UnsupportedMediaType
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.local import reviews, subresources
from mockkube.apiserver.local.endpoint import LocalEndpoint
from mockkube.apiserver.local.heartbeat_batch import BATCH_MAX, repeat_heartbeats
from mockkube.apiserver.local.kind_view import LocalWatch
from mockkube.apiserver.local.request import LocalRequest, WarningHandler, give_way_after
from mockkube.apiserver.registry import deletion, encoding, heartbeats, listing, patching, updating, watching
from mockkube.apiserver.registry import options as registry_options
from mockkube.apiserver.registry.heartbeats import HeartbeatSender, ObservedUpdate
from mockkube.apiserver.registry.options import ListOptions, WriteOptions, parse_list_options
from mockkube.apiserver.registry.patching import Patch
from mockkube.apiserver.registry.resource import RequestScope
from mockkube.apiserver.registry.updating import UpdateResult
from mockkube.client.batches import try_create
from mockkube.client.identity import ClientIdentity
from mockkube.client.protocol import (
    DELETE_DEFAULT,
    EVERYTHING,
    NO_QUERY,
    DeleteOptions,
    Key,
    ObjectList,
    Selection,
)
from mockkube.client.versioned_decoder import VersionedDecoder
from mockkube.runtime.steps import yield_to_event_loop

if TYPE_CHECKING:
    from mockkube.apiserver.local.computed_objects import ComputedKind

_WRITE_OPTIONS: Final = WriteOptions(field_validation="Ignore")
# Size of the objects that a list decodes before others may run.
_SLICE_BYTES: Final = 256 * 1024


def _ignore_warnings(warnings: Sequence[str]) -> None:
    pass


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
    ) -> LocalRequest:
        server = self._endpoint.get_server()
        view = server.get_view(kind, self._decoder)
        scope = RequestScope(self._user, key.namespace, key.name, subresource, self.identity.user_agent)
        # As in a path of HTTP: a cluster-scoped kind has no namespace.
        if not view.resource.kind.namespaced:
            scope.namespace = ""
        return LocalRequest(
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
        errors: list[Exception | None] = []
        for namespace, batch in groupby(objects, lambda obj: obj["metadata"].get("namespace", "")):
            errors += await self._create_in_namespace(kind, namespace, list(batch), options)
        await dependencies.watch_cache.wait_until_fresh()
        return errors

    async def _create_in_namespace(
        self, kind: str, namespace: str, objects: Sequence[Object], options: WriteOptions
    ) -> Sequence[Exception | None]:
        try:
            request = self._open_request("create", kind, Key(namespace, ""))
            if request.server.tracer is not None:  # a span covers one request
                return [await self._try_create(kind, obj, options) for obj in objects]
            request.count = len(objects)
            with request:
                return await request.create_all(objects, options)
        except ApiError as error:  # none of them may be created
            return [error] * len(objects)

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
            await give_way_after(updated.object)
            return self._show_updated(request, obj, updated)

    async def repeat_all(self, kind: str, keys: Sequence[Key], change: Object) -> Sequence[Key]:
        """Repeat the last updates of objects with other times; return the keys of those to update one by one."""
        left: list[Key] = []
        for start in range(0, len(keys), BATCH_MAX):
            batch = keys[start : start + BATCH_MAX]
            try:
                request = self._open_request("update", kind, batch[0])
                left += await repeat_heartbeats(request, HeartbeatSender(self, "update", ""), batch, change)
            except ApiError:  # the update of each object shows what is wrong with it
                left += batch
        return left

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
            await give_way_after(patched.object)
            if may_be_heartbeat:
                return self._show_updated(request, patch, patched)
            return request.view.get_object(patched.object)

    async def _repeat_heartbeat(self, request: LocalRequest, body: Any) -> ReadOnlyObject | None:
        """Return the object after an update that repeats this client's last one; None if it does not."""
        resource, scope = request.resource, request.scope
        if scope.subresource not in resource.strategy.heartbeat_times:
            return None
        sender = HeartbeatSender(self, request.verb, scope.subresource)
        written = await heartbeats.repeat_heartbeat(resource, scope, sender, body)
        if written is None:
            return None
        request.view.keep(written.object, written.shown)
        await give_way_after(written.object)
        return written.shown

    def _show_updated(self, request: LocalRequest, body: Any, updated: UpdateResult) -> ReadOnlyObject:
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
