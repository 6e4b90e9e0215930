"""Client of a component within the process; injects the same faults as requests over HTTP get."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, TypeVar

from mockkube_storage.errors import Compacted

from mockkube.api.errors import ApiError, Expired, NotFound, Unavailable
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.http.requests.observed_request import ObservedRequest
from mockkube.apiserver.http.requests.request_info import RequestInfo, parse_request_info
from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.local.endpoint import LocalEndpoint
from mockkube.apiserver.local.kind_view import LocalWatch
from mockkube.apiserver.registry import encoding, listing
from mockkube.apiserver.registry.options import parse_list_options
from mockkube.apiserver.registry.subresources.scale import convert_to_scale
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
from mockkube.cluster.faults.fault_injected_watch import FaultInjectedWatch
from mockkube.cluster.faults.faults import FaultInjection, FaultRequest, Faults
from mockkube.lazy_dataclasses import dataclass

T = TypeVar("T")

NO_INJECTION: Final = FaultInjection()
OnRequest = Callable[[ObservedRequest], None]
_NOT_OBSERVED: Final = nullcontext()
# Kinds that configure simulated kubelets only; RBAC rules of a real kubelet do not cover them.
STAGE_KINDS: Final = ("CustomResourceDefinition", "Stage.kwok.x-k8s.io")


@dataclass(frozen=True, slots=True)
class ComponentClientConfig:
    """Identity of a component's client, and the decoder of its version."""

    identity: ClientIdentity
    decoder: VersionedDecoder
    # Identity that reads the kinds in `STAGE_KINDS`, by default the same.
    stage_reader: ClientIdentity | None = None


