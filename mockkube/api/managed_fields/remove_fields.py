"""Remove fields from a typed value."""

# upstream 1.36: sigs.k8s.io/structured-merge-diff/v6/typed/remove.go

from typing import Any

from mockkube.api.managed_fields.field_set import FieldSet, make_field_element
from mockkube.api.managed_fields.items import make_item_element
from mockkube.api.managed_fields.types import ListType, MapType, Type


def remove_fields(value: Any, unwanted: FieldSet, expected: Type) -> Any:
    """Return the value without these fields; what becomes empty is null. The value is not changed."""
    match expected.form(value):
        case MapType() as form:
            return None if form.atomic or not isinstance(value, dict) else _remove_from_map(value, unwanted, form)
        case ListType() as form:
            return None if form.atomic or not isinstance(value, list) else _remove_from_list(value, unwanted, form)
        case _:
            return value


def _remove_from_map(value: dict[str, Any], unwanted: FieldSet, form: MapType) -> dict[str, Any] | None:
    kept = {}
    for name, one in value.items():
        element = make_field_element(name)
        if element not in unwanted.members:
            kept[name] = _remove_from_child(one, unwanted, element, form.type_of(name))
    return kept or None


def _remove_from_list(value: list[Any], unwanted: FieldSet, form: ListType) -> list[Any] | None:
    elements = ((make_item_element(form, item), item) for item in value)
    kept = [
        _remove_from_child(item, unwanted, element, form.element)
        for element, item in elements
        if element not in unwanted.members
    ]
    return kept or None


def _remove_from_child(value: Any, unwanted: FieldSet, element: str, expected: Type | None) -> Any:
    beneath = unwanted.children.get(element)
    return remove_fields(value, beneath, expected) if beneath and expected else value
