"""Owner references of imported objects: the garbage collector deletes an object whose owners do not exist."""

from collections.abc import Iterable, Mapping

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass

# Group, kind, namespace and name.
ObjectName = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class OwnerChange:
    """A changed owner reference: it was re-linked to the owner of that name, or dropped."""

    object: ObjectName
    owner_kind: str
    owner_name: str
    is_relinked: bool


class OwnerIndex:
    """Uids of all imported objects, by name."""

    def __init__(self) -> None:
        self._uids: dict[ObjectName, str] = {}
        self._names: dict[str, ObjectName] = {}

    def add(self, name: ObjectName, uid: str) -> None:
        """Record an object."""
        self._uids[name], self._names[uid] = uid, name

    def names(self) -> Iterable[ObjectName]:
        """Return the names of all objects."""
        return self._uids

    def holds(self, reference: ReadOnlyObject, namespace: str) -> bool:
        """Return whether the owner of a reference exists, by its uid."""
        name = self._names.get(reference.get("uid", ""))
        return name is not None and name in _owner_names(reference, namespace)

    def relink(self, obj: ReadOnlyObject, name: ObjectName) -> tuple[Object, list[OwnerChange]]:
        """Return an object with references to existing owners only, and what was changed."""
        kept, changes, namespace = [], [], name[2]
        for reference in obj["metadata"]["ownerReferences"]:
            if self.holds(reference, namespace):
                kept.append(reference)
                continue
            uid = next((self._uids[one] for one in _owner_names(reference, namespace) if one in self._uids), "")
            if uid:
                kept.append({**reference, "uid": uid})
            changes.append(OwnerChange(name, reference.get("kind", ""), reference.get("name", ""), bool(uid)))
        metadata = {key: value for key, value in obj["metadata"].items() if key != "ownerReferences"}
        return {**obj, "metadata": {**metadata, **({"ownerReferences": kept} if kept else {})}}, changes


def _owner_names(reference: ReadOnlyObject, namespace: str) -> Mapping[ObjectName, None]:
    """Return the names that an owner may have: in the namespace of its dependent, or cluster-wide."""
    group = str(reference.get("apiVersion", "")).rpartition("/")[0]
    kind, name = str(reference.get("kind", "")), str(reference.get("name", ""))
    return {(group, kind, one, name): None for one in dict.fromkeys((namespace, ""))}
