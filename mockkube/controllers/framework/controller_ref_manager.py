"""Controller references: finds, adopts and releases the objects of an owner.

upstream 1.36: pkg/controller/controller_ref_manager.go
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from mockkube.api.errors import ApiError, Invalid, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Client, Key, key_of
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.steps import yield_to_event_loop

ObjectFilter = Callable[[ReadOnlyObject], bool]
# Number of objects after which other tasks may run: most objects need no request and so no await.
_YIELD_EVERY: Final = 512


def controller_of(obj: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the owner reference of an object's controller; None for an orphan."""
    for reference in obj["metadata"].get("ownerReferences", ()):
        if reference.get("controller"):
            owner: ReadOnlyObject = reference
            return owner
    return None


def controller_uid(obj: ReadOnlyObject) -> str:
    """Return the uid of an object's controller; empty for an orphan."""
    reference = controller_of(obj)
    return "" if reference is None else reference["uid"]


def new_controller_ref(owner: ReadOnlyObject, api_version: str, kind: str) -> Object:
    """Return the owner reference that makes `owner` the controller of an object."""
    metadata = owner["metadata"]
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def has_deletion_timestamp(obj: ReadOnlyObject) -> bool:
    """Return whether an object has a deletionTimestamp."""
    return bool(obj["metadata"].get("deletionTimestamp"))


@dataclass(slots=True)
class ControllerRefManager:
    """Claims objects of one kind for one owner, during one reconciliation.

    Before the first adoption the owner is read from the server: the informer may not show its deletion yet.
    """

    client: Client
    # Kind of the owned objects.
    kind: str
    owner: ReadOnlyObject
    owner_kind: str
    owner_api_version: str
    # Finalizers that are added with the adoption and removed with the release.
    finalizers: Sequence[str] = ()
    _checked: bool = False
    _can_adopt_error: ApiError | None = None

    async def claim(self, objects: Iterable[ReadOnlyObject], match: ObjectFilter) -> list[ReadOnlyObject]:
        """Return the objects that the owner owns now: adopt matching orphans, release what no longer matches.

        All objects are processed before the first error is raised.
        """
        owned, errors = [], list[ApiError]()
        for count, obj in enumerate(objects, 1):
            if count % _YIELD_EVERY == 0:
                await yield_to_event_loop()
            try:
                if await self._claim_object(obj, match):
                    owned.append(obj)
            except NotFound:
                continue  # deleted in the meantime
            except ApiError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return owned

    async def _claim_object(self, obj: ReadOnlyObject, match: ObjectFilter) -> bool:
        """Return whether the owner owns an object, after adopting or releasing it if needed."""
        uid = controller_uid(obj)
        if uid and uid != self.owner["metadata"]["uid"]:
            return False
        if uid and match(obj):
            return True
        # An owner that is being deleted neither adopts nor releases: the garbage collector decides about its
        # dependents.
        if has_deletion_timestamp(self.owner):
            return False
        if uid:
            await self._release_object(obj)
            return False
        # An orphan that is being deleted is not worth adopting.
        if has_deletion_timestamp(obj) or not match(obj) or not self._same_namespace(obj):
            return False
        await self._adopt_object(obj)
        return True

    def _same_namespace(self, obj: ReadOnlyObject) -> bool:
        namespace = self.owner["metadata"].get("namespace", "")
        return not namespace or namespace == obj["metadata"].get("namespace", "")

    async def _adopt_object(self, obj: ReadOnlyObject) -> None:
        await self._can_adopt_once()
        reference = new_controller_ref(self.owner, self.owner_api_version, self.owner_kind)
        # The uid in the patch makes it fail on another object of the same name.
        metadata: Object = {"uid": obj["metadata"]["uid"], "ownerReferences": [reference]}
        if self.finalizers:
            metadata["finalizers"] = list(self.finalizers)
        await self.client.patch(self.kind, key_of(obj), {"metadata": metadata})

    async def _can_adopt_once(self) -> None:
        # At most one request per reconciliation, however many orphans match (upstream: canAdoptOnce).
        if not self._checked:
            self._checked = True
            try:
                await recheck_deletion_timestamp(self.client, self.owner_kind, self.owner)
            except ApiError as error:
                self._can_adopt_error = error
        if self._can_adopt_error is not None:
            raise self._can_adopt_error

    async def _release_object(self, obj: ReadOnlyObject) -> None:
        metadata: Object = {
            "uid": obj["metadata"]["uid"],
            "ownerReferences": [{"$patch": "delete", "uid": self.owner["metadata"]["uid"]}],
        }
        if self.finalizers:
            metadata["$deleteFromPrimitiveList/finalizers"] = list(self.finalizers)
        try:
            await self.client.patch(self.kind, key_of(obj), {"metadata": metadata})
        except Invalid:
            return  # the owner reference is gone, or this is another object of that name


async def recheck_deletion_timestamp(client: Client, kind: str, owner: ReadOnlyObject) -> None:
    """Raise unless the owner still exists with the same uid and is not being deleted."""
    metadata = owner["metadata"]
    fresh = await client.get(kind, Key(metadata.get("namespace", ""), metadata["name"]))
    if fresh["metadata"]["uid"] != metadata["uid"]:
        raise ApiError(
            f"original {kind} {key_of(owner)} is gone: got uid {fresh['metadata']['uid']}, wanted {metadata['uid']}"
        )
    if has_deletion_timestamp(fresh):
        raise ApiError(f"{key_of(owner)} has just been deleted at {fresh['metadata']['deletionTimestamp']}")
