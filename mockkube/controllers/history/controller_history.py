"""History of a DaemonSet or StatefulSet: its pod templates as numbered ControllerRevisions.

upstream 1.36: pkg/controller/daemon/update.go (constructHistory), pkg/controller/history/controller_history.go
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from mockkube.api.errors import AlreadyExists, ApiError, NotFound
from mockkube.api.fields import with_sorted_keys
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.informer import Informer
from mockkube.client.protocol import Client, key_of
from mockkube.controllers.framework.controller_ref_manager import ControllerRefManager, new_controller_ref
from mockkube.controllers.framework.owner_index import find_claimable, selector_of
from mockkube.controllers.pods.template_hash import HASH_LABEL, template_hash
from mockkube.lazy_dataclasses import dataclass


def revision_patch(owner: ReadOnlyObject) -> Object:
    """Return the patch that restores the present template of a set; it is the data of a revision."""
    # Sorted, because clients such as kubectl compare the bytes with what Go makes of a map.
    data: Object = with_sorted_keys({"spec": {"template": {"$patch": "replace", **owner["spec"]["template"]}}})
    return data


def revision_hash(revision: ReadOnlyObject) -> str:
    """Return the hash label of a revision, which its pods carry too."""
    mark: str = (revision["metadata"].get("labels") or {}).get(HASH_LABEL, "")
    return mark


def sort_revisions(revisions: Iterable[ReadOnlyObject]) -> list[ReadOnlyObject]:
    """Return revisions, the oldest first."""

    def rank(one: ReadOnlyObject) -> tuple[int, str, str]:
        # Ties are broken by age and name, as in upstream's byRevision.
        return one.get("revision", 0), one["metadata"].get("creationTimestamp", ""), one["metadata"]["name"]

    return sorted(revisions, key=rank)


@dataclass(frozen=True, slots=True)
class SetRevisions:
    """Current revision of a set, and its older revisions."""

    current: ReadOnlyObject
    old: Sequence[ReadOnlyObject]


@dataclass(frozen=True, slots=True)
class RevisionHistory:
    """Creates, adopts, renumbers and deletes the ControllerRevisions of sets of one kind."""

    # Label of a revision that holds its hash.
    hash_label: ClassVar[str] = HASH_LABEL

    client: Client
    revisions: Informer
    kind: str
    api_version: str = "apps/v1"

    async def claim_revisions(self, owner: ReadOnlyObject) -> list[ReadOnlyObject]:
        """Return the revisions of a set; matching orphans are adopted."""
        selector = selector_of(owner)
        claims = ControllerRefManager(self.client, "ControllerRevision", owner, self.kind, self.api_version)
        return await claims.claim(
            find_claimable(self.revisions, owner),
            lambda one: selector.matches(one["metadata"].get("labels") or {}),
        )

    async def construct_history(self, owner: ReadOnlyObject) -> SetRevisions:
        """Return the history of a set; create a revision if the present template has none."""
        data = revision_patch(owner)
        claimed = [await self._ensure_hash_label(one) for one in await self.claim_revisions(owner)]
        same = sort_revisions(one for one in claimed if one.get("data") == data)
        old = [one for one in claimed if one.get("data") != data]
        number = max((one.get("revision", 0) for one in old), default=0) + 1
        if not same:
            return SetRevisions(await self._create_revision(owner, data, number), old)
        current = same[-1]
        # Equal revisions appear when an orphan is adopted; the newest is kept.
        for duplicate in same[:-1]:
            await self._delete_revision(duplicate)
        # A rollback to an old template: its revision becomes the newest instead of being created again.
        if current.get("revision", 0) < number:
            current = await self.client.update("ControllerRevision", {**current, "revision": number})
        return SetRevisions(current, old)

    async def _ensure_hash_label(self, revision: ReadOnlyObject) -> ReadOnlyObject:
        """Return the revision with a hash label; revisions of old versions have none."""
        if revision_hash(revision):
            return revision
        metadata = revision["metadata"]
        labels = {**(metadata.get("labels") or {}), HASH_LABEL: metadata["name"]}
        return await self.client.update("ControllerRevision", {**revision, "metadata": {**metadata, "labels": labels}})

    def compute_hash(self, owner: ReadOnlyObject, data: Object) -> str:
        """Return the hash that names a new revision of a set."""
        return template_hash(owner["spec"]["template"], (owner.get("status") or {}).get("collisionCount", 0))

    async def _create_revision(self, owner: ReadOnlyObject, data: Object, number: int) -> ReadOnlyObject:
        """Create a revision, or return the equal one of the same name."""
        metadata, template = owner["metadata"], owner["spec"]["template"]
        mark = self.compute_hash(owner, data)
        revision: Object = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": f"{metadata['name']}-{mark}",
                "namespace": metadata["namespace"],
                "labels": {**((template.get("metadata") or {}).get("labels") or {}), self.hash_label: mark},
                "annotations": dict(metadata.get("annotations") or {}),
                "ownerReferences": [new_controller_ref(owner, self.api_version, self.kind)],
            },
            "data": data,
            "revision": number,
        }
        try:
            return await self.client.create("ControllerRevision", revision)
        except AlreadyExists as error:
            return await self._resolve_name_collision(owner, revision, error)

    async def _resolve_name_collision(self, owner: ReadOnlyObject, revision: Object, error: ApiError) -> ReadOnlyObject:
        """Return the revision of that name if it has the same data; else count a collision and raise."""
        present = await self.client.get("ControllerRevision", key_of(revision))
        if present.get("data") == revision["data"]:
            return present
        fresh = await self.client.get(self.kind, key_of(owner))
        status = fresh.get("status") or {}
        collisions = (owner.get("status") or {}).get("collisionCount", 0)
        # Another worker may have counted the collision already. The retry hashes the template with the new count.
        if status.get("collisionCount", 0) == collisions:
            changed = {**fresh, "status": {**status, "collisionCount": collisions + 1}}
            await self.client.update(self.kind, changed, subresource="status")
        raise error

    async def _delete_revision(self, revision: ReadOnlyObject) -> None:
        try:
            await self.client.delete("ControllerRevision", key_of(revision))
        except NotFound:
            return

    async def truncate_history(self, owner: ReadOnlyObject, old: Sequence[ReadOnlyObject], live: Iterable[str]) -> None:
        """Delete the oldest revisions beyond revisionHistoryLimit; those that pods use are kept."""
        surplus = len(old) - owner["spec"].get("revisionHistoryLimit", 10)
        used = set(live)
        for revision in sort_revisions(old):
            if surplus <= 0:
                return
            if revision_hash(revision) not in used:
                await self._delete_revision(revision)
                surplus -= 1
