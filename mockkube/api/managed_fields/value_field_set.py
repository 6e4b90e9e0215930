"""Field set of a typed value: what an applier manages by applying it (upstream: ToFieldSet)."""

# upstream 1.36: sigs.k8s.io/structured-merge-diff/v6/typed/tofieldset.go

from collections import Counter
from typing import Any

from mockkube.api.managed_fields.field_set import FieldSet, Path, make_field_element
from mockkube.api.managed_fields.items import make_item_element
from mockkube.api.managed_fields.types import ListType, MapType, Type


def to_field_set(value: Any, expected: Type) -> FieldSet:
    """Return the leaves and list items of a value, and the entries of maps that are not structs."""
    found = FieldSet()
    _collect(value, expected, (), found)
    return found


def ensure_named_fields(fields: FieldSet, expected: Type | None) -> FieldSet:
    """Add the fields of structs on the way to the members of a set."""
    form = expected.map if expected else None
    named = {one for one in fields.children if form and one[0] == "f" and one[2:] in form.fields}
    children = {
        element: ensure_named_fields(child, _child_type(expected, element))
        for element, child in fields.children.items()
    }
    return FieldSet(fields.members | named, children)


def _child_type(expected: Type | None, element: str) -> Type | None:
    if expected is None:
        return None
    if element[0] == "f":
        return expected.map.type_of(element[2:]) if expected.map else None
    return expected.list.element if expected.list and element[0] == "k" else None


def _collect(value: Any, expected: Type, path: Path, found: FieldSet) -> None:
    match expected.form(value):
        case MapType() as form if not form.atomic:
            if isinstance(value, dict):
                _collect_map(value, form, path, found)
        case ListType() as form if not form.atomic:
            if isinstance(value, list):
                _collect_list(value, form, path, found)
        case _:
            found.insert(path)


def _collect_map(value: dict[str, Any], form: MapType, path: Path, found: FieldSet) -> None:
    for name, one in value.items():
        expected = form.type_of(name)
        if expected is None:
            continue
        at = (*path, make_field_element(name))
        _collect(one, expected, at, found)
        # A field of a struct exists always; an entry of a map only if someone manages it.
        if one is None or one == {} or name not in form.fields:
            found.insert(at)


def _collect_list(value: list[Any], form: ListType, path: Path, found: FieldSet) -> None:
    elements = [make_item_element(form, item) for item in value]
    times = Counter(elements)
    for element, item in zip(elements, value, strict=True):
        # Duplicate items are managed together, so nothing within them is.
        if times[element] == 1:
            _collect(item, form.element, (*path, element), found)
        found.insert((*path, element))
