"""Which objects a controller owns: owner references written, orphans adopted, strangers released.

upstream 1.36: pkg/controller/controller_ref_manager.go
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from mockkube.api.errors import ApiError, Invalid, NotFound
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client, Key, key_of
from mockkube.runtime.steps import give_way

Match = Callable[[ReadOnlyObject], bool]
_TURN: Final = 512
"""After how many objects others get a turn: of most nothing is asked."""


def controller_of(obj: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the owner reference of the controller that owns an object."""
    for reference in obj["metadata"].get("ownerReferences", ()):
        if reference.get("controller"):
            owner: ReadOnlyObject = reference
            return owner
    return None


def controller_uid(obj: ReadOnlyObject) -> str:
    """Return the uid of the controller that owns an object; empty for an orphan."""
    reference = controller_of(obj)
    return "" if reference is None else reference["uid"]


def reference_to(owner: ReadOnlyObject, api_version: str, kind: str) -> Object:
    """Return the reference that makes `owner` the controller of an object."""
    metadata = owner["metadata"]
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def terminating(obj: ReadOnlyObject) -> bool:
    """Whether an object is on its way out."""
    return bool(obj["metadata"].get("deletionTimestamp"))


@dataclass(slots=True)
class Claims:
    """One owner's hand on objects of one kind, for one reconciliation.

    Before the first adoption the owner is read from the server itself: a cache may not know yet that it is going.
    """

    client: Client
    kind: str
    """The kind of what is owned."""
    owner: ReadOnlyObject
    owner_kind: str
    owner_api_version: str
    finalizers: Sequence[str] = ()
    """What is put on an object with its adoption, and taken off with its release."""
    _checked: bool = False
    _refusal: ApiError | None = None

    async def claim(self, objects: Iterable[ReadOnlyObject], match: Match) -> list[ReadOnlyObject]:
        """Return what the owner owns now: orphans that match are adopted, what matches no more is released.

        All objects are seen to before the first thing that went wrong is raised.
        """
        owned, errors = [], list[ApiError]()
        for seen, obj in enumerate(objects, 1):
            if seen % _TURN == 0:
                await give_way()
            try:
                if await self._claimed(obj, match):
                    owned.append(obj)
            except NotFound:
                continue  # gone in the meantime
            except ApiError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return owned

    async def _claimed(self, obj: ReadOnlyObject, match: Match) -> bool:
        uid = controller_uid(obj)
        if uid and uid != self.owner["metadata"]["uid"]:
            return False
        if uid and match(obj):
            return True
        if terminating(self.owner):
            return False
        if uid:
            await self._release(obj)
            return False
        if terminating(obj) or not match(obj) or not self._same_namespace(obj):
            return False
        await self._adopt(obj)
        return True

    def _same_namespace(self, obj: ReadOnlyObject) -> bool:
        namespace = self.owner["metadata"].get("namespace", "")
        return not namespace or namespace == obj["metadata"].get("namespace", "")

    async def _adopt(self, obj: ReadOnlyObject) -> None:
        await self._check_owner()
        reference = reference_to(self.owner, self.owner_api_version, self.owner_kind)
        metadata: Object = {"uid": obj["metadata"]["uid"], "ownerReferences": [reference]}
        if self.finalizers:
            metadata["finalizers"] = list(self.finalizers)
        await self.client.patch(self.kind, key_of(obj), {"metadata": metadata})

    async def _check_owner(self) -> None:
        if not self._checked:
            self._checked = True
            try:
                await still_wanted(self.client, self.owner_kind, self.owner)
            except ApiError as error:
                self._refusal = error
        if self._refusal is not None:
            raise self._refusal

    async def _release(self, obj: ReadOnlyObject) -> None:
        metadata: Object = {
            "uid": obj["metadata"]["uid"],
            "ownerReferences": [{"$patch": "delete", "uid": self.owner["metadata"]["uid"]}],
        }
        if self.finalizers:
            metadata["$deleteFromPrimitiveList/finalizers"] = list(self.finalizers)
        try:
            await self.client.patch(self.kind, key_of(obj), {"metadata": metadata})
        except Invalid:
            return  # it has no owner any more, or is another object of that name


async def still_wanted(client: Client, kind: str, owner: ReadOnlyObject) -> None:
    """Ask the server whether an owner is still that object and not going; raise what speaks against it."""
    metadata = owner["metadata"]
    fresh = await client.get(kind, Key(metadata.get("namespace", ""), metadata["name"]))
    if fresh["metadata"]["uid"] != metadata["uid"]:
        raise ApiError(
            f"original {kind} {key_of(owner)} is gone: got uid {fresh['metadata']['uid']}, wanted {metadata['uid']}"
        )
    if terminating(fresh):
        raise ApiError(f"{key_of(owner)} has just been deleted at {fresh['metadata']['deletionTimestamp']}")
