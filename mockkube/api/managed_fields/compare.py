"""Compare two typed values: which fields are removed, modified and added."""

# upstream 1.36: sigs.k8s.io/structured-merge-diff/v6/typed/compare.go

from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple

from mockkube.api.managed_fields.field_set import FieldSet, Path, make_field_element
from mockkube.api.managed_fields.items import make_item_element
from mockkube.api.managed_fields.reset_fields import FieldFilter
from mockkube.api.managed_fields.types import ABSENT, Form, ListType, MapType, Type
from mockkube.lazy_dataclasses import dataclass


class ChangedPaths(NamedTuple):
    """Paths of the fields in which a new value differs from an old one."""

    removed: tuple[Path, ...]
    modified: tuple[Path, ...]
    added: tuple[Path, ...]


@dataclass(slots=True)
class Comparison:
    """Fields in which a new value differs from an old one; no field is in two of the sets."""

    removed: FieldSet = field(default_factory=FieldSet)
    modified: FieldSet = field(default_factory=FieldSet)
    added: FieldSet = field(default_factory=FieldSet)

    def filter_fields(self, reach: FieldFilter) -> "Comparison":
        """Return the comparison without the fields that a resource or subresource does not write."""
        return Comparison(*(reach.filter_fields(one) for one in (self.removed, self.modified, self.added)))


def compare(old: Any, new: Any, expected: Type) -> Comparison:
    """Compare two values of a type."""
    return to_comparison(find_changed_paths(old, new, expected))


def find_changed_paths(old: Any, new: Any, expected: Type) -> ChangedPaths:
    """Return the paths in which two values of a type differ."""
    walk = _Comparer()
    walk.compare(old, new, expected, ())
    return ChangedPaths(tuple(walk.removed), tuple(walk.modified), tuple(walk.added))


def to_comparison(changed: ChangedPaths) -> Comparison:
    """Return the changed paths as field sets."""
    return Comparison(*(FieldSet.from_paths(*paths) for paths in changed))


class _Comparer:
    def __init__(self) -> None:
        self.removed: list[Path] = []
        self.modified: list[Path] = []
        self.added: list[Path] = []

    def compare(self, old: Any, new: Any, expected: Type, path: Path) -> None:
        # equal parts are skipped without a walk
        if old is ABSENT or new is ABSENT or old != new:
            self._compare_unequal(old, new, expected, path)

    def _compare_unequal(self, old: Any, new: Any, expected: Type, path: Path) -> None:
        # hot: per changed field of every written object
        before, after = expected.form(old), expected.form(new)
        if new is ABSENT:
            leaf = self._compare_form(before, old, new, path)
        else:
            if old is not ABSENT and before is not after:
                self._compare_form(before, old, new, path)
            leaf = self._compare_form(after, old, new, path)
        if not leaf:
            self._add_presence(old, new, path)

    def _add_presence(self, old: Any, new: Any, path: Path) -> None:
        if old is ABSENT:
            self.added.append(path)
        elif new is ABSENT:
            self.removed.append(path)

    def _compare_form(self, form: Form, old: Any, new: Any, path: Path) -> bool:
        """Compare in one form; return whether it is a leaf, whose parts are not managed separately."""
        match form:
            case MapType():
                olds, news = _cast_or_empty(dict, old), _cast_or_empty(dict, new)
                # An empty map has no fields that could be managed, so it is managed itself.
                if form.atomic or not (olds or news):
                    return self._compare_leaf(old, new, path)
                self._compare_map(form, olds, news, path)
                return False
            case ListType():
                old_items, new_items = _cast_or_empty(list, old), _cast_or_empty(list, new)
                if form.atomic or not (old_items or new_items):
                    return self._compare_leaf(old, new, path)
                self._compare_list(form, old_items, new_items, path)
                return False
            case _:
                return self._compare_leaf(old, new, path)

    def _compare_leaf(self, old: Any, new: Any, path: Path) -> bool:
        if old is ABSENT or new is ABSENT:
            self._add_presence(old, new, path)
        elif old != new:
            self.modified.append(path)
        return True

    def _compare_map(self, form: MapType, old: dict[str, Any], new: dict[str, Any], path: Path) -> None:
        for name, before in old.items():
            after = new.get(name, ABSENT)
            if before is not after and before != after and (expected := form.type_of(name)) is not None:
                self._compare_unequal(before, after, expected, (*path, make_field_element(name)))
        for name, after in new.items():
            if name not in old and (expected := form.type_of(name)) is not None:
                self._compare_unequal(ABSENT, after, expected, (*path, make_field_element(name)))

    def _compare_list(self, form: ListType, old: list[Any], new: list[Any], path: Path) -> None:
        olds, news = _group_by_element(form, old), _group_by_element(form, new)
        for element in olds | news:
            self._compare_item(form.element, olds.get(element, []), news.get(element, []), (*path, element))

    def _compare_item(self, expected: Type, old: list[Any], new: list[Any], path: Path) -> None:
        """Compare the items with one path element; several of them together are compared as one value."""
        if len(old) <= 1 and len(new) <= 1:
            self.compare(_first_or_absent(old), _first_or_absent(new), expected, path)
        elif len(old) >= 2 and len(new) >= 2:
            if old != new:
                self.modified.append(path)
        elif len(old) >= 2:
            if new:
                self.compare(ABSENT, new[0], expected, path)
            self.removed.append(path)
        else:
            if old:
                self.compare(old[0], ABSENT, expected, path)
            self.added.append(path)


def _cast_or_empty(kind: Callable[[], Any], value: Any) -> Any:
    """Return the value if it is of the type, else an empty one."""
    return value if isinstance(value, kind) else kind()  # type: ignore[arg-type]  # dict and list are types


def _first_or_absent(items: list[Any]) -> Any:
    return items[0] if items else ABSENT


def _group_by_element(form: ListType, items: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(make_item_element(form, item), []).append(item)
    return found
