"""Update and apply on objects with field managers (upstream: merge.Updater)."""

# upstream 1.36: sigs.k8s.io/structured-merge-diff/v6/merge/update.go

from typing import Any, Protocol

from mockkube.api.managed_fields.compare import ChangedPaths, Comparison, compare, to_comparison
from mockkube.api.managed_fields.errors import ApplyConflict, FieldConflict
from mockkube.api.managed_fields.field_set import EMPTY, FieldSet, format_path
from mockkube.api.managed_fields.managers import ManagerId, VersionedSet
from mockkube.api.managed_fields.merge_values import merge_values
from mockkube.api.managed_fields.reconcile import reconcile_with_type
from mockkube.api.managed_fields.remove_fields import remove_fields
from mockkube.api.managed_fields.reset_fields import FieldFilter
from mockkube.api.managed_fields.types import ABSENT, Type
from mockkube.api.managed_fields.value_field_set import ensure_named_fields, to_field_set
from mockkube.lazy_dataclasses import dataclass

ManagedSets = dict[ManagerId, VersionedSet]


@dataclass(frozen=True, slots=True)
class TypedValue:
    """Value with its type and version (upstream: typed.TypedValue)."""

    value: Any
    type: Type
    version: str

    def to_field_set(self) -> FieldSet:
        """Return the fields of the value."""
        return ensure_named_fields(to_field_set(self.value, self.type), self.type)

    def remove_fields(self, unwanted: FieldSet) -> "TypedValue":
        """Return the value without these fields."""
        return TypedValue(remove_fields(self.value, unwanted, self.type), self.type, self.version)

    def ensure_named_fields(self, fields: FieldSet) -> FieldSet:
        """Return a field set with the fields of structs on the way to its members."""
        return ensure_named_fields(fields, self.type)


class Converter(Protocol):
    """Converter of objects between the versions of their kind."""

    def convert(self, typed: TypedValue, version: str) -> TypedValue | None:
        """Return the object in that version; None if there is no such version."""


