"""Client of the operator that records what its requests read: a request that is refused writes nothing."""

from collections.abc import Mapping
from functools import cache

from mockkube.api.catalogue import KINDS
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import (
    DELETE_DEFAULT,
    EVERYTHING,
    NO_QUERY,
    Client,
    DeleteOptions,
    Key,
    ObjectList,
    Selection,
    Watch,
    key_of,
)
from mockkube.explore.interleavings.accesses import AccessRecorder
from mockkube.explore.interleavings.recording import name_stored


class RecordingClient:
    """Client that records the objects and collections that requests are about."""

    def __init__(self, client: Client, recorder: AccessRecorder) -> None:
        self._client, self._recorder = client, recorder

    def _read(self, kind: str, key: Key) -> None:
        self._recorder.read(name_stored(_find_collection(kind), key.namespace, key.name))

    def _read_all(self, kind: str, namespace: str) -> None:
        self._recorder.read(f"store {_find_collection(kind)} {namespace or '*'}")

    async def get(self, kind: str, key: Key, *, subresource: str = "") -> ReadOnlyObject:
        """Delegate to `Client.get`."""
        self._read(kind, key)
        return await self._client.get(kind, key, subresource=subresource)

    async def get_path(self, path: str, query: Mapping[str, str] = NO_QUERY) -> ReadOnlyObject:
        """Delegate to `Client.get_path`."""
        return await self._client.get_path(path, query)

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> ObjectList:
        """Delegate to `Client.list`."""
        self._read_all(kind, selection.namespace)
        return await self._client.list(kind, selection)

    async def watch(self, kind: str, selection: Selection, after: str) -> Watch:
        """Delegate to `Client.watch`."""
        self._read_all(kind, selection.namespace)
        return await self._client.watch(kind, selection, after)

    async def create(self, kind: str, obj: Object, *, subresource: str = "", name: str = "") -> ReadOnlyObject:
        """Delegate to `Client.create`."""
        metadata = obj.get("metadata", {})
        if about := name or metadata.get("name", ""):
            self._read(kind, Key(metadata.get("namespace", ""), about))
        return await self._client.create(kind, obj, subresource=subresource, name=name)

    async def update(self, kind: str, obj: Object, *, subresource: str = "") -> ReadOnlyObject:
        """Delegate to `Client.update`."""
        self._read(kind, key_of(obj))
        return await self._client.update(kind, obj, subresource=subresource)

    async def patch(
        self, kind: str, key: Key, patch: object, *, patch_type: PatchType = PatchType.STRATEGIC, subresource: str = ""
    ) -> ReadOnlyObject:
        """Delegate to `Client.patch`."""
        self._read(kind, key)
        return await self._client.patch(kind, key, patch, patch_type=patch_type, subresource=subresource)

    async def delete(self, kind: str, key: Key, options: DeleteOptions = DELETE_DEFAULT) -> None:
        """Delegate to `Client.delete`."""
        self._read(kind, key)
        await self._client.delete(kind, key, options)

    async def delete_collection(self, kind: str, selection: Selection, options: DeleteOptions = DELETE_DEFAULT) -> None:
        """Delegate to `Client.delete_collection`."""
        self._read_all(kind, selection.namespace)
        await self._client.delete_collection(kind, selection, options)


@cache
def _find_collection(kind: str) -> str:
    """Return group and plural of a kind as in traces; custom kinds are taken to have a regular plural."""
    name, _, group = kind.partition(".")
    for one in KINDS:
        if one.kind == name and group in ("", one.group):
            return f"{one.group or 'core'}/{one.plural}"
    return f"{group or 'core'}/{name.lower()}s"
