"""Update and apply on objects with field managers (upstream: merge.Updater)."""

# upstream 1.36: sigs.k8s.io/structured-merge-diff/v6/merge/update.go

from dataclasses import dataclass
from typing import Any, Protocol

from mockkube.api.managed_fields.compare import Comparison, compare
from mockkube.api.managed_fields.errors import ApplyConflict, Conflict
from mockkube.api.managed_fields.extent import extent, with_named_fields
from mockkube.api.managed_fields.field_set import EMPTY, FieldSet, shown
from mockkube.api.managed_fields.managers import ManagerId, Share
from mockkube.api.managed_fields.merge import merge
from mockkube.api.managed_fields.prune import prune
from mockkube.api.managed_fields.reach import Reach
from mockkube.api.managed_fields.reconcile import reconciled
from mockkube.api.managed_fields.types import ABSENT, Type

Shares = dict[ManagerId, Share]


@dataclass(frozen=True, slots=True)
class Typed:
    """Value with its type and version (upstream: typed.TypedValue)."""

    value: Any
    type: Type
    version: str

    def extent(self) -> FieldSet:
        """Return the fields of the value."""
        return with_named_fields(extent(self.value, self.type), self.type)

    def without(self, unwanted: FieldSet) -> "Typed":
        """Return the value without these fields."""
        return Typed(prune(self.value, unwanted, self.type), self.type, self.version)

    def named(self, fields: FieldSet) -> FieldSet:
        """Return a field set with the fields of structs on the way to its members."""
        return with_named_fields(fields, self.type)


class Converter(Protocol):
    """Converter of objects between the versions of their kind."""

    def convert(self, typed: Typed, version: str) -> Typed | None:
        """Return the object in that version; None if there is no such version."""


@dataclass(frozen=True, slots=True)
class Merger:
    """Updates and applies objects of one kind, through one resource or subresource."""

    converter: Converter
    # Fields that this resource or subresource writes; it cannot make anyone the manager of others.
    reach: Reach

    def update(self, live: Typed, new: Typed, shares: Shares, manager: ManagerId) -> Shares:
        """Make the manager the only one of all changed fields."""
        shares = self._served(live, shares)
        shares, comparison = self._settle(live, new, shares, manager, force=True)
        own = shares[manager].fields if manager in shares else EMPTY
        fields = (own - comparison.removed) | comparison.modified | comparison.added
        shares[manager] = Share(self.reach.within(fields), new.version)
        return _without_idle(shares)

    def apply(
        self, live: Typed, applied: Typed, shares: Shares, manager: ManagerId, *, force: bool
    ) -> tuple[Typed | None, Shares]:
        """Merge the applied object into the live one; None instead of an object that does not change.

        Raise ApplyConflict, unless `force`, if others manage what changes.
        """
        shares = self._served(live, shares)
        last = shares.get(manager)
        merged = merge(live.value, applied.value, live.type)
        fields = self.reach.within(extent(applied.value, applied.type))
        shares = shares | {manager: Share(fields, applied.version, applied=True)}
        new = Typed(None if merged is ABSENT else merged, live.type, live.version)
        # Fields of the last apply that are missing now are removed, if nobody else manages them.
        if last is not None and last.fields:
            new = self._prune(new, shares, manager, last)
        shares, _ = self._settle(live, new, shares, manager, force=force)
        return (None if new.value == live.value else new), shares

    def _convert(self, typed: Typed, version: str) -> Typed | None:
        return typed if typed.version == version else self.converter.convert(typed, version)

    def _served(self, live: Typed, shares: Shares) -> Shares:
        """Reconcile the field sets with the present types; drop those of versions that no longer exist."""
        current = {}
        for who, share in shares.items():
            typed = self._convert(live, share.version)
            if typed is not None:
                current[who] = share.with_fields(reconciled(share.fields, typed.type))
        return current

    def _compare(self, live: Typed, new: Typed, version: str) -> Comparison | None:
        old, now = self._convert(live, version), self._convert(new, version)
        if old is None or now is None:
            return None
        return compare(old.value, now.value, old.type).within(self.reach)

    def _settle(
        self, live: Typed, new: Typed, shares: Shares, manager: ManagerId, *, force: bool
    ) -> tuple[Shares, Comparison]:
        """Remove changed fields from the other managers; return the sets and the change in the object's version."""
        own = self._compare(live, new, new.version)
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
            conflicts += [Conflict(str(who), shown(path)) for path in contested.paths()]
            settled[who] = share.with_fields(share.fields - contested - change.removed)
        if conflicts and not force:
            raise ApplyConflict(conflicts)
        return _without_idle(settled), own

    def _prune(self, merged: Typed, shares: Shares, manager: ManagerId, last: Share) -> Typed:
        """Remove what the manager applied before and not now, unless another one manages it."""
        version = merged.version
        then = self._convert(merged, last.version)
        if then is None:
            return merged
        pruned = then.without(then.named(last.fields))
        pruned = self._add_back_owned(then, pruned, shares)
        pruned = self._add_back_dangling(then, pruned, last)
        return self._convert(pruned, version) or merged

    def _add_back_owned(self, merged: Typed, pruned: Typed, shares: Shares) -> Typed:
        """Add back what any manager manages, including the new set of this one, version by version."""
        managed: dict[str, FieldSet] = {pruned.version: EMPTY}
        for who in sorted(shares):
            share = shares[who]
            managed[share.version] = managed.get(share.version, EMPTY) | share.fields
        for version, fields in managed.items():
            whole, rest = self._convert(merged, version), self._convert(pruned, version)
            if whole is not None and rest is not None:
                merged = whole
                pruned = whole.without(whole.extent() - (rest.extent() | whole.named(fields)))
        return pruned

    def _add_back_dangling(self, merged: Typed, pruned: Typed, last: Share) -> Typed:
        """Add back what the manager did not apply last time, even if it has no manager."""
        rest = self._convert(pruned, last.version)
        if rest is None:
            return merged
        return merged.without((merged.extent() - rest.extent()) & merged.named(last.fields))


def _without_idle(shares: Shares) -> Shares:
    return {who: share for who, share in shares.items() if share.fields}
