"""Where components of the process come in: a door to the server of the moment, and what it knows of its kinds."""

import asyncio

from mockkube.api.errors import NotFound, Unavailable
from mockkube.api.schema import Schema
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.local.view import LocalWatch, View
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.server import ApiServer
from mockkube.client.sight import Sight, unchanged
from mockkube.runtime.component_log import ComponentLog


class Desk:
    """One running API server, as the components beside it see it."""

    def __init__(self, server: ApiServer, log: ComponentLog) -> None:
        self.registry = server.registry
        self.log = log
        self.metrics = server.metrics
        self.clock = server.registry.services.clock
        self.authorizer = Authorizer(server.registry)
        self.watches: dict[LocalWatch, None] = {}
        self.inside = 0
        """How many requests are in hand."""
        self.left = asyncio.Event()
        self._views: dict[Schema, dict[str, View]] = {}
        self._schemas: dict[Schema, Schema] = {}
        """By the types of a component, the same types as somebody brought them first."""
        self._edition = self.registry.edition

    def view(self, kind: str, sight: Sight | None) -> View:
        """The view of a kind (`Pod`, `Event.events.k8s.io`) in the first version that both sides know."""
        if self._edition != self.registry.edition:
            self._views.clear()
            self._edition = self.registry.edition
        schema = self.registry.schema if sight is None else self._schema(sight.schema)
        views = self._views.get(schema)
        if views is None:
            views = self._views[schema] = self._seen_with(None if schema is self.registry.schema else sight)
        view = views.get(kind)
        if view is None:
            raise NotFound.path()
        return view

    def scribbled(self) -> list[str]:
        """Return what somebody has changed in place of the objects all share: a bug of whoever was given them."""
        views = {view: None for known in self._views.values() for view in known.values()}
        return [key for view in views for key in view.scribbled()]

    def _schema(self, schema: Schema) -> Schema:
        """These types, or equal ones: components of one version share what was decoded."""
        if schema not in self._schemas:
            known = (self.registry.schema, *self._schemas.values())
            self._schemas[schema] = next((one for one in known if _equal(one, schema)), schema)
        return self._schemas[schema]

    def _seen_with(self, sight: Sight | None) -> dict[str, View]:
        views: dict[str, View] = {}
        for resource in self.registry.resources.values():
            # of what is converted elsewhere components need no more than the metadata, which all versions share
            view = self._view(resource.home if resource.converted else resource, sight)
            if view is not None:
                views.setdefault(resource.kind.kind, view)
                views.setdefault(f"{resource.kind.kind}.{resource.group}", view)
        return views

    def _view(self, resource: Resource, sight: Sight | None) -> View | None:
        """The view of a served resource; None for a built-in one that the component does not have."""
        kind = (resource.group, resource.version, resource.kind.kind)
        built_in = self.registry.schema.definition_of(*kind) is not None
        if sight is None or not built_in:
            return View(resource, unchanged)
        return View(resource, sight.lens(*kind)) if sight.knows(*kind) else None


def _equal(one: Schema, other: Schema) -> bool:
    return one is other or (one.version == other.version and one.definitions == other.definitions)


class LocalDoor:
    """The way to an API server of this process, for as long as there is one. Clients outlive the server behind it."""

    def __init__(self) -> None:
        self.log = ComponentLog()
        """What the API servers behind this door log."""
        self._desk: Desk | None = None
        self._leaving: Desk | None = None

    def desk(self) -> Desk:
        """The server of the moment; Unavailable when there is none."""
        if self._desk is None:
            raise Unavailable("the server is not running")
        return self._desk

    def open(self, server: ApiServer) -> None:
        """Let components in to this server, which has started."""
        self.shut()
        self._desk = Desk(server, self.log)

    def shut(self) -> None:
        """Let nobody in, and end the watches; requests in hand go on."""
        desk, self._desk = self._desk, None
        if desk is not None:
            self._leaving = desk
            for watch in list(desk.watches):
                watch.end()

    async def emptied(self) -> None:
        """Return once the requests in hand are answered; to be awaited before their server stops."""
        desk = self._leaving
        while desk is not None and desk.inside:
            desk.left.clear()
            await desk.left.wait()
