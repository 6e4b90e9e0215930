"""Update the managedFields of an object on each write (upstream: FieldManager).

All objects are of the version of the request; the live object of a creation is the empty object of its kind. The
result of an apply still has to be decoded and defaulted: fields that the applier removed may be null in it.
"""

# upstream 1.36: apimachinery/pkg/util/managedfields/internal/fieldmanager.go and what it wraps

from dataclasses import dataclass, replace
from typing import Final

from mockkube.api.managed_fields import last_applied
from mockkube.api.managed_fields.errors import ApplyConflict, BadApply, BadEntry, TypeMismatch
from mockkube.api.managed_fields.field_set import FieldSet, shown
from mockkube.api.managed_fields.managers import Managed, ManagerId, capped, decode, encode
from mockkube.api.managed_fields.merging import Merger, Typed
from mockkube.api.managed_fields.types import Type
from mockkube.api.managed_fields.validate import check
from mockkube.api.types import Object, ReadOnlyObject

_METADATA: Final = (
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
    "resourceVersion",
)  # fmt: skip
# Fields that belong to the server or identify the object, which nobody manages.
_UNTRACKED: Final = FieldSet.of(
    ("f:apiVersion",), ("f:kind",), ("f:metadata",), *(("f:metadata", f"f:{name}") for name in _METADATA)
)
_CURRENT: Final = ManagerId("current-operation", "")
_BEFORE_FIRST_APPLY: Final = "before-first-apply"


@dataclass(frozen=True, slots=True)
class Write:
    """Manager and time of a write; the time is text as in objects."""

    manager: str
    time: str


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Tracker:
    """Updates the managedFields of one kind, for writes through one resource or subresource."""

    kind: str
    # apiVersion of the requests.
    version: str
    type: Type
    # Object of this kind without any fields.
    empty: ReadOnlyObject
    merger: Merger
    subresource: str = ""

    def update(self, live: ReadOnlyObject, new: ReadOnlyObject, write: Write, *, reset: bool = False) -> Object:
        """Return the new object with its managedFields, after a write other than an apply.

        `reset`: the client sent an empty list of managedFields, which resets them.
        """
        # An unchanged object keeps its managers, so the walk over both states is skipped.
        if new == live and not reset:
            return dict(new)
        managed = self._given(live, new, reset=reset)
        live, new = _without_managed(live), _without_managed(new)
        try:
            if managed.shares or not live.get("metadata", {}).get("uid"):
                managed = self._updated(live, new, managed, write)
        except TypeMismatch:
            # upstream logs that this should not happen, and drops managedFields rather than failing the write.
            return new
        return _with_managed(new, managed)

    def apply(self, live: ReadOnlyObject, applied: Object, write: Write, *, force: bool = False) -> Object:
        """Return the merged object with its managedFields.

        Raise ApplyConflict, InvalidApply, TypeMismatch or InvalidEntry.
        """
        try:
            managed = decode(live.get("metadata", {}).get("managedFields", ()))
        except BadEntry as error:
            raise BadEntry(f"failed to decode managed fields: {error}") from error
        if (applied.get("apiVersion", ""), applied.get("kind", "")) != (self.version, self.kind):
            raise BadApply(f"invalid object type: {_shown_kind(applied)}")
        live = _without_managed(live)
        if not managed.shares:
            # An object without managedFields gets a manager for all its fields, so that the first apply conflicts with
            # them.
            before = replace(write, manager=_BEFORE_FIRST_APPLY)
            managed = self._updated(self.empty, live, managed, before)
        merged, managed = self._apply(live, applied, managed, write, force=force)
        if write.manager == last_applied.MANAGER:
            merged = last_applied.follow(merged, applied)
        return _with_managed(merged, managed)

    def _given(self, live: ReadOnlyObject, new: ReadOnlyObject, *, reset: bool) -> Managed:
        """Return the entries to start from: the client's, if it sent valid ones, else those of the live object."""
        entries = new.get("metadata", {}).get("managedFields", ())
        if not self.subresource:
            if reset or entries == [{}]:
                return Managed()
            given = _readable(entries)
            if given.shares:
                return given
        return _readable(live.get("metadata", {}).get("managedFields", ()))

    def _updated(self, live: ReadOnlyObject, new: ReadOnlyObject, managed: Managed, write: Write) -> Managed:
        old, now = self._typed(live), self._typed(new)
        shares = self.merger.update(old, now, managed.shares, _CURRENT)
        current = shares.pop(_CURRENT, None)
        times = dict(managed.times)
        fields = current.fields - _UNTRACKED if current else None
        if current and fields:
            manager = ManagerId.updater(write.manager, self.version, self.subresource)
            if manager in shares:
                fields |= shares[manager].fields
            shares[manager] = current.with_fields(fields)
            times[manager] = write.time
        return capped(Managed(shares, times))

    def _apply(
        self, live: ReadOnlyObject, applied: Object, managed: Managed, write: Write, *, force: bool
    ) -> tuple[Object, Managed]:
        try:
            return self._apply_once(live, applied, managed, write, force=force)
        except ApplyConflict as conflict:
            if write.manager != last_applied.MANAGER:
                raise
            allowed = last_applied.still_as_applied(live, self.type, self.version)
            paths = {shown(path) for path in allowed.paths()}
            left = [one for one in conflict.conflicts if one.path not in paths]
            if left:
                raise ApplyConflict(left) from None
        return self._apply_once(live, applied, managed, write, force=True)

    def _apply_once(
        self, live: ReadOnlyObject, applied: Object, managed: Managed, write: Write, *, force: bool
    ) -> tuple[Object, Managed]:
        metadata = _metadata_of(applied)
        if isinstance(metadata.get("managedFields"), list):
            raise BadApply("metadata.managedFields must be nil")
        try:
            check(applied, self.type)
        except TypeMismatch as error:
            why = f"failed to create typed patch object ({_shown_object(applied)}): {error}"
            # differs: upstream answers 500 here, too, although nothing but the request can be wrong
            raise (TypeMismatch if metadata is applied.get("metadata") else BadApply)(why) from error
        manager = ManagerId.applier(write.manager, self.subresource)
        merged, shares = self.merger.apply(
            self._typed(live), self._typed(applied), managed.shares, manager, force=force
        )
        own = shares.pop(manager, None)
        if own is not None and (fields := own.fields - _UNTRACKED):
            shares[manager] = own.with_fields(fields)
        if merged is None:
            return dict(live), Managed(shares, managed.times)
        return merged.value, Managed(shares, {**managed.times, manager: write.time})

    def _typed(self, obj: ReadOnlyObject) -> Typed:
        return Typed(obj, self.type, self.version)


