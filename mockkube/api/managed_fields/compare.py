"""Compare two typed values: which fields are removed, modified and added."""

# upstream 1.36: sigs.k8s.io/structured-merge-diff/v6/typed/compare.go

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mockkube.api.managed_fields.field_set import FieldSet, Path, field_element
from mockkube.api.managed_fields.items import item_element
from mockkube.api.managed_fields.reach import Reach
from mockkube.api.managed_fields.types import ABSENT, Form, ListType, MapType, Type


@dataclass(slots=True)
class Comparison:
    """Fields in which a new value differs from an old one; no field is in two of the sets."""

    removed: FieldSet = field(default_factory=FieldSet)
    modified: FieldSet = field(default_factory=FieldSet)
    added: FieldSet = field(default_factory=FieldSet)

    def within(self, reach: Reach) -> "Comparison":
        """Return the comparison without the fields that a resource or subresource does not write."""
        return Comparison(*(reach.within(one) for one in (self.removed, self.modified, self.added)))


def compare(old: Any, new: Any, expected: Type) -> Comparison:
    """Compare two values of a type."""
    walk = _Walk()
    walk.value(old, new, expected, ())
    return walk.found


class _Walk:
    def __init__(self) -> None:
        self.found = Comparison()

    def value(self, old: Any, new: Any, expected: Type, path: Path) -> None:
        # hot: per field of every written object; equal parts are skipped without a walk
        if old is not ABSENT and new is not ABSENT and old == new:
            return
        before, after = expected.form(old), expected.form(new)
        if new is ABSENT:
            leaf = self._form(before, old, new, path)
        else:
            if old is not ABSENT and before is not after:
                self._form(before, old, new, path)
            leaf = self._form(after, old, new, path)
        if not leaf:
            self._note_presence(old, new, path)

    def _note_presence(self, old: Any, new: Any, path: Path) -> None:
        if old is ABSENT:
            self.found.added.insert(path)
        elif new is ABSENT:
            self.found.removed.insert(path)

    def _form(self, form: Form, old: Any, new: Any, path: Path) -> bool:
        """Compare in one form; return whether it is a leaf, whose parts are not managed separately."""
        match form:
            case MapType():
                olds, news = _as(dict, old), _as(dict, new)
                # An empty map has no fields that could be managed, so it is managed itself.
                if form.atomic or not (olds or news):
                    return self._leaf(old, new, path)
                self._map(form, olds, news, path)
                return False
            case ListType():
                old_items, new_items = _as(list, old), _as(list, new)
                if form.atomic or not (old_items or new_items):
                    return self._leaf(old, new, path)
                self._list(form, old_items, new_items, path)
                return False
            case _:
                return self._leaf(old, new, path)

    def _leaf(self, old: Any, new: Any, path: Path) -> bool:
        if old is ABSENT or new is ABSENT:
            self._note_presence(old, new, path)
        elif old != new:
            self.found.modified.insert(path)
        return True

    def _map(self, form: MapType, old: dict[str, Any], new: dict[str, Any], path: Path) -> None:
        for name in old | new:
            before, after = old.get(name, ABSENT), new.get(name, ABSENT)
            if before == after or (expected := form.type_of(name)) is None:
                continue
            self.value(before, after, expected, (*path, field_element(name)))

    def _list(self, form: ListType, old: list[Any], new: list[Any], path: Path) -> None:
        olds, news = _by_element(form, old), _by_element(form, new)
        for element in olds | news:
            self._item(form.element, olds.get(element, []), news.get(element, []), (*path, element))

    def _item(self, expected: Type, old: list[Any], new: list[Any], path: Path) -> None:
        """Compare the items with one path element; several of them together are compared as one value."""
        if len(old) <= 1 and len(new) <= 1:
            self.value(_only(old), _only(new), expected, path)
        elif len(old) >= 2 and len(new) >= 2:
            if old != new:
                self.found.modified.insert(path)
        elif len(old) >= 2:
            if new:
                self.value(ABSENT, new[0], expected, path)
            self.found.removed.insert(path)
        else:
            if old:
                self.value(old[0], ABSENT, expected, path)
            self.found.added.insert(path)


def _as(kind: Callable[[], Any], value: Any) -> Any:
    """Return the value if it is of the type, else an empty one."""
    return value if isinstance(value, kind) else kind()  # type: ignore[arg-type]  # dict and list are types


def _only(items: list[Any]) -> Any:
    return items[0] if items else ABSENT


def _by_element(form: ListType, items: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(item_element(form, item), []).append(item)
    return found
