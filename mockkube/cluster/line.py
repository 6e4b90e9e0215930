"""The line from a component to an API server of the same process, on which faults strike as they do over HTTP."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final

from mockkube_storage.errors import Compacted

from mockkube.api.errors import Expired, NotFound, Unavailable
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.local.endpoint import LocalDoor
from mockkube.apiserver.local.view import LocalWatch
from mockkube.apiserver.registry import listing
from mockkube.apiserver.registry.options import list_options
from mockkube.client.identity import Identity
from mockkube.client.protocol import DEFAULT, EVERYTHING, Deletion, Key, Listed, PatchType, Selection
from mockkube.client.sight import Sight
from mockkube.cluster.faults import Asking, Faults, Injection

NOTHING: Final = Injection()
INSTRUCTIONS: Final = ("CustomResourceDefinition", "Stage.kwok.x-k8s.io")
"""What a simulated kubelet goes by and a real one knows nothing of, so that its own rights do not cover it."""


@dataclass(frozen=True, slots=True)
class End:
    """One end of a line: who asks, and what it understands."""

    identity: Identity
    sight: Sight
    instructed_as: Identity | None = None
    """Who reads `INSTRUCTIONS`, if not the same."""


class Line:
    """The client of one component. It outlives the server at the other end."""

    def __init__(
        self, server: str, door: LocalDoor, end: End, faults: Faults, *, pause: Callable[[float], Awaitable[None]]
    ) -> None:
        self._client = LocalClient(door, end.identity, end.sight)
        instructed = LocalClient(door, end.instructed_as or end.identity, end.sight)
        self._readers = dict.fromkeys(INSTRUCTIONS, instructed)
        self._server, self._door, self._end, self._faults = server, door, end, faults
        self._pause = pause
        self._watches: dict[LocalWatch, Asking] = {}

    def recheck(self, names: Iterable[str]) -> None:
        """End the open watches that faults of these names, which are new, cut."""
        names = tuple(names)
        for watch, asking in list(self._watches.items()):
            if self._faults.cuts(asking, names):
                del self._watches[watch]
                watch.end()

    async def _ask(self, verb: str, kind: str, key: Key, *, subresource: str = "", after: str = "") -> Injection:
        """Let faults strike a request; return what is left to be done to it."""
        if not self._faults:
            return NOTHING
        injection = self._faults.strike(self._asking(verb, kind, key, subresource, after)) or NOTHING
        if injection.delay_seconds:
            await self._pause(injection.delay_seconds)
        if (error := injection.error()) is not None:
            raise error
        if injection.cut:
            raise Unavailable("the connection was cut")
        return injection

    def _asking(self, verb: str, kind: str, key: Key, subresource: str, after: str) -> Asking:
        resource = self._door.desk().view(kind, self._end.sight).resource
        return Asking(
            server=self._server,
            user_agent=self._end.identity.user_agent,
            verb=verb,
            group=resource.group,
            resource=resource.plural,
            subresource=subresource,
            namespace=key.namespace,
            name=key.name,
            from_version=after not in ("", "0"),
        )

    async def get(self, kind: str, key: Key) -> ReadOnlyObject:
        """Return the object as it is at the server now."""
        injection = await self._ask("get", kind, key)
        if not injection.stale_revision:
            return await self._client.get(kind, key)
        view = self._door.desk().view(kind, self._end.sight)
        resource, revision = view.resource, injection.stale_revision
        try:
            entry = await resource.services.store.get(resource.key(key.namespace, key.name), revision=revision)
        except Compacted as error:
            raise Expired(f"too old resource version: {revision} ({error.oldest})") from error
        if entry is None:
            raise NotFound.object(resource.group, resource.plural, key.name)
        return view.show(resource.home.read_entry(entry))

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> Listed:
        """Return the selected objects as of now."""
        injection = await self._ask("list", kind, Key(selection.namespace, ""))
        if not injection.stale_revision:
            return await self._readers.get(kind, self._client).list(kind, selection)
        view = self._door.desk().view(kind, self._end.sight)
        asked = {"labelSelector": selection.labels, "fieldSelector": selection.fields}
        asked |= {"resourceVersion": str(injection.stale_revision), "resourceVersionMatch": "Exact"}
        options = list_options({name: (value,) for name, value in asked.items() if value})
        page = await listing.page(view.resource, selection.namespace, options)
        return Listed([view.show(record) for record in page.records], str(page.revision))

    async def watch(self, kind: str, selection: Selection, after: str) -> LocalWatch:
        """Watch from a resourceVersion on. Raises Expired when that is too long ago."""
        key = Key(selection.namespace, "")
        await self._ask("watch", kind, key, after=after)
        watch = await self._readers.get(kind, self._client).watch(kind, selection, after)
        open_ones = self._door.desk().watches
        self._watches = {one: asking for one, asking in self._watches.items() if one in open_ones}
        self._watches[watch] = self._asking("watch", kind, key, "", after)
        return watch

    async def create(self, kind: str, obj: Object, *, subresource: str = "", name: str = "") -> ReadOnlyObject:
        """Create the object, or post it to the subresource of the object called `name`."""
        key = Key(obj.get("metadata", {}).get("namespace", ""), name)
        await self._ask("create", kind, key, subresource=subresource)
        return await self._client.create(kind, obj, subresource=subresource, name=name)

    async def update(self, kind: str, obj: Object, *, subresource: str = "") -> ReadOnlyObject:
        """Replace the object; Conflict unless its resourceVersion, if it has one, is the stored one."""
        metadata = obj["metadata"]
        key = Key(metadata.get("namespace", ""), metadata["name"])
        await self._ask("update", kind, key, subresource=subresource)
        return await self._client.update(kind, obj, subresource=subresource)

    async def patch(
        self, kind: str, key: Key, patch: object, *, media: PatchType = PatchType.STRATEGIC, subresource: str = ""
    ) -> ReadOnlyObject:
        """Change the object."""
        await self._ask("patch", kind, key, subresource=subresource)
        return await self._client.patch(kind, key, patch, media=media, subresource=subresource)

    async def delete(self, kind: str, key: Key, how: Deletion = DEFAULT) -> None:
        """Ask for the deletion; the object may stay for its finalizers or its grace period."""
        await self._ask("delete", kind, key)
        await self._client.delete(kind, key, how)

    async def delete_collection(self, kind: str, selection: Selection, how: Deletion = DEFAULT) -> None:
        """Delete all selected objects."""
        await self._ask("deletecollection", kind, Key(selection.namespace, ""))
        await self._client.delete_collection(kind, selection, how)
