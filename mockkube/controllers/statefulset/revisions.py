"""Revisions of a StatefulSet: current and update revision, comparison, history limit.

upstream 1.36: pkg/controller/statefulset/stateful_set_control.go (getStatefulSetRevisions, truncateHistory),
pkg/controller/history/controller_history.go (NewControllerRevision, HashControllerRevision)
"""

from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from mockkube.api.errors import Internal
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.pod.defaults import default_template
from mockkube.client.versioned_decoder import VersionedDecoder
from mockkube.controllers.history.controller_history import RevisionHistory, revision_patch, sort_revisions
from mockkube.controllers.pods.template_hash import fnv32, go_json, safe_encode_string
from mockkube.controllers.statefulset.identity import KIND
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.component_extensions import make_schema
from mockkube.proposals.loading import trains_for

# Label of a revision with its hash; pods carry the revision's name in `controller-revision-hash`.
REVISION_HASH_LABEL: Final = "controller.kubernetes.io/hash"

# Returns whether applying a revision to a set changes nothing.
RevisionComparison = Callable[[ReadOnlyObject, ReadOnlyObject], bool]


@dataclass(frozen=True, slots=True)
class StatefulSetRevisions:
    """Current revision, update revision, and all existing revisions of a set."""

    current: ReadOnlyObject
    update: ReadOnlyObject
    # The oldest first; without an update revision that was created just now.
    all_revisions: tuple[ReadOnlyObject, ...]


def apply_revision(owner: ReadOnlyObject, revision: ReadOnlyObject) -> Object:
    """Return a set with the pod template of a revision."""
    template = {name: value for name, value in revision["data"]["spec"]["template"].items() if name != "$patch"}
    return {**owner, "spec": {**owner["spec"], "template": template}}


def never_equal(owner: ReadOnlyObject, revision: ReadOnlyObject) -> bool:
    """Return False: only equal data makes revisions equal."""
    return False


def semantic_comparison(capabilities: Capabilities) -> RevisionComparison:
    """Return the comparison that decodes both templates as this version does, with defaults filled in."""
    if not capabilities.enabled("StatefulSetSemanticRevisionComparison"):
        return never_equal
    # A revision of an older release lacks fields that are defaulted now; compared literally it would restart all pods.
    decode = VersionedDecoder(make_schema(capabilities.version, trains_for(capabilities))).decoder_for(
        "apps", "v1", KIND
    )

    def is_equal(owner: ReadOnlyObject, revision: ReadOnlyObject) -> bool:
        try:
            decoded = decode(apply_revision(owner, revision))
        except Internal:
            return False
        default_template(decoded["spec"]["template"], capabilities)
        return revision_patch(decoded) == revision_patch(owner)

    return is_equal


@dataclass(frozen=True, slots=True)
class StatefulSetRevisionHistory(RevisionHistory):
    """Creates, adopts, renumbers and deletes the ControllerRevisions of stateful sets."""

    hash_label: ClassVar[str] = REVISION_HASH_LABEL

    is_equal: RevisionComparison = never_equal

    def compute_hash(self, owner: ReadOnlyObject, data: Object) -> str:
        """Return the hash of the revision data as JSON, with the collision count."""
        collisions = (owner.get("status") or {}).get("collisionCount", 0)
        return safe_encode_string(fnv32(go_json(data) + str(collisions).encode()))

    async def get_revisions(self, owner: ReadOnlyObject) -> StatefulSetRevisions:
        """Return the revisions of a set; create one if the present template has none."""
        every = tuple(sort_revisions(await self.claim_revisions(owner)))
        update = await self._get_update_revision(owner, every)
        named = (owner.get("status") or {}).get("currentRevision", "")
        # Without a known current revision the set is new, or its status was lost: there is no update to continue.
        current = next((one for one in every if one["metadata"]["name"] == named), update)
        return StatefulSetRevisions(current, update, every)

    async def _get_update_revision(
        self, owner: ReadOnlyObject, all_revisions: tuple[ReadOnlyObject, ...]
    ) -> ReadOnlyObject:
        """Return the update revision: the last one if equal, an older equal one, or a new one."""
        data = revision_patch(owner)
        last = all_revisions[-1] if all_revisions else None
        number = 1 if last is None else last.get("revision", 0) + 1
        equal = [one for one in all_revisions if one.get("data") == data]
        if last is not None and (last.get("data") == data or (not equal and self.is_equal(owner, last))):
            return last
        # A rollback: the old revision gets the highest number instead of being created again.
        if equal:
            return await self.client.update("ControllerRevision", {**equal[-1], "revision": number})
        return await self._create_revision(owner, data, number)

    async def truncate_revisions(
        self, owner: ReadOnlyObject, history: StatefulSetRevisions, live: Iterable[str]
    ) -> None:
        """Delete the oldest unused revisions beyond revisionHistoryLimit."""
        used = {history.current["metadata"]["name"], history.update["metadata"]["name"], *live}
        unused = [one for one in history.all_revisions if one["metadata"]["name"] not in used]
        surplus = len(unused) - owner["spec"].get("revisionHistoryLimit", 10)
        for revision in unused[: max(surplus, 0)]:
            await self._delete_revision(revision)
