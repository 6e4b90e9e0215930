"""Endpoint by which components of the process reach the present API server."""

import asyncio

from mockkube.api.errors import NotFound, Unavailable
from mockkube.api.schema import Schema
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.local.view import LocalWatch, View
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.server import ApiServer
from mockkube.client.sight import VersionedDecoder, keep_all_fields
from mockkube.runtime.component_log import ComponentLog


class Desk:
    """One running API server with its views of kinds, as components of the process use it."""

    def __init__(self, server: ApiServer, log: ComponentLog) -> None:
        self.registry = server.registry
        self.log = log
        self.metrics = server.metrics
        self.clock = server.registry.services.clock
        self.authorizer = Authorizer(server.registry)
        self.watches: dict[LocalWatch, None] = {}
        self.inside = 0
        """Number of requests in flight."""
        self.left = asyncio.Event()
        self._views: dict[Schema, dict[str, View]] = {}
        self._schemas: dict[Schema, Schema] = {}
        """Schemas of components, each mapped to an equal one that was seen before."""
        self._edition = self.registry.edition

    def view(self, kind: str, sight: VersionedDecoder | None) -> View:
        """Return the view of a kind (`Pod`, `Event.events.k8s.io`) in the first version that both sides know."""
        # The set of served kinds has changed with a CRD.
        if self._edition != self.registry.edition:
            self._views.clear()
            self._edition = self.registry.edition
        schema = self.registry.schema if sight is None else self._schema(sight.schema)
        views = self._views.get(schema)
        if views is None:
            views = self._views[schema] = self._seen_with(None if schema is self.registry.schema else sight)
        view = views.get(kind)
        if view is None:
            raise NotFound.for_path()
        return view

    def scribbled(self) -> list[str]:
        """Return keys of shared objects that a component has changed in place, which is a bug of that component."""
        views = {view: None for known in self._views.values() for view in known.values()}
        return [key for view in views for key in view.scribbled()]

    def _schema(self, schema: Schema) -> Schema:
        """Return an equal schema already in use: components of one version share decoded objects."""
        if schema not in self._schemas:
            known = (self.registry.schema, *self._schemas.values())
            self._schemas[schema] = next((one for one in known if _equal(one, schema)), schema)
        return self._schemas[schema]

    def _seen_with(self, sight: VersionedDecoder | None) -> dict[str, View]:
        views: dict[str, View] = {}
        for resource in self.registry.resources.values():
            # Custom resources with a conversion webhook are shown in their storage version: components only need the
            # metadata, which all versions share, and the webhook is not called.
            view = self._view(resource.home if resource.converted else resource, sight)
            if view is not None:
                # The first group with a kind of this name wins; the second form names the group.
                views.setdefault(resource.kind.kind, view)
                views.setdefault(f"{resource.kind.kind}.{resource.group}", view)
        return views

    def _view(self, resource: Resource, sight: VersionedDecoder | None) -> View | None:
        """Return the view of a served resource; None for a built-in kind that the component's version lacks."""
        kind = (resource.group, resource.version, resource.kind.kind)
        built_in = self.registry.schema.find_definition(*kind) is not None
        if sight is None or not built_in:
            return View(resource, keep_all_fields)
        return View(resource, sight.decoder_for(*kind)) if sight.has_kind(*kind) else None


def _equal(one: Schema, other: Schema) -> bool:
    return one is other or (one.version == other.version and one.definitions == other.definitions)


class LocalDoor:
    """Endpoint of an API server within the process; clients keep it over restarts of the server."""

    def __init__(self) -> None:
        self.log = ComponentLog()
        """Log of the API servers that this endpoint led to."""
        self._desk: Desk | None = None
        self._leaving: Desk | None = None

    def desk(self) -> Desk:
        """Return the present server; raise Unavailable if there is none."""
        if self._desk is None:
            raise Unavailable("the server is not running")
        return self._desk

    def open(self, server: ApiServer) -> None:
        """Accept requests for a server that has started."""
        self.shut()
        self._desk = Desk(server, self.log)

    def shut(self) -> None:
        """Refuse new requests and end the watches; requests in flight continue."""
        desk, self._desk = self._desk, None
        if desk is not None:
            self._leaving = desk
            for watch in list(desk.watches):
                watch.end()

    async def emptied(self) -> None:
        """Wait until no request is in flight; call it before the server stops."""
        desk = self._leaving
        while desk is not None and desk.inside:
            # The event may be set by an earlier moment without requests, so it is cleared before each wait.
            desk.left.clear()
            await desk.left.wait()
