"""Update the managedFields of an object on each write (upstream: FieldManager).

All objects are of the version of the request; the live object of a creation is the empty object of its kind. The
result of an apply still has to be decoded and defaulted: fields that the applier removed may be null in it.
"""

# upstream 1.36: apimachinery/pkg/util/managedfields/internal/fieldmanager.go and what it wraps

import weakref
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.managed_fields import last_applied
from mockkube.api.managed_fields.compare import ChangedPaths, find_changed_paths
from mockkube.api.managed_fields.errors import ApplyConflict, InvalidApply, InvalidEntry, TypeMismatch
from mockkube.api.managed_fields.field_set import FieldSet, Path, format_path
from mockkube.api.managed_fields.known_updates import KNOWN_UPDATES, WRITE_TIME, KnownUpdate, find_key
from mockkube.api.managed_fields.managers import ManagedFields, ManagerId, cap_update_entries, decode, encode
from mockkube.api.managed_fields.merge_updater import MergeUpdater, TypedValue
from mockkube.api.managed_fields.repeated_updates import repeat_update
from mockkube.api.managed_fields.types import Type
from mockkube.api.managed_fields.validate import validate_value
from mockkube.lazy_dataclasses import dataclass

_UNMANAGED_METADATA: Final = (
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
    "resourceVersion",
)  # fmt: skip
# Fields that belong to the server or identify the object, which nobody manages.
_UNMANAGED_FIELDS: Final = FieldSet.from_paths(
    ("f:apiVersion",), ("f:kind",), ("f:metadata",), *(("f:metadata", f"f:{name}") for name in _UNMANAGED_METADATA)
)
_CURRENT_OPERATION: Final = ManagerId("current-operation", "")
_KNOWN_PATHS_MAX: Final = 4096
_BEFORE_FIRST_APPLY: Final = "before-first-apply"


