"""Remove fields from a typed value."""

# upstream 1.36: sigs.k8s.io/structured-merge-diff/v6/typed/remove.go

from typing import Any

from mockkube.api.managed_fields.field_set import FieldSet, field_element
from mockkube.api.managed_fields.items import item_element
from mockkube.api.managed_fields.types import ListType, MapType, Type


def prune(value: Any, unwanted: FieldSet, expected: Type) -> Any:
    """Return the value without these fields; what becomes empty is null. The value is not changed."""
    match expected.form(value):
        case MapType() as form:
            return None if form.atomic or not isinstance(value, dict) else _prune_map(value, unwanted, form)
        case ListType() as form:
            return None if form.atomic or not isinstance(value, list) else _prune_list(value, unwanted, form)
        case _:
            return value


def _prune_map(value: dict[str, Any], unwanted: FieldSet, form: MapType) -> dict[str, Any] | None:
    kept = {}
    for name, one in value.items():
        element = field_element(name)
        if element not in unwanted.members:
            kept[name] = _prune_beneath(one, unwanted, element, form.type_of(name))
    return kept or None


def _prune_list(value: list[Any], unwanted: FieldSet, form: ListType) -> list[Any] | None:
    elements = ((item_element(form, item), item) for item in value)
    kept = [
        _prune_beneath(item, unwanted, element, form.element)
        for element, item in elements
        if element not in unwanted.members
    ]
    return kept or None


def _prune_beneath(value: Any, unwanted: FieldSet, element: str, expected: Type | None) -> Any:
    beneath = unwanted.children.get(element)
    return prune(value, beneath, expected) if beneath and expected else value
