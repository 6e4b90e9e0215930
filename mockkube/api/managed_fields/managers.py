"""Entries of managedFields: managers with their field sets, versions and times."""

# upstream 1.36: apimachinery/pkg/util/managedfields/internal/managedfields.go, capmanagers.go

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Final

import orjson

from mockkube.api.bounded_cache import BoundedCache
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.managed_fields.errors import InvalidEntry
from mockkube.api.managed_fields.field_set import FieldSet
from mockkube.lazy_dataclasses import dataclass

APPLY: Final = "Apply"
UPDATE: Final = "Update"
# Name of a manager that gives none.
UNKNOWN: Final = "unknown"
# Number of update entries kept apart; older ones are joined, because controllers with random names would pile up.
UPDATE_ENTRIES_MAX: Final = 10

_CACHED_BYTES_MAX: Final = 8192
# Decoded field sets by their JSON; a set that was read is never changed.
_FIELD_SETS: Final[BoundedCache[bytes, FieldSet]] = BoundedCache(512)


@dataclass(frozen=True, slots=True, order=True)
class ManagerId:
    """Identity of an entry; that of an applier does not include the version."""

    name: str
    operation: str
    version: str = ""
    subresource: str = ""

    @classmethod
    def for_apply(cls, name: str, subresource: str = "") -> "ManagerId":
        """Return the identity of a manager that applies."""
        return cls(name or UNKNOWN, APPLY, "", subresource)

    @classmethod
    def for_update(cls, name: str, version: str, subresource: str = "") -> "ManagerId":
        """Return the identity of a manager that writes in any other way."""
        return cls(name or UNKNOWN, UPDATE, version, subresource)

    def __str__(self) -> str:
        text = f'"{self.name}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.version}" if self.operation == UPDATE else text


@dataclass(frozen=True, slots=True)
class VersionedSet:
    """Fields that a manager manages, in one version (upstream: VersionedSet)."""

    fields: FieldSet
    version: str
    is_applied: bool = False

    def with_fields(self, fields: FieldSet) -> "VersionedSet":
        """Return the entry with other fields."""
        return self if fields is self.fields else replace(self, fields=fields)


@dataclass(frozen=True, slots=True)
class ManagedFields:
    """All entries of an object. Never changed in place."""

    sets: dict[ManagerId, VersionedSet] = field(default_factory=dict)
    times: dict[ManagerId, str] = field(default_factory=dict)


def decode(entries: Iterable[ReadOnlyObject]) -> ManagedFields:
    """Decode managedFields; raise InvalidEntry."""
    sets, times = {}, {}
    for index, entry in enumerate(entries):
        operation, version = entry.get("operation", ""), entry.get("apiVersion", "")
        if operation not in (APPLY, UPDATE):
            raise InvalidEntry("operation must be `Apply` or `Update`")
        if not version:
            raise InvalidEntry("apiVersion must not be empty")
        kind = entry.get("fieldsType", "")
        if kind != "FieldsV1":
            problem = f'invalid fieldsType "{kind}"' if kind else "missing fieldsType"
            raise InvalidEntry(f"{problem} in managed fields entry {index}")
        applied = operation == APPLY
        manager = ManagerId(
            entry.get("manager", ""), operation, "" if applied else version, entry.get("subresource", "")
        )
        fields = entry.get("fieldsV1")
        sets[manager] = VersionedSet(_decode_fields({} if fields is None else fields), version, applied)
        if entry.get("time"):
            times[manager] = entry["time"]
    return ManagedFields(sets, times)


def _decode_fields(fields: ReadOnlyObject) -> FieldSet:  # hot: per entry of every written object
    """Return the field set of `fieldsV1`. Many objects have equal ones, which are read once."""
    written = orjson.dumps(fields)
    known = _FIELD_SETS.get(written)
    if known is None:
        known = FieldSet.from_fields_v1(fields)
        if len(written) <= _CACHED_BYTES_MAX:
            _FIELD_SETS.put(written, known)
    return known


def encode(managed: ManagedFields) -> list[Object]:
    """Encode managedFields: appliers before updaters, then by time."""
    order = sorted(
        managed.sets.items(),
        key=lambda each: sort_key(
            each[0].operation, managed.times.get(each[0], ""), each[0].name, each[1].version, each[0].subresource
        ),
    )
    return [encode_entry(manager, versioned_set, managed.times.get(manager)) for manager, versioned_set in order]


def sort_key(operation: str, time: str, name: str, version: str, subresource: str) -> tuple[str, ...]:
    """Return what entries are sorted by."""
    return operation, time, name, version, subresource


def encode_entry(manager: ManagerId, versioned_set: VersionedSet, time: str | None) -> Object:
    """Encode one entry."""
    entry: Object = {"manager": manager.name} if manager.name else {}
    entry |= {
        "operation": APPLY if versioned_set.is_applied else manager.operation,
        "apiVersion": versioned_set.version,
    }
    if time is not None:
        entry["time"] = time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": versioned_set.fields.to_fields_v1()}
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def cap_update_entries(managed: ManagedFields) -> ManagedFields:
    """Join the oldest updates of each version into an entry `ancient-changes`, until few enough are left."""
    updaters = [manager for manager, versioned_set in managed.sets.items() if not versioned_set.is_applied]
    excess = len(updaters) - UPDATE_ENTRIES_MAX
    if excess <= 0:
        return managed
    sets, times = dict(managed.sets), dict(managed.times)
    first: dict[str, ManagerId] = {}
    for manager in sorted(updaters, key=lambda each: (times.get(each, ""), each)):
        version = sets[manager].version
        if excess == 0:
            break
        # A single entry of a version need not be renamed; the second one starts the bucket.
        if version not in first:
            first[version] = manager
            continue
        bucket = ManagerId.for_update("ancient-changes", version)
        if bucket not in sets:
            sets[bucket] = sets.pop(first[version])
        own = sets.pop(manager)
        sets[bucket] = own.with_fields(own.fields | sets[bucket].fields)
        if manager in times:
            times[bucket] = times[manager]
        excess -= 1
    return ManagedFields(sets, times)