@dataclass(frozen=True, slots=True)
class MergeUpdater:
    """Updates and applies objects of one kind, through one resource or subresource."""

    converter: Converter
    # Fields that this resource or subresource writes; it cannot make anyone the manager of others.
    field_filter: FieldFilter

    def update(
        self,
        live: TypedValue,
        new: TypedValue,
        shares: ManagedSets,
        manager: ManagerId,
        changed: ChangedPaths | None = None,
    ) -> ManagedSets:
        """Make the manager the only one of all changed fields; `changed`: the paths of these, if they are known."""
        shares = self._reconcile_all(live, shares)
        own = None if changed is None else to_comparison(changed).filter_fields(self.field_filter)
        shares, comparison = self._resolve_ownership(live, new, shares, manager, force=True, own=own)
        before = shares[manager].fields if manager in shares else EMPTY
        fields = (before - comparison.removed) | comparison.modified | comparison.added
        shares[manager] = VersionedSet(self.field_filter.filter_fields(fields), new.version)
        return _without_empty(shares)

    def apply(
        self, live: TypedValue, applied: TypedValue, shares: ManagedSets, manager: ManagerId, *, force: bool
    ) -> tuple[TypedValue | None, ManagedSets]:
        """Merge the applied object into the live one; None instead of an object that does not change.

        Raise ApplyConflict, unless `force`, if others manage what changes.
        """
        shares = self._reconcile_all(live, shares)
        last = shares.get(manager)
        merged = merge_values(live.value, applied.value, live.type)
        fields = self.field_filter.filter_fields(to_field_set(applied.value, applied.type))
        shares = shares | {manager: VersionedSet(fields, applied.version, is_applied=True)}
        new = TypedValue(None if merged is ABSENT else merged, live.type, live.version)
        # Fields of the last apply that are missing now are removed, if nobody else manages them.
        if last is not None and last.fields:
            new = self._remove_unapplied(new, shares, manager, last)
        shares, _ = self._resolve_ownership(live, new, shares, manager, force=force)
        return (None if new.value == live.value else new), shares

    def _convert(self, typed: TypedValue, version: str) -> TypedValue | None:
        return typed if typed.version == version else self.converter.convert(typed, version)

    def _reconcile_all(self, live: TypedValue, shares: ManagedSets) -> ManagedSets:
        """Reconcile the field sets with the present types; drop those of versions that no longer exist."""
        current = {}
        for who, share in shares.items():
            typed = self._convert(live, share.version)
            if typed is not None:
                current[who] = share.with_fields(reconcile_with_type(share.fields, typed.type))
        return current

    def _compare(self, live: TypedValue, new: TypedValue, version: str) -> Comparison | None:
        old, now = self._convert(live, version), self._convert(new, version)
        if old is None or now is None:
            return None
        return compare(old.value, now.value, old.type).filter_fields(self.field_filter)

    def _resolve_ownership(
        self,
        live: TypedValue,
        new: TypedValue,
        shares: ManagedSets,
        manager: ManagerId,
        *,
        force: bool,
        own: Comparison | None = None,
    ) -> tuple[ManagedSets, Comparison]:
        """Remove changed fields from the other managers; return the sets and the change in the object's version.

        `own`: this change, if it is known.
        """
        own = own or self._compare(live, new, new.version)
        assert own is not None, "an object can be converted to its own version"
        # Each manager's fields are compared in its own version, as paths may differ between versions.
        comparisons: dict[str, Comparison | None] = {new.version: own}
        settled, conflicts = dict(shares), []
        for who in sorted(shares):
            share = shares[who]
            if who == manager:
                continue
            if share.version not in comparisons:
                comparisons[share.version] = self._compare(live, new, share.version)
            change = comparisons[share.version]
            if change is None:
                del settled[who]
                continue
            contested = share.fields & (change.modified | change.added)
            conflicts += [FieldConflict(str(who), format_path(path)) for path in contested.paths()]
            settled[who] = share.with_fields(share.fields - contested - change.removed)
        if conflicts and not force:
            raise ApplyConflict(conflicts)
        return _without_empty(settled), own

    def _remove_unapplied(
        self, merged: TypedValue, shares: ManagedSets, manager: ManagerId, last: VersionedSet
    ) -> TypedValue:
        """Remove what the manager applied before and not now, unless another one manages it."""
        version = merged.version
        then = self._convert(merged, last.version)
        if then is None:
            return merged
        pruned = then.remove_fields(then.ensure_named_fields(last.fields))
        pruned = self._add_back_owned(then, pruned, shares)
        pruned = self._add_back_dangling(then, pruned, last)
        return self._convert(pruned, version) or merged

    def _add_back_owned(self, merged: TypedValue, pruned: TypedValue, shares: ManagedSets) -> TypedValue:
        """Add back what any manager manages, including the new set of this one, version by version."""
        managed: dict[str, FieldSet] = {pruned.version: EMPTY}
        for who in sorted(shares):
            share = shares[who]
            managed[share.version] = managed.get(share.version, EMPTY) | share.fields
        for version, fields in managed.items():
            whole, rest = self._convert(merged, version), self._convert(pruned, version)
            if whole is not None and rest is not None:
                merged = whole
                pruned = whole.remove_fields(
                    whole.to_field_set() - (rest.to_field_set() | whole.ensure_named_fields(fields))
                )
        return pruned

    def _add_back_dangling(self, merged: TypedValue, pruned: TypedValue, last: VersionedSet) -> TypedValue:
        """Add back what the manager did not apply last time, even if it has no manager."""
        rest = self._convert(pruned, last.version)
        if rest is None:
            return merged
        return merged.remove_fields(
            (merged.to_field_set() - rest.to_field_set()) & merged.ensure_named_fields(last.fields)
        )


def _without_empty(shares: ManagedSets) -> ManagedSets:
    return {who: share for who, share in shares.items() if share.fields}
