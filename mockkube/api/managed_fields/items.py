"""Path elements of the items in associative lists."""

# upstream 1.36: sigs.k8s.io/structured-merge-diff/v6/typed/helpers.go

from typing import Any

from mockkube.api.managed_fields.errors import TypeMismatch
from mockkube.api.managed_fields.field_set import make_key_element, make_value_element
from mockkube.api.managed_fields.types import ListType


def make_item_element(form: ListType, item: Any) -> str:
    """Return the path element of an item; raise TypeMismatch if it has none."""
    return _key_element(form, item) if form.keys else _value_element(item)


def _key_element(form: ListType, item: Any) -> str:
    if item is None:
        raise TypeMismatch("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise TypeMismatch("associative list with keys may not have non-map elements")
    # Defaults count, so that a port without a protocol and one with TCP are the same item.
    found = {key: item[key] if key in item else form.key_defaults[key] for key in form.keys if _has(form, item, key)}
    if not found:
        keys = " ".join(f'"{key}"' for key in form.keys)
        raise TypeMismatch(
            f"associative list with keys has an element that omits all key fields [{keys}] "
            "(and doesn't have default values for any key fields)"
        )
    return make_key_element(found)


def _has(form: ListType, item: dict[str, Any], key: str) -> bool:
    return key in item or key in form.key_defaults


def _value_element(item: Any) -> str:
    match item:
        case dict():
            raise TypeMismatch("associative list without keys has an element that's a map type")
        case list():
            raise TypeMismatch("not supported: associative list with lists as elements")
        case None:
            raise TypeMismatch("associative list without keys has an element that's an explicit null")
        case _:
            return make_value_element(item)