@dataclass(frozen=True, slots=True)
class WriteInfo:
    """Manager and time of a write; the time is text as in objects."""

    manager: str
    time: str


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ManagedFieldsUpdater:
    """Updates the managedFields of one kind, for writes through one resource or subresource."""

    kind: str
    # apiVersion of the requests.
    version: str
    type: Type
    # Object of this kind without any fields.
    empty_object: ReadOnlyObject
    merge_updater: MergeUpdater
    subresource: str = ""
    # Paths that were changed before, and whether this resource or subresource writes them.
    known_paths: dict[Path, bool] = field(default_factory=dict, compare=False, repr=False)

    def update(self, live: ReadOnlyObject, new: ReadOnlyObject, write: WriteInfo, *, reset: bool = False) -> Object:
        """Return the new object with its managedFields, after a write other than an apply.

        `reset`: the client sent an empty list of managedFields, which resets them.
        """
        # An unchanged object keeps its managers, so the walk over both states is skipped.
        if new == live and not reset:
            return dict(new)
        entries = self._unchanged_entries(live, new, reset=reset)
        old, now = _strip_managed_fields(live), _strip_managed_fields(new)
        try:
            if entries is not None:
                return _set_entries(now, self._update_from_known(old, now, entries, write))
            managed = self._initial_entries(live, new, reset=reset)
            return _set_entries(now, encode(self._update_if_managed(old, now, managed, write)))
        except TypeMismatch:
            # upstream logs that this should not happen, and drops managedFields rather than failing the write.
            return now

    def apply(self, live: ReadOnlyObject, applied: Object, write: WriteInfo, *, force: bool = False) -> Object:
        """Return the merged object with its managedFields.

        Raise ApplyConflict, InvalidApply, TypeMismatch or InvalidEntry.
        """
        try:
            managed = decode(live.get("metadata", {}).get("managedFields", ()))
        except InvalidEntry as error:
            raise InvalidEntry(f"failed to decode managed fields: {error}") from error
        if (applied.get("apiVersion", ""), applied.get("kind", "")) != (self.version, self.kind):
            raise InvalidApply(f"invalid object type: {_format_kind(applied)}")
        live = _strip_managed_fields(live)
        if not managed.sets:
            # An object without managedFields gets a manager for all its fields, so that the first apply conflicts with
            # them.
            before = replace(write, manager=_BEFORE_FIRST_APPLY)
            managed = self._update_entries(self.empty_object, live, managed, before)
        merged, managed = self._apply(live, applied, managed, write, force=force)
        if write.manager == last_applied.KUBECTL_MANAGER:
            merged = last_applied.update_annotation(merged, applied)
        return _set_entries(merged, encode(managed))

    def _unchanged_entries(
        self, live: ReadOnlyObject, new: ReadOnlyObject, *, reset: bool
    ) -> Sequence[ReadOnlyObject] | None:
        """Return the entries of the live object if there are some, and the client sent no others; else None."""
        entries: Sequence[ReadOnlyObject] = live.get("metadata", {}).get("managedFields", ())
        given = () if self.subresource else new.get("metadata", {}).get("managedFields", ())
        return entries if entries and not reset and (not given or given == entries) else None

    def _update_from_known(
        self, live: ReadOnlyObject, new: ReadOnlyObject, entries: Sequence[ReadOnlyObject], write: WriteInfo
    ) -> list[Object]:
        """Return the entries after an update, from one that was computed before if there is one."""
        changed = find_changed_paths(live, new, self.type)
        if not changed.removed and not changed.added and (paths := self._written_paths(changed.modified)):
            manager = write.manager or "unknown", self.version, self.subresource
            repeated = repeat_update(entries, manager, paths, self.type, write.time)
            if repeated is not None:
                return repeated
        key = find_key(entries, changed, write.manager, self.version)
        if key is None:
            return encode(self._update_if_managed(live, new, _decode_or_empty(entries), write, changed))
        updater, known = KNOWN_UPDATES.get(key.hashable) or (None, None)
        if known is None or updater is None or updater() is not self:
            at_any_time = replace(write, time=WRITE_TIME)
            managed = self._update_if_managed(live, new, _decode_or_empty(entries), at_any_time, changed)
            known = KnownUpdate.from_managed_fields(managed, key.managers)
            KNOWN_UPDATES.put(key.hashable, (weakref.ref(self), known))
        return known.apply(entries, write.time)

    def _written_paths(self, changed: Sequence[Path]) -> Sequence[Path]:
        """Return the changed paths that this resource or subresource writes; none if nobody manages one of them."""
        known, written = self.known_paths, []
        for path in changed:
            is_written = known.get(path)
            if is_written is None:
                if _UNMANAGED_FIELDS.has(path):
                    return ()
                is_written = bool(self.merge_updater.field_filter.filter_fields(FieldSet.from_paths(path)))
                if len(known) >= _KNOWN_PATHS_MAX:
                    known.clear()
                known[path] = is_written
            if is_written:
                written.append(path)
        return written

    def _initial_entries(self, live: ReadOnlyObject, new: ReadOnlyObject, *, reset: bool) -> ManagedFields:
        """Return the entries to start from: the client's, if it sent valid ones, else those of the live object."""
        entries = new.get("metadata", {}).get("managedFields", ())
        if not self.subresource:
            if reset or entries == [{}]:
                return ManagedFields()
            given = _decode_or_empty(entries)
            if given.sets:
                return given
        return _decode_or_empty(live.get("metadata", {}).get("managedFields", ()))

    def _update_if_managed(
        self,
        live: ReadOnlyObject,
        new: ReadOnlyObject,
        managed: ManagedFields,
        write: WriteInfo,
        changed: ChangedPaths | None = None,
    ) -> ManagedFields:
        """Return the entries after an update; an object that is stored without managers stays without."""
        is_managed = bool(managed.sets) or not live.get("metadata", {}).get("uid")
        return self._update_entries(live, new, managed, write, changed) if is_managed else managed

    def _update_entries(
        self,
        live: ReadOnlyObject,
        new: ReadOnlyObject,
        managed: ManagedFields,
        write: WriteInfo,
        changed: ChangedPaths | None = None,
    ) -> ManagedFields:
        old, now = self._to_typed(live), self._to_typed(new)
        shares = self.merge_updater.update(old, now, managed.sets, _CURRENT_OPERATION, changed)
        current = shares.pop(_CURRENT_OPERATION, None)
        times = dict(managed.times)
        fields = current.fields - _UNMANAGED_FIELDS if current else None
        if current and fields:
            manager = ManagerId.for_update(write.manager, self.version, self.subresource)
            if manager in shares:
                fields |= shares[manager].fields
            shares[manager] = current.with_fields(fields)
            times[manager] = write.time
        return cap_update_entries(ManagedFields(shares, times))

    def _apply(
        self, live: ReadOnlyObject, applied: Object, managed: ManagedFields, write: WriteInfo, *, force: bool
    ) -> tuple[Object, ManagedFields]:
        try:
            return self._apply_once(live, applied, managed, write, force=force)
        except ApplyConflict as conflict:
            if write.manager != last_applied.KUBECTL_MANAGER:
                raise
            allowed = last_applied.find_unchanged_fields(live, self.type, self.version)
            paths = {format_path(path) for path in allowed.paths()}
            left = [one for one in conflict.conflicts if one.path not in paths]
            if left:
                raise ApplyConflict(left) from None
        return self._apply_once(live, applied, managed, write, force=True)

    def _apply_once(
        self, live: ReadOnlyObject, applied: Object, managed: ManagedFields, write: WriteInfo, *, force: bool
    ) -> tuple[Object, ManagedFields]:
        metadata = _metadata_of(applied)
        if isinstance(metadata.get("managedFields"), list):
            raise InvalidApply("metadata.managedFields must be nil")
        try:
            validate_value(applied, self.type)
        except TypeMismatch as error:
            why = f"failed to create typed patch object ({_format_object(applied)}): {error}"
            # differs: upstream answers 500 here, too, although nothing but the request can be wrong
            raise (TypeMismatch if metadata is applied.get("metadata") else InvalidApply)(why) from error
        manager = ManagerId.for_apply(write.manager, self.subresource)
        merged, shares = self.merge_updater.apply(
            self._to_typed(live), self._to_typed(applied), managed.sets, manager, force=force
        )
        own = shares.pop(manager, None)
        if own is not None and (fields := own.fields - _UNMANAGED_FIELDS):
            shares[manager] = own.with_fields(fields)
        if merged is None:
            return dict(live), ManagedFields(shares, managed.times)
        return merged.value, ManagedFields(shares, {**managed.times, manager: write.time})

    def _to_typed(self, obj: ReadOnlyObject) -> TypedValue:
        return TypedValue(obj, self.type, self.version)


