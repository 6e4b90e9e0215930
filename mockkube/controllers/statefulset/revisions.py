"""The revisions of stateful sets: the newest, the one an update replaces, and those that are forgotten.

upstream 1.36: pkg/controller/statefulset/stateful_set_control.go (getStatefulSetRevisions, truncateHistory),
pkg/controller/history/controller_history.go (NewControllerRevision, HashControllerRevision)
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

from mockkube.api.errors import Internal
from mockkube.api.kinds.core.pod.defaults import default_template
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.sight import Sight
from mockkube.controllers.history import Archive, by_number, data_of
from mockkube.controllers.pods.template_hash import fnv32, go_json, safe_name
from mockkube.controllers.statefulset.identity import KIND
from mockkube.features.capabilities import Capabilities
from mockkube.proposals.lending import schema_for
from mockkube.proposals.outside import trains_of

REVISION_HASH_LABEL: Final = "controller.kubernetes.io/hash"
"""What a revision tells its hash in; pods name the revision itself in `controller-revision-hash`."""

Same = Callable[[ReadOnlyObject, ReadOnlyObject], bool]
"""Whether a set is what a revision would make of it."""


@dataclass(frozen=True, slots=True)
class StatefulHistory:
    """The revisions of a set: what it was before the present update, what it is now, and all there were."""

    current: ReadOnlyObject
    update: ReadOnlyObject
    every: tuple[ReadOnlyObject, ...]
    """The oldest first; without one that has only been made now."""


def restored(owner: ReadOnlyObject, revision: ReadOnlyObject) -> Object:
    """Return a set as it was at a revision."""
    template = {name: value for name, value in revision["data"]["spec"]["template"].items() if name != "$patch"}
    return {**owner, "spec": {**owner["spec"], "template": template}}


def never(owner: ReadOnlyObject, revision: ReadOnlyObject) -> bool:
    """Say of no revision that it means the same in other words."""
    return False


def same_meaning(capabilities: Capabilities) -> Same:
    """Return what compares as a component reads: fields it does not know are nothing, defaults are filled in."""
    if not capabilities.enabled("StatefulSetSemanticRevisionComparison"):
        return never
    lens = Sight(schema_for(capabilities.version, trains_of(capabilities))).lens("apps", "v1", KIND)

    def same(owner: ReadOnlyObject, revision: ReadOnlyObject) -> bool:
        try:
            seen = lens(restored(owner, revision))
        except Internal:
            return False
        default_template(seen["spec"]["template"], capabilities)
        return data_of(seen) == data_of(owner)

    return same


@dataclass(frozen=True, slots=True)
class StatefulArchive(Archive):
    """Keeps the revisions of stateful sets, which pods are marked with by name."""

    label: ClassVar[str] = REVISION_HASH_LABEL

    same: Same = never

    def mark(self, owner: ReadOnlyObject, data: Object) -> str:
        """Return the hash of what is kept, as it is written in JSON, and of the collisions met before."""
        collisions = (owner.get("status") or {}).get("collisionCount", 0)
        return safe_name(fnv32(go_json(data) + str(collisions).encode()))

    async def history_of(self, owner: ReadOnlyObject) -> StatefulHistory:
        """Return the history of a set, with a revision for what it is now, made if it is new."""
        every = tuple(by_number(await self.claimed(owner)))
        update = await self._newest(owner, every)
        named = (owner.get("status") or {}).get("currentRevision", "")
        current = next((one for one in every if one["metadata"]["name"] == named), update)
        return StatefulHistory(current, update, every)

    async def _newest(self, owner: ReadOnlyObject, every: tuple[ReadOnlyObject, ...]) -> ReadOnlyObject:
        data = data_of(owner)
        last = every[-1] if every else None
        number = 1 if last is None else last.get("revision", 0) + 1
        equal = [one for one in every if one.get("data") == data]
        if last is not None and (last.get("data") == data or (not equal and self.same(owner, last))):
            return last
        if equal:  # a rollback: what was comes first again
            return await self.client.update("ControllerRevision", {**equal[-1], "revision": number})
        return await self._make(owner, data, number)

    async def forget(self, owner: ReadOnlyObject, history: StatefulHistory, live: Iterable[str]) -> None:
        """Delete the oldest revisions beyond the history that is kept; those that pods are of do not count."""
        used = {history.current["metadata"]["name"], history.update["metadata"]["name"], *live}
        unused = [one for one in history.every if one["metadata"]["name"] not in used]
        surplus = len(unused) - owner["spec"].get("revisionHistoryLimit", 10)
        for revision in unused[: max(surplus, 0)]:
            await self._delete(revision)