class FaultInjectingClient:
    """Client of one component; it outlives restarts of the API server."""

    def __init__(
        self,
        server_name: str,
        endpoint: LocalEndpoint,
        config: ComponentClientConfig,
        faults: Faults,
        *,
        pause_step: Callable[[float], Awaitable[None]],
    ) -> None:
        self._client = LocalClient(endpoint, config.identity, config.decoder)
        instructed = LocalClient(endpoint, config.stage_reader or config.identity, config.decoder)
        self._readers = dict.fromkeys(STAGE_KINDS, instructed)
        self._server_name, self._endpoint, self._config, self._faults = server_name, endpoint, config, faults
        self._pause_step = pause_step
        self._watches: dict[LocalWatch, FaultInjectedWatch] = {}

    def cut_watches(self, names: Iterable[str]) -> None:
        """End open watches that match these new faults."""
        names = tuple(names)
        for opened, watch in list(self._watches.items()):
            if self._faults.cuts_watch(watch.request, names):
                del self._watches[opened]
                watch.end()
            # A fault may have ended that kept events.
            watch.signal.notify()

    @property
    def _is_transparent(self) -> bool:
        """True if requests are neither observed nor injected with faults, so that they need no description."""
        faults = self._faults
        return not faults and faults.on_request is None and faults.before_request is None

    async def _inject_faults(
        self, verb: str, kind: str, key: Key, *, subresource: str = "", after: str = ""
    ) -> FaultInjection:
        """Inject faults into a request: delay it, or raise; return the rest of the injection."""
        # Without faults a request is not even described: this runs for every request of every component.
        if not self._faults:
            return NO_INJECTION
        return await self._inject_into(self._make_fault_request(verb, kind, key, subresource, after))

    async def _inject_into(self, request: FaultRequest) -> FaultInjection:
        injection = self._faults.find_injection(request) or NO_INJECTION
        if injection.delay_seconds:
            await self._pause_step(injection.delay_seconds)
        if (error := injection.make_error()) is not None:
            raise error
        if injection.cuts_watch:
            raise Unavailable("the connection was cut")
        return injection

    async def _write(
        self, verb: str, kind: str, key: Key, send: Callable[[], Awaitable[T]], *, subresource: str = ""
    ) -> T:
        """Send a write, with the errors that faults inject before or after it takes effect."""
        injection = await self._inject_faults(verb, kind, key, subresource=subresource)
        answer = await send()
        if (error := injection.make_error(after_effect=True)) is not None:
            raise error
        return answer

    def _make_fault_request(self, verb: str, kind: str, key: Key, subresource: str, after: str) -> FaultRequest:
        group, plural = self._endpoint.get_server().find_group_and_plural(kind, self._config.decoder)
        info = RequestInfo(verb, group, "", plural, key.namespace, key.name, subresource)
        return self._describe(info, from_resource_version=after not in ("", "0"))

    def _describe(self, info: RequestInfo, *, from_resource_version: bool = False) -> FaultRequest:
        return FaultRequest(
            server=self._server_name,
            user_agent=self._config.identity.user_agent,
            verb=info.verb,
            group=info.group,
            resource=info.resource,
            subresource=info.subresource,
            namespace=info.namespace,
            name=info.name,
            from_resource_version=from_resource_version,
            user=self._config.identity.user,
        )

    def _observe(
        self, verb: str, kind: str, key: Key, *, subresource: str = "", body: object = None
    ) -> AbstractContextManager[None]:
        """Return a context that passes a request, and the status of its answer, to the observer of the cluster."""
        on_request = self._faults.on_request
        return _NOT_OBSERVED if on_request is None else self._report(on_request, verb, kind, key, subresource, body)

    @contextmanager
    def _report(
        self, on_request: OnRequest, verb: str, kind: str, key: Key, subresource: str, body: object
    ) -> Iterator[None]:
        server = self._endpoint.get_server()
        try:
            resource = server.get_view(kind, self._config.decoder).resource
        except NotFound:  # no resource is stored: a review, or a kind whose CRD is gone
            yield
            return
        observed = ObservedRequest(
            at=server.clock.now(),
            verb=verb,
            user=self._config.identity.user,
            user_agent=self._config.identity.user_agent,
            is_from_component=True,
            group=resource.group,
            version=resource.version,
            kind=resource.kind.kind,
            resource=resource.plural,
            subresource=subresource,
            namespace=key.namespace,
            name=key.name,
            body=b"" if body is None else encoding.dumps(body),
            content_type="application/json",
        )
        on_request(observed)
        try:
            yield
        except ApiError as error:
            observed.status = error.code
            raise
        observed.status = 201 if verb == "create" else 200

    async def get(self, kind: str, key: Key, *, subresource: str = "") -> ReadOnlyObject:
        """Return the present object or its scale, or a past state if a fault makes reads stale."""
        if self._faults.before_request is not None:
            await self._faults.before_request(f"get {kind} {key}")
        with self._observe("get", kind, key, subresource=subresource):
            injection = await self._inject_faults("get", kind, key, subresource=subresource)
            if not injection.stale_revision or not self._endpoint.get_server().has_view(kind, self._config.decoder):
                return await self._client.get(kind, key, subresource=subresource)
            view = self._endpoint.get_server().get_view(kind, self._config.decoder)
            resource, revision = view.resource, injection.stale_revision
            try:
                entry = await resource.dependencies.store.get(resource.key(key.namespace, key.name), revision=revision)
            except Compacted as error:
                raise Expired(f"too old resource version: {revision} ({error.oldest})") from error
            if entry is None:
                raise NotFound.for_object(resource.group, resource.plural, key.name)
            past = resource.storage_resource.decode_entry(entry)
            return await convert_to_scale(resource, past) if subresource else view.get_object(past)

    async def get_path(self, path: str, query: Mapping[str, str] = NO_QUERY) -> ReadOnlyObject:
        """Return the values of a metric at a path."""
        if self._faults and (info := parse_request_info("GET", path)) is not None:
            await self._inject_into(self._describe(info))
        return await self._client.get_path(path, query)

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> ObjectList:
        """Return the selected objects, or a past state if a fault makes reads stale."""
        if self._faults.before_request is not None:
            await self._faults.before_request(f"list {kind} {selection.namespace}".rstrip())
        with self._observe("list", kind, Key(selection.namespace, "")):
            injection = await self._inject_faults("list", kind, Key(selection.namespace, ""))
            if not injection.stale_revision or not self._endpoint.get_server().has_view(kind, self._config.decoder):
                return await self._readers.get(kind, self._client).list(kind, selection)
            view = self._endpoint.get_server().get_view(kind, self._config.decoder)
            parameters = {"labelSelector": selection.labels, "fieldSelector": selection.fields}
            parameters |= {"resourceVersion": str(injection.stale_revision), "resourceVersionMatch": "Exact"}
            options = parse_list_options({name: (value,) for name, value in parameters.items() if value})
            page = await listing.list_page(view.resource, selection.namespace, options)
            return ObjectList([view.get_object(cached) for cached in page.items], str(page.revision))

    async def watch(self, kind: str, selection: Selection, after: str) -> FaultInjectedWatch:
        """Open a watch, and track it so that faults can cut it."""
        key = Key(selection.namespace, "")
        with self._observe("watch", kind, key):
            await self._inject_faults("watch", kind, key, after=after)
            opened = await self._readers.get(kind, self._client).watch(kind, selection, after)
            watch = FaultInjectedWatch(opened, self._faults, self._make_fault_request("watch", kind, key, "", after))
            # Watches that ended since are dropped here; nothing else tells the client about their end.
            open_ones = self._endpoint.get_server().watches
            self._watches = {one: faulty for one, faulty in self._watches.items() if one in open_ones}
            self._watches[opened] = watch
            return watch

    async def create(self, kind: str, obj: Object, *, subresource: str = "", name: str = "") -> ReadOnlyObject:
        """Create an object, or post it to a subresource."""
        if self._is_transparent:
            return await self._client.create(kind, obj, subresource=subresource, name=name)
        if self._faults.before_request is not None:
            await self._faults.before_request(f"create {_name(kind, subresource)} {_describe_new(obj, name)}")
        key = Key(obj.get("metadata", {}).get("namespace", ""), name)
        with self._observe("create", kind, key, subresource=subresource, body=obj):

            def send() -> Awaitable[ReadOnlyObject]:
                return self._client.create(kind, obj, subresource=subresource, name=name)

            return await self._write("create", kind, key, send, subresource=subresource)

    async def update(self, kind: str, obj: Object, *, subresource: str = "") -> ReadOnlyObject:
        """Replace an object."""
        if self._is_transparent:
            return await self._client.update(kind, obj, subresource=subresource)
        if self._faults.before_request is not None:
            await self._faults.before_request(f"update {_name(kind, subresource)} {key_of(obj)}")
        metadata = obj["metadata"]
        key = Key(metadata.get("namespace", ""), metadata["name"])
        with self._observe("update", kind, key, subresource=subresource, body=obj):

            def send() -> Awaitable[ReadOnlyObject]:
                return self._client.update(kind, obj, subresource=subresource)

            return await self._write("update", kind, key, send, subresource=subresource)

    async def repeat_all(self, kind: str, keys: Sequence[Key], change: Object) -> Sequence[Key]:
        """Repeat the last updates of objects with other times; return the keys of those to update one by one."""
        return await self._client.repeat_all(kind, keys, change) if self._is_transparent else keys

    async def create_all(self, kind: str, objects: Sequence[Object]) -> Sequence[Exception | None]:
        """Create objects, each like `create`; return what it raises for each."""
        if self._is_transparent:
            return await self._client.create_all(kind, objects)
        from mockkube.client.batches import try_create  # most clusters have neither faults nor observers

        return [await try_create(self, kind, obj) for obj in objects]

    async def patch(
        self, kind: str, key: Key, patch: object, *, patch_type: PatchType = PatchType.STRATEGIC, subresource: str = ""
    ) -> ReadOnlyObject:
        """Patch an object."""
        if self._is_transparent:
            return await self._client.patch(kind, key, patch, patch_type=patch_type, subresource=subresource)
        if self._faults.before_request is not None:
            await self._faults.before_request(f"patch {_name(kind, subresource)} {key}")
        with self._observe("patch", kind, key, subresource=subresource, body=patch):

            def send() -> Awaitable[ReadOnlyObject]:
                return self._client.patch(kind, key, patch, patch_type=patch_type, subresource=subresource)

            return await self._write("patch", kind, key, send, subresource=subresource)

    async def delete(self, kind: str, key: Key, options: DeleteOptions = DELETE_DEFAULT) -> None:
        """Delete an object."""
        if self._faults.before_request is not None:
            await self._faults.before_request(f"delete {kind} {key}")
        with self._observe("delete", kind, key):
            await self._write("delete", kind, key, lambda: self._client.delete(kind, key, options))

    async def delete_collection(self, kind: str, selection: Selection, options: DeleteOptions = DELETE_DEFAULT) -> None:
        """Delete all selected objects."""
        if self._faults.before_request is not None:
            await self._faults.before_request(f"delete {kind} in {selection.namespace}")
        with self._observe("deletecollection", kind, Key(selection.namespace, "")):
            key = Key(selection.namespace, "")
            await self._write(
                "deletecollection", kind, key, lambda: self._client.delete_collection(kind, selection, options)
            )


def _name(kind: str, subresource: str) -> str:
    return f"{subresource} of {kind}" if subresource else kind


def _describe_new(obj: Object, name: str) -> str:
    metadata = obj.get("metadata", {})
    return str(Key(metadata.get("namespace", ""), name or metadata.get("name") or metadata.get("generateName", "")))