def keep_timestamps(old: ReadOnlyObject, new: Object) -> Object:
    """Return the new object with the old times in managedFields, if nothing else has changed."""
    # upstream 1.36: apiserver/pkg/endpoints/handlers/fieldmanager/equality.go
    before, after = old["metadata"].get("managedFields", []), new["metadata"].get("managedFields", [])
    if before == after or [_without_time(one) for one in before] != [_without_time(one) for one in after]:
        return new
    kept: Object = {**new, "metadata": {**new["metadata"], "managedFields": before}}
    return kept if kept == old else new


def _without_time(entry: ReadOnlyObject) -> Object:
    return {key: value for key, value in entry.items() if key != "time"}


def _decode_or_empty(entries: object) -> ManagedFields:
    try:
        return decode(entries if isinstance(entries, list) else ())
    except InvalidEntry:
        return ManagedFields()


def _strip_managed_fields(obj: ReadOnlyObject) -> Object:
    metadata = obj.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return dict(obj)
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def _set_entries(obj: Object, entries: list[Object]) -> Object:
    if not entries:
        return obj
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "managedFields": entries}}


def _format_kind(obj: ReadOnlyObject) -> str:
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    return f"{group}/{version}, Kind={obj.get('kind', '')}"


def _metadata_of(obj: ReadOnlyObject) -> ReadOnlyObject:
    """Return the metadata of an object that a client sent; an empty map if it is malformed."""
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _format_object(obj: ReadOnlyObject) -> str:
    metadata = _metadata_of(obj)
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {_format_kind(obj)}"
