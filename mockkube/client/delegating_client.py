"""Base class of clients that do something before each request of another client."""

from collections.abc import Mapping

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


class DelegatingClient:
    """Client that calls `_before_request`, which may raise, and then another client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def _before_request(self, verb: str, kind: str = "", namespace: str = "", name: str = "") -> None:
        """Called with the verb and what the request is about; a collection and an object to name have no name."""
        raise NotImplementedError

    async def get(self, kind: str, key: Key, *, subresource: str = "") -> ReadOnlyObject:
        """Delegate to `Client.get`."""
        self._before_request("get", kind, key.namespace, key.name)
        return await self._client.get(kind, key, subresource=subresource)

    async def get_path(self, path: str, query: Mapping[str, str] = NO_QUERY) -> ReadOnlyObject:
        """Delegate to `Client.get_path`."""
        self._before_request("get")
        return await self._client.get_path(path, query)

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> ObjectList:
        """Delegate to `Client.list`."""
        self._before_request("list", kind, selection.namespace)
        return await self._client.list(kind, selection)

    async def watch(self, kind: str, selection: Selection, after: str) -> Watch:
        """Delegate to `Client.watch`."""
        self._before_request("watch", kind, selection.namespace)
        return await self._client.watch(kind, selection, after)

    async def create(self, kind: str, obj: Object, *, subresource: str = "", name: str = "") -> ReadOnlyObject:
        """Delegate to `Client.create`."""
        metadata = obj.get("metadata", {})
        self._before_request("create", kind, metadata.get("namespace", ""), name or metadata.get("name", ""))
        return await self._client.create(kind, obj, subresource=subresource, name=name)

    async def update(self, kind: str, obj: Object, *, subresource: str = "") -> ReadOnlyObject:
        """Delegate to `Client.update`."""
        key = key_of(obj)
        self._before_request("update", kind, key.namespace, key.name)
        return await self._client.update(kind, obj, subresource=subresource)

    async def patch(
        self, kind: str, key: Key, patch: object, *, patch_type: PatchType = PatchType.STRATEGIC, subresource: str = ""
    ) -> ReadOnlyObject:
        """Delegate to `Client.patch`."""
        self._before_request("patch", kind, key.namespace, key.name)
        return await self._client.patch(kind, key, patch, patch_type=patch_type, subresource=subresource)

    async def delete(self, kind: str, key: Key, options: DeleteOptions = DELETE_DEFAULT) -> None:
        """Delegate to `Client.delete`."""
        self._before_request("delete", kind, key.namespace, key.name)
        await self._client.delete(kind, key, options)

    async def delete_collection(self, kind: str, selection: Selection, options: DeleteOptions = DELETE_DEFAULT) -> None:
        """Delegate to `Client.delete_collection`."""
        self._before_request("deletecollection", kind, selection.namespace)
        await self._client.delete_collection(kind, selection, options)
