"""Merge an applied value into the live one: applied fields win, fields it does not mention stay."""

# upstream 1.36: sigs.k8s.io/structured-merge-diff/v6/typed/merge.go

from collections.abc import Iterator
from typing import Any

from mockkube.api.managed_fields.items import make_item_element
from mockkube.api.managed_fields.types import ABSENT, ListType, MapType, Type


def merge_values(live: Any, applied: Any, expected: Type) -> Any:
    """Return the merged value; ABSENT if nothing is left. Neither value is changed."""
    form = expected.form(live if applied is ABSENT else applied)
    match form:
        case MapType() if not form.atomic:
            left, right = _cast_or_empty(dict, live), _cast_or_empty(dict, applied)
            return _merge_maps(form, left, right) if left or right else _merge_leaf(live, applied)
        case ListType() if not form.atomic:
            old, new = _cast_or_empty(list, live), _cast_or_empty(list, applied)
            return _merge_lists(form, old, new) if old or new else _merge_leaf(live, applied)
        case _:
            return _merge_leaf(live, applied)


def _merge_leaf(live: Any, applied: Any) -> Any:
    return live if applied is ABSENT else applied


def _cast_or_empty(kind: type, value: Any) -> Any:
    return value if isinstance(value, kind) else kind()


def _merge_maps(form: MapType, live: dict[str, Any], applied: dict[str, Any]) -> Any:
    merged = {}
    for name in live | applied:
        expected = form.type_of(name)
        if expected is None:
            continue
        value = merge_values(live.get(name, ABSENT), applied.get(name, ABSENT), expected)
        if value is not ABSENT:
            merged[name] = value
    return merged or ABSENT


def _merge_lists(form: ListType, live: list[Any], applied: list[Any]) -> Any:
    """Merge lists in the order of the applied one; items only in the live list keep their place in between."""
    weave = _ListMerge(form, live, applied)
    merged = [item for item in weave.iter_merged() if item is not ABSENT]
    return merged or ABSENT


class _ListMerge:
    """Merge of two lists; each is walked once, from its start."""

    def __init__(self, form: ListType, live: list[Any], applied: list[Any]) -> None:
        self.element_type = form.element
        self.live = [(make_item_element(form, item), item) for item in live]
        self.applied = {make_item_element(form, item): item for item in applied}
        self.order = list(self.applied)
        self.known = _index_items(self.live)
        self.done: set[str] = set()
        # Elements of both lists that are still to come, in the order of the applied one.
        self.shared = [element for element in self.order if element in self.known]

    def iter_merged(self) -> Iterator[Any]:
        left = right = 0
        while left < len(self.live) or right < len(self.order):
            element, item = self.live[left] if left < len(self.live) else ("", ABSENT)
            wanted = self.order[right] if right < len(self.order) else ""
            if element and element not in self.applied:
                yield merge_values(item, ABSENT, self.element_type)
                left += 1
            # The item is applied at another position: it was merged there, or will be.
            elif element and wanted and element != wanted and self.shared and element != self.shared[0]:
                left += 1
            else:
                left += bool(element) and (element == wanted or element in self.done)
                if wanted:
                    yield self._merge_applied(wanted)
                    right += 1

    def _merge_applied(self, element: str) -> Any:
        self.done.add(element)
        if self.shared[:1] == [element]:
            del self.shared[0]
        return merge_values(self.known.get(element, ABSENT), self.applied[element], self.element_type)


def _index_items(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """Map elements to items; duplicates become null, so that the applied item replaces all of them."""
    found: dict[str, Any] = {}
    for element, item in items:
        found[element] = None if element in found else item
    return found
