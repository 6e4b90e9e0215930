"""Endpoint by which components of the process reach the present API server."""

import asyncio

from mockkube.api.errors import NotFound, Unavailable
from mockkube.api.schema import Schema
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.local.kind_view import KindView, LocalWatch
from mockkube.apiserver.registry.aggregated_api import find_computed_resource
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.server import ApiServer
from mockkube.client.versioned_decoder import ObjectDecoder, VersionedDecoder, keep_all_fields
from mockkube.runtime.component_log import ComponentLog


class LocalServer:
    """One running API server with its views of kinds, as components of the process use it."""

    def __init__(self, server: ApiServer, log: ComponentLog) -> None:
        self.registry = server.registry
        self.log = log
        self.metrics = server.metrics
        self.tracer = server.tracer
        self.clock = server.registry.dependencies.clock
        self.authorizer = Authorizer(server.registry)
        self.watches: dict[LocalWatch, None] = {}
        self.requests_in_flight = 0
        """Number of requests in flight."""
        self.idle = asyncio.Event()
        # Views of clients without a decoder, which see objects as the server has them, are those of None.
        self._views: dict[Schema | None, dict[str, KindView]] = {}
        self._shared_schemas: dict[Schema, Schema] = {}
        """Schemas of components, each mapped to an equal one that was seen before."""
        self._edition = self.registry.generation

    def get_view(self, kind: str, decoder: VersionedDecoder | None) -> KindView:
        """Return the view of a kind (`Pod`, `Event.events.k8s.io`) in the first version that both sides know."""
        view = self._get_views(decoder).get(kind)
        if view is None:
            raise NotFound.for_path()
        return view

    def has_view(self, kind: str, decoder: VersionedDecoder | None) -> bool:
        """Return whether the server stores objects of a kind that the component knows."""
        return kind in self._get_views(decoder)

    def find_group_and_plural(self, kind: str, decoder: VersionedDecoder | None) -> tuple[str, str]:
        """Return group and plural of a kind, stored or computed."""
        apis = self.registry.aggregated_apis
        if self.has_view(kind, decoder) or (found := find_computed_resource(apis, kind)) is None:
            resource = self.get_view(kind, decoder).resource
            return resource.group, resource.plural
        return found.api.spec["group"], found.plural

    def _get_views(self, decoder: VersionedDecoder | None) -> dict[str, KindView]:
        # The set of served kinds has changed with a CRD.
        if self._edition != self.registry.generation:
            self._views.clear()
            self._edition = self.registry.generation
        schema = None if decoder is None else self._share_schema(decoder.schema)
        views = self._views.get(schema)
        if views is None:
            views = self._views[schema] = self._build_views(decoder)
        return views

    def find_mutated_objects(self) -> list[str]:
        """Return keys of shared objects that a component has changed in place, which is a bug of that component."""
        views = {view: None for known in self._views.values() for view in known.values()}
        return [key for view in views for key in view.find_mutated_objects()]

    def _share_schema(self, schema: Schema) -> Schema:
        """Return an equal schema already in use: components of one version share decoded objects."""
        if schema not in self._shared_schemas:
            known = (self.registry.schema, *self._shared_schemas.values())
            self._shared_schemas[schema] = next((one for one in known if _is_equal(one, schema)), schema)
        return self._shared_schemas[schema]

    def _build_views(self, decoder: VersionedDecoder | None) -> dict[str, KindView]:
        views: dict[str, KindView] = {}
        for resource in self.registry.resources.values():
            # Custom resources with a conversion webhook are shown in their storage version: components only need the
            # metadata, which all versions share, and the webhook is not called.
            view = self._build_view(
                resource.storage_resource if resource.uses_conversion_webhook else resource, decoder
            )
            if view is not None:
                # The first group with a kind of this name wins; the second form names the group.
                views.setdefault(resource.kind.kind, view)
                views.setdefault(f"{resource.kind.kind}.{resource.group}", view)
        return views

    def _build_view(self, resource: Resource, decoder: VersionedDecoder | None) -> KindView | None:
        """Return the view of a served resource; None for a built-in kind that the component's version lacks."""
        kind = (resource.group, resource.version, resource.kind.kind)
        built_in = self.registry.schema.find_definition(*kind) is not None
        if decoder is None:
            return KindView(resource, keep_all_fields)
        if not built_in or self._share_schema(decoder.schema) is self.registry.schema:
            decode: ObjectDecoder = keep_all_fields
        elif decoder.has_kind(*kind):
            decode = decoder.decoder_for(*kind)
        else:
            return None
        # No component reads managedFields, which are half of a running pod.
        # upstream 1.36: cmd/kube-controller-manager/app/controllermanager.go, pkg/scheduler/scheduler.go; differs:
        # kubelets keep them there, but do not read them either.
        return KindView(resource, decode, has_managed_fields=False)


def _is_equal(one: Schema, other: Schema) -> bool:
    return one is other or (
        type(one) is type(other) and one.version == other.version and one.overlay_digest == other.overlay_digest
    )


class LocalEndpoint:
    """Endpoint of an API server within the process; clients keep it over restarts of the server."""

    def __init__(self) -> None:
        self.log = ComponentLog()
        """Log of the API servers that this endpoint led to."""
        self._server: LocalServer | None = None
        self._draining: LocalServer | None = None

    def get_server(self) -> LocalServer:
        """Return the present server; raise Unavailable if there is none."""
        if self._server is None:
            raise Unavailable("the server is not running")
        return self._server

    def open(self, server: ApiServer) -> None:
        """Accept requests for a server that has started."""
        self.close()
        self._server = LocalServer(server, self.log)

    def close(self) -> None:
        """Refuse new requests and end the watches; requests in flight continue."""
        server, self._server = self._server, None
        if server is not None:
            self._draining = server
            for watch in list(server.watches):
                watch.end()

    async def wait_until_idle(self) -> None:
        """Wait until no request is in flight; call it before the server stops."""
        server = self._draining
        while server is not None and server.requests_in_flight:
            # The event may be set by an earlier moment without requests, so it is cleared before each wait.
            server.idle.clear()
            await server.idle.wait()
