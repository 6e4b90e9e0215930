"""Entries of managedFields after updates that were computed before.

Whose the fields of an object are after an update follows from the entries before it, the manager and the paths that
changed: neither from values nor from times. Most updates repeat one of another object, or the last one of the same.
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from mockkube.api.bounded_cache import BoundedCache
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.managed_fields.compare import ChangedPaths
from mockkube.api.managed_fields.managers import (
    APPLY,
    UPDATE,
    UPDATE_ENTRIES_MAX,
    ManagedFields,
    ManagerId,
    encode_entry,
    sort_key,
)
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import weakref

    from mockkube.api.managed_fields.updater import ManagedFieldsUpdater

# Time of the entry that an update writes, in entries that hold for updates at any time.
WRITE_TIME: Final = "time of the write"
_PATHS_MAX: Final = 200
_ENTRIES_BYTES_MAX: Final = 8192


@dataclass(frozen=True, slots=True)
class KnownEntry:
    """Entry after an update. Its time is that of the write, or of an entry before the update."""

    manager: ManagerId
    version: str
    entry: Object
    # Index of the entry before the update, -1 for none.
    source: int

    def sort_key(self, time: str) -> tuple[str, ...]:
        """Return what the entry is sorted by if it has this time."""
        manager = self.manager
        return sort_key(manager.operation, time, manager.name, self.version, manager.subresource)


@dataclass(frozen=True, slots=True)
class KnownUpdate:
    """Entries of an object after an update of certain paths."""

    entries: tuple[KnownEntry, ...]

    @classmethod
    def from_managed_fields(cls, managed: ManagedFields, before: Sequence[ManagerId]) -> "KnownUpdate":
        """Return the update whose result has the time WRITE_TIME where that of the write belongs."""
        entries = []
        for manager, versioned_set in managed.sets.items():
            is_written = managed.times.get(manager) == WRITE_TIME
            source = -1 if is_written or manager not in before else before.index(manager)
            entries.append(
                KnownEntry(manager, versioned_set.version, encode_entry(manager, versioned_set, WRITE_TIME), source)
            )
        return cls(tuple(entries))

    def apply(self, before: Sequence[ReadOnlyObject], time: str) -> list[Object]:  # hot: per update
        """Return the entries after an update at a time, of an object that had `before`."""
        entries = self.entries
        if len(entries) == 1:
            return [_set_time(entries[0], before, time)]
        timed = [(known, _set_time(known, before, time)) for known in entries]
        timed.sort(key=lambda each: each[0].sort_key(each[1].get("time", "")))
        return [entry for _, entry in timed]


def _set_time(known: KnownEntry, before: Sequence[ReadOnlyObject], time: str) -> Object:
    own = time if known.source < 0 else before[known.source].get("time")
    entry = {**known.entry, "time": own}
    if not own:
        del entry["time"]
    return entry


@dataclass(frozen=True, slots=True)
class UpdateKey:
    """Inputs from which the entries after an update follow, besides the type of the object."""

    hashable: Hashable
    # Managers of the entries before the update.
    managers: tuple[ManagerId, ...]


def find_key(
    entries: Sequence[ReadOnlyObject], changed: ChangedPaths, manager: str, version: str
) -> UpdateKey | None:  # hot: per update
    """Return the key of an update; None if the result follows from more, or is too large to be kept.

    The values of an object count if one of its managers wrote in another version, and the times if there are so many
    entries that the oldest ones are joined.
    """
    if len(entries) >= UPDATE_ENTRIES_MAX or sum(map(len, changed)) > _PATHS_MAX:
        return None
    parts: list[Any] = [manager, changed]
    managers, size = [], 0
    for entry in entries:
        operation, subresource = entry.get("operation"), entry.get("subresource", "")
        if entry.get("apiVersion") != version or entry.get("fieldsType") != "FieldsV1":
            return None
        if operation == UPDATE:
            who = ManagerId(entry.get("manager", ""), UPDATE, version, subresource)
        elif operation == APPLY:
            who = ManagerId(entry.get("manager", ""), APPLY, "", subresource)
        else:
            return None
        fields = orjson.dumps(entry.get("fieldsV1"))
        size += len(fields)
        parts += (who.name, operation, subresource, fields)
        managers.append(who)
    if size > _ENTRIES_BYTES_MAX or len(set(managers)) != len(managers):
        return None
    return UpdateKey(tuple(parts), tuple(managers))


# Shared by all servers of the process, whose types may differ: each update names the updater that computed it.
KNOWN_UPDATES: Final[BoundedCache[Hashable, "tuple[weakref.ref[ManagedFieldsUpdater], KnownUpdate]"]] = BoundedCache(
    256
)
