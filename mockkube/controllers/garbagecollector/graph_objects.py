"""Requests of the garbage collector for objects of any kind: reads, deletions, owners, finalizers."""

from collections.abc import Callable, Sequence
from typing import Final

from mockkube.api.errors import ApiError, Conflict, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import Client, DeleteOptions, Key, Propagation
from mockkube.controllers.framework.resource_monitors import ResourceMonitors
from mockkube.controllers.framework.served_kinds import BUILT_IN, ServedKind
from mockkube.controllers.garbagecollector.owner_graph import ObjectReference, has_finalizer
from mockkube.controllers.nodelifecycle.node_writer import retry_on_conflict
from mockkube.features.versions import Version

_BUILT_IN: Final = frozenset(kind.name for kind in BUILT_IN)
# upstream 1.34: pkg/controller/garbagecollector/operations.go, deleteObject
_CHECKS_OWNERS_SINCE: Final = Version(1, 34)
_OwnersChange = Callable[[Sequence[ReadOnlyObject]], list[ReadOnlyObject]]


class KindUnknown(ApiError):
    """An owner's kind is not served, or not yet."""


class GraphObjectClient:
    """Reads and writes objects of any kind by their identity."""

    def __init__(self, client: Client, kinds: ResourceMonitors, version: Version) -> None:
        self._client, self._kinds, self._version = client, kinds, version

    def kind(self, identity: ObjectReference) -> ServedKind:
        """Return the kind of an object; KindUnknown if it is not served."""
        kind = self._kinds.find_kind(identity.api_version, identity.kind)
        if kind is None:
            raise KindUnknown(f'no matches for kind "{identity.kind}" in version "{identity.api_version}"')
        return kind

    def _kind_and_key(self, identity: ObjectReference) -> tuple[str, Key]:
        kind = self.kind(identity)
        return kind.name, Key(identity.namespace if kind.namespaced else "", identity.name)

    async def get(self, identity: ObjectReference) -> ReadOnlyObject:
        """Return the stored object of that name, with any uid."""
        return await self._client.get(*self._kind_and_key(identity))

    async def delete(self, identity: ObjectReference, latest: ReadOnlyObject, policy: Propagation) -> None:
        """Delete an object; from 1.34 on, not if its owners changed since it was read."""
        name, key = self._kind_and_key(identity)
        if self._version < _CHECKS_OWNERS_SINCE:
            await self._client.delete(name, key, DeleteOptions(identity.uid, propagation=policy))
            return
        options = DeleteOptions(identity.uid, latest["metadata"]["resourceVersion"], propagation=policy)
        try:
            await self._client.delete(name, key, options)
        except Conflict:
            now = await self._client.get(name, key)
            if now["metadata"].get("ownerReferences") != latest["metadata"].get("ownerReferences"):
                raise
            # Other changes, such as status updates, must not keep an object alive. So the resourceVersion is no
            # precondition the second time.
            await self._client.delete(name, key, DeleteOptions(identity.uid, propagation=policy))

    async def remove_owners(self, identity: ObjectReference, uids: Sequence[str]) -> None:
        """Remove owner references from an object."""
        await self._write_owners(
            identity,
            [{"$patch": "delete", "uid": uid} for uid in uids],
            lambda owners: [owner for owner in owners if owner["uid"] not in uids],
        )

    async def unblock_owners(self, identity: ObjectReference, owners: Sequence[ReadOnlyObject]) -> None:
        """Set blockOwnerDeletion to False in an object's owner references."""
        blocking = [owner["uid"] for owner in owners if owner.get("blockOwnerDeletion")]
        await self._write_owners(
            identity,
            [{"uid": uid, "blockOwnerDeletion": False} for uid in blocking],
            lambda there: [{**owner, "blockOwnerDeletion": False} for owner in there],
        )

    async def _write_owners(self, identity: ObjectReference, strategic: list[Object], change: _OwnersChange) -> None:
        name, key = self._kind_and_key(identity)
        # Custom resources do not support strategic merge patches, so they are read and patched as a whole list.
        if name in _BUILT_IN:
            await self._client.patch(name, key, {"metadata": {"uid": identity.uid, "ownerReferences": strategic}})
            return
        now = await self._client.get(name, key)
        if now["metadata"]["uid"] != identity.uid:
            raise NotFound(f"{identity.key} was replaced by another object of that name")
        owners = change(now["metadata"].get("ownerReferences", ()))
        metadata = {"resourceVersion": now["metadata"]["resourceVersion"], "ownerReferences": owners}
        await self._client.patch(name, key, {"metadata": metadata}, patch_type=PatchType.MERGE)

    async def remove_finalizer(self, identity: ObjectReference, finalizer: str) -> None:
        """Remove a finalizer from an object if it is still there."""
        name, key = self._kind_and_key(identity)

        async def once() -> None:
            now = await self._client.get(name, key)
            if has_finalizer(now, finalizer):
                left = [one for one in now["metadata"]["finalizers"] if one != finalizer]
                metadata = {"resourceVersion": now["metadata"]["resourceVersion"], "finalizers": left}
                await self._client.patch(name, key, {"metadata": metadata}, patch_type=PatchType.MERGE)

        try:
            await retry_on_conflict(once)
        except NotFound:
            return