def keep_times(old: ReadOnlyObject, new: Object) -> Object:
    """Return the new object with the old times in managedFields, if nothing else has changed."""
    # upstream 1.36: apiserver/pkg/endpoints/handlers/fieldmanager/equality.go
    before, after = old["metadata"].get("managedFields", []), new["metadata"].get("managedFields", [])
    if before == after or [_timeless(one) for one in before] != [_timeless(one) for one in after]:
        return new
    kept: Object = {**new, "metadata": {**new["metadata"], "managedFields": before}}
    return kept if kept == old else new


def _timeless(entry: ReadOnlyObject) -> Object:
    return {key: value for key, value in entry.items() if key != "time"}


def _readable(entries: object) -> Managed:
    try:
        return decode(entries if isinstance(entries, list) else ())
    except BadEntry:
        return Managed()


def _without_managed(obj: ReadOnlyObject) -> Object:
    metadata = obj.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return dict(obj)
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def _with_managed(obj: Object, managed: Managed) -> Object:
    if not managed.shares:
        return obj
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "managedFields": encode(managed)}}


def _shown_kind(obj: ReadOnlyObject) -> str:
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    return f"{group}/{version}, Kind={obj.get('kind', '')}"


def _metadata_of(obj: ReadOnlyObject) -> ReadOnlyObject:
    """Return the metadata of an object that a client sent; an empty map if it is malformed."""
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _shown_object(obj: ReadOnlyObject) -> str:
    metadata = _metadata_of(obj)
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {_shown_kind(obj)}"
